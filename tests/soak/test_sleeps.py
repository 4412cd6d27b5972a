"""One client, one sandbox, two hundred sleeps: it is woken by whatever the client does, and nothing is lost. `make soak`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from e2b import Sandbox

from tests.real.server import Server, serving

CYCLES = 200
COUNTER = """import contextlib, socket
count, door = 0, socket.create_server(("127.0.0.1", 8000))
while True:
    client, _ = door.accept()
    count += 1
    with contextlib.suppress(ConnectionError):  # one that only knocks
        client.sendall(b"%d\\n" % count)
        client.recv(1)  # whoever closes first remembers the port for a minute that every sleep begins anew: let it be the caller
    client.close()
"""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with serving() as server:
        monkeypatch.setenv("E2B_API_URL", server.url)
        monkeypatch.setenv("E2B_SANDBOX_URL", server.url)
        monkeypatch.setenv("E2B_API_KEY", server.key)
        yield server


@pytest.mark.usefixtures("server")
def test_two_hundred_sleeps_lose_nothing() -> None:
    sandbox = Sandbox.create(timeout=600, lifecycle={"on_timeout": "pause", "auto_resume": True})
    try:
        sandbox.files.write("counter.py", COUNTER)
        running = sandbox.commands.run("python3 counter.py", background=True, timeout=0)
        sandbox.commands.run("until (exec 3<>/dev/tcp/127.0.0.1/8000) 2>/dev/null; do sleep 0.02; done")
        count = int(_count(sandbox))
        for cycle in range(1, CYCLES + 1):
            assert sandbox.pause() is True
            if cycle % 2:
                sandbox.files.write("cycle", str(cycle))
            assert int(_count(sandbox)) == count + cycle
        assert sandbox.files.read("cycle") == str(CYCLES - 1)
        assert running.pid in [each.pid for each in sandbox.commands.list()]
    finally:
        sandbox.kill()


def _count(sandbox: Sandbox) -> str:
    """Counts one more, in the memory of a process inside."""
    return sandbox.commands.run("read -r count </dev/tcp/127.0.0.1/8000; echo $count").stdout
