"""Looking into a sandbox with the SDK, against the real API and a real agent."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest

from roost.client import AsyncRoost, Roost, Sandbox

from ..cli.server import Server


@pytest.fixture
def sandbox(server: Server) -> Iterator[Sandbox]:
    with Roost(server.url, server.key) as roost:
        sandbox = roost.create()
        yield sandbox
        sandbox.kill()


def test_what_runs_listens_was_run_and_was_printed(sandbox: Sandbox) -> None:
    status = sandbox.status
    assert sandbox.run("printf '\\033[1mhello\\033[0m\\n'; exit 3").code == 3
    past = status.history(1)[0]
    assert (past.exit_code, past.pty) == (3, False) and past.command.startswith("printf")
    assert past.ended_at is not None and past.ended_at >= past.started_at
    assert next(status.tail()).lines == ("hello",)
    (own,) = [process for process in status.processes() if process.pid == os.getpid()]
    assert own.memory_bytes > 1_000_000 and not own.managed
    with socket.create_server(("127.0.0.1", 0)) as listener:
        (port,) = [port for port in status.ports() if port.port == listener.getsockname()[1]]
    assert (port.pid, port.loopback) == (os.getpid(), True)


@pytest.mark.anyio
async def test_the_same_awaiting(server: Server) -> None:
    async with AsyncRoost(server.url, server.key) as roost:
        sandbox = await roost.create()
        status = sandbox.status
        await sandbox.run(["/bin/echo", "awaited"])
        tail = status.tail(1)
        assert (await anext(tail)).lines == ("awaited",)
        await tail.aclose()  # type: ignore[attr-defined]
        assert (await status.history(1))[0].command == "/bin/echo awaited"
        assert os.getpid() in {process.pid for process in await status.processes()}
        assert isinstance(await status.ports(), list)
        await sandbox.kill()
