"""The companion's life: read messages, do what they say, answer. One X connection, one thread.

Messages that touch keyboard or mouse are done one after the other; the others whenever they are ready. A caller that hung up
is told of by `cancel`, and whatever was being done for it ends there.
"""

# pyright: reportMissingImports=false, reportMissingModuleSource=false

from __future__ import annotations

import asyncio
import gc
import os
import sys
import traceback
from typing import Any

from roost_agent.desktop.companion.refusals import Refusal
from roost_agent.desktop.wire import Unpacker, pack

_STDIN, _STDOUT = 0, 1
_READ_BYTES = 1 << 18


def run(display: str) -> int:
    """Serve until stdin ends. The first word is the answer to message 0: whether there is a screen to serve."""
    try:
        desk = _open(display)
    except Refusal as refusal:
        _write(pack({"id": 0, "error": refusal.fields()}))
        return 1
    # What is loaded now stays: the collector need not look at it again, nor dirty its pages.
    gc.collect()
    gc.freeze()
    try:
        asyncio.run(_Service(desk, display).serve())
    except (EOFError, ConnectionError, BrokenPipeError):
        return 0
    return 0


def _open(display: str) -> Any:
    try:
        from roost_agent.desktop.companion import desk
    except ImportError as error:
        raise Refusal(501, "no_desktop", f"its Python lacks a module ({error})") from error
    return desk


class _Service:
    def __init__(self, module: Any, display: str) -> None:
        self._module = module
        self._display = display
        self._unpacker = Unpacker()
        self._tasks: dict[int, asyncio.Task[None]] = {}

    async def serve(self) -> None:
        try:
            self._desk = self._module.Desk(self._display)
        except Refusal as refusal:
            _write(pack({"id": 0, "error": refusal.fields()}))
            return
        loop = asyncio.get_running_loop()
        self._over: asyncio.Future[None] = loop.create_future()
        loop.add_reader(self._desk.screen.display.fileno(), self._guarded, self._desk.screen.pump)
        loop.add_reader(_STDIN, self._guarded, self._read)
        _write(pack({"id": 0, "result": {}}))
        await self._over

    def _guarded(self, work: Any) -> None:
        """An end of stdin or of the X server is the end of everything."""
        try:
            work()
        except Exception as error:
            if not self._over.done():
                self._over.set_exception(error)

    def _read(self) -> None:
        data = os.read(_STDIN, _READ_BYTES)
        if not data:
            raise EOFError
        for fields, content in self._unpacker.feed(data):
            id, verb = fields["id"], fields["verb"]
            if verb == "cancel":
                if id in self._tasks:
                    self._tasks[id].cancel()
                continue
            self._tasks[id] = asyncio.get_running_loop().create_task(self._do(id, verb, fields["arguments"], content))

    async def _do(self, id: int, verb: str, arguments: dict[str, Any], content: bytes) -> None:
        try:
            try:
                result, payload = await self._desk.do(verb, arguments, content)
                answer = pack({"id": id, "result": result}, payload)
            except Refusal as refusal:
                answer = pack({"id": id, "error": refusal.fields()})
            self._desk.screen.pump()
            _write(answer)
        except asyncio.CancelledError:
            self._guarded(self._desk.screen.pump)
        except self._module.LOST as error:
            if not self._over.done():
                self._over.set_exception(error)
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            fault = Refusal(500, "desktop_fault", f"The desktop's companion failed at {verb}: {type(error).__name__}: {error}.")
            _write(pack({"id": id, "error": fault.fields()}))
        finally:
            self._tasks.pop(id, None)


def _write(data: bytes) -> None:
    """The agent always reads, so this never waits for long."""
    view = memoryview(data)
    while view:
        view = view[os.write(_STDOUT, view) :]
