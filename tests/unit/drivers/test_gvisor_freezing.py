"""Who is frozen: the engine counts freezes, tells nobody, and dies of a thaw too many."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from roost.domain.errors import SandboxLost
from roost.drivers.runtime.gvisor import GVisor

pytestmark = pytest.mark.anyio

# Of a guest that has stopped all of its own processes: it looks as if it were frozen.
STOPPED = "kernel.(*Task).run(\nkernel.(*Task).doStop("


class Sentry:
    """The engine's control socket, as far as freezing goes."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.freezes = 0
        self.is_silent = False

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        method = json.loads(await reader.read(65536))["method"].rpartition(".")[2]
        self.calls.append(method)
        self.freezes += {"Pause": 1, "Resume": -1}.get(method, 0)
        if not self.is_silent:
            writer.write(json.dumps({"success": True, "result": STOPPED if method == "Stacks" else None}).encode())
        writer.close()
        await writer.wait_closed()


@asynccontextmanager
async def sentry(state: Path) -> AsyncIterator[Sentry]:
    engine = Sentry()
    server = await asyncio.start_unix_server(engine.answer, state / "control")
    process = await asyncio.create_subprocess_exec("sh", "-c", "read _", "one", stdin=asyncio.subprocess.PIPE)
    told = {"sandbox": {"pid": process.pid, "controlSocketPath": str(state / "control")}}
    (state / "one_sandbox:one.state").write_text(json.dumps(told))
    try:
        async with server:
            yield engine
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def server(state: Path) -> GVisor:
    """One that has just started, and remembers nothing."""
    return GVisor(runsc=Path("/bin/true"), version="1", state=state)


async def test_a_server_after_a_crash_knows_who_is_frozen(tmp_path: Path) -> None:
    async with sentry(tmp_path) as engine:
        await server(tmp_path).start("one", tmp_path)
        await server(tmp_path).thaw("one")
        assert engine.calls == [], "a guest that stopped itself is not frozen"
        for _ in range(2):
            await server(tmp_path).freeze("one")
        for _ in range(2):
            await server(tmp_path).thaw("one")
        assert engine.calls == ["Pause", "Resume"]


async def test_after_a_call_whose_end_nobody_saw_it_is_looked_at(tmp_path: Path) -> None:
    async with sentry(tmp_path) as engine:
        first = server(tmp_path)
        await first.start("one", tmp_path)
        engine.is_silent = True
        with pytest.raises(SandboxLost):
            await first.freeze("one")
        engine.is_silent = False
        await server(tmp_path).thaw("one")
        assert engine.calls == ["Pause", "Stacks", "Resume"] and engine.freezes == 0


async def test_what_is_killed_leaves_no_note(tmp_path: Path) -> None:
    async with sentry(tmp_path):
        await server(tmp_path).start("one", tmp_path)
        await server(tmp_path).freeze("one")
        await server(tmp_path).kill("one")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("one")] == []
