"""What the driver does when the engine misbehaves: a `runsc` that hangs, numbers that became strangers', a sentry that is silent.
The engine is a script here, the processes and the control socket are real."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream

from roost.domain.errors import EngineFailed
from roost.drivers.runtime.gvisor import EngineDeadlines, GVisor

pytestmark = pytest.mark.anyio

SHORT = EngineDeadlines(launch_s=0.3, call_s=0.3, stall_s=0.5, end_s=0.3)
HANGS = "#!/bin/sh\nexec sleep 1000\n"
SLEEPS = "import time; time.sleep(1000)"


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "1000"]) as process:
        yield process
        process.kill()


@pytest.fixture
def sentry(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """By its command line it is the engine's process of the container `one`."""
    with subprocess.Popen([sys.executable, "-c", SLEEPS, f"--root={tmp_path / 'state'}", "one"]) as process:
        yield process
        process.kill()


def engine(tmp_path: Path, script: str) -> GVisor:
    runsc = tmp_path / "runsc"
    runsc.write_text(script)
    runsc.chmod(0o755)
    (tmp_path / "state").mkdir()
    return GVisor(runsc=runsc, version="1", state=tmp_path / "state", patience=SHORT)


def write_state(tmp_path: Path, pid: int, control: str = "") -> Path:
    file = tmp_path / "state" / "one_sandbox:one.state"
    file.write_text(json.dumps({"sandbox": {"pid": pid, "controlSocketPath": control}}))
    return file


async def test_a_number_that_became_a_strangers_is_neither_alive_nor_killed(
    tmp_path: Path, stranger: subprocess.Popen[bytes]
) -> None:
    runtime = engine(tmp_path, "#!/bin/true\n")
    write_state(tmp_path, stranger.pid)
    assert not (await runtime.inspect("one")).alive
    await runtime.kill("one")
    assert stranger.poll() is None


async def test_a_launch_that_hangs_is_given_up_with_what_it_started(tmp_path: Path, sentry: subprocess.Popen[bytes]) -> None:
    runtime = engine(tmp_path, HANGS)
    with anyio.fail_after(30), pytest.raises(EngineFailed, match=r"not done within 0\.3 s"):
        await runtime.start("one", tmp_path)
    assert sentry.wait(10) == -9
    assert list((tmp_path / "state").iterdir()) == []


async def test_a_larger_image_has_more_time(tmp_path: Path) -> None:
    assert EngineDeadlines().restore_s(2 << 30) > EngineDeadlines().restore_s(0) + 60
    image = tmp_path / "image"
    image.mkdir()
    with (image / "pages.img").open("wb") as file:
        file.truncate(50 << 20)
    runtime = engine(tmp_path, "#!/bin/sh\nsleep 1\n")
    await runtime.restore("one", tmp_path, image)  # 5 s more


async def test_a_delete_that_hangs_leaves_no_process_and_no_state(tmp_path: Path, sentry: subprocess.Popen[bytes]) -> None:
    runtime = engine(tmp_path, HANGS)
    file = write_state(tmp_path, sentry.pid)
    with anyio.fail_after(30):
        await runtime.kill("one")
    assert sentry.wait(10) == -9
    assert not file.exists()
    assert not (await runtime.inspect("one")).alive


async def test_a_sentry_that_does_not_answer_is_not_waited_for(tmp_path: Path, sentry: subprocess.Popen[bytes]) -> None:
    runtime = engine(tmp_path, HANGS)

    async def silent(connection: SocketStream) -> None:
        async with connection:
            await anyio.sleep_forever()

    async with listening(tmp_path, silent):
        write_state(tmp_path, sentry.pid, str(tmp_path / "control"))
        with anyio.fail_after(30):
            with pytest.raises(EngineFailed, match=r"did not answer within 0\.3 s"):
                await runtime.freeze("one")
            assert await runtime.processes("one") == ()
            with pytest.raises(EngineFailed, match=r"wrote nothing for 0\.5 s"):
                await runtime.checkpoint("one", empty(tmp_path))


async def test_a_checkpoint_may_take_its_time_while_it_gets_on(tmp_path: Path, stranger: subprocess.Popen[bytes]) -> None:
    runtime = engine(tmp_path, HANGS)

    async def slow(connection: SocketStream) -> None:
        async with connection:
            _, files, _, _ = socket.recv_fds(connection.extra(SocketAttribute.raw_socket), 65536, 3)
            for _ in range(6):
                await anyio.sleep(0.2)
                os.write(files[2], b"page")
            for file in files:
                os.close(file)
            await connection.send(b'{"success": true}')

    async with listening(tmp_path, slow):
        write_state(tmp_path, stranger.pid, str(tmp_path / "control"))
        into = empty(tmp_path)
        with anyio.fail_after(30):
            await runtime.checkpoint("one", into)
    assert (into / "pages.img").read_bytes() == b"page" * 6


@asynccontextmanager
async def listening(tmp_path: Path, answer: Callable[[SocketStream], Awaitable[None]]) -> AsyncIterator[None]:
    """A control socket where every request is answered so."""
    async with await anyio.create_unix_listener(tmp_path / "control") as listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, answer)
        yield
        tasks.cancel_scope.cancel()


def empty(tmp_path: Path) -> Path:
    into = tmp_path / "image"
    into.mkdir()
    return into
