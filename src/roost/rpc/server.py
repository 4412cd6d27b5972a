"""Answers what other processes ask.

A call that was begun is carried out to its end, also when whoever asked is gone: orders are repeated by the next one, and what is
half done helps nobody. Only the caller's own CANCEL ends it earlier. A stream ends with its reader.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import anyio
import structlog
from anyio.abc import TaskGroup, TaskStatus

from roost.domain.errors import Conflict, Fault, RoostError
from roost.rpc import frames
from roost.rpc.failures import pack_failure
from roost.rpc.frames import BadFrame, Frame, Kind
from roost.rpc.method import Method
from roost.rpc.sockets import is_own

Q = TypeVar("Q")
A = TypeVar("A")

_GREETS_WITHIN_S = 10.0

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Handler:
    method: Method[Any, Any]
    handle: Callable[[Any], Any]


class Service:
    """What a process answers. `build` names the Roost that it is: a process of another one is refused."""

    def __init__(self, *, build: str) -> None:
        self.build = build
        self.handlers: dict[tuple[Kind, str], _Handler] = {}

    def on_call(self, method: Method[Q, A], handle: Callable[[Q], Awaitable[A]]) -> None:
        self.handlers[Kind.CALL, method.name] = _Handler(method, handle)

    def on_stream(self, method: Method[Q, A], handle: Callable[[Q], AsyncIterator[A]]) -> None:
        """Each item is asked for when the reader has room for it."""
        self.handlers[Kind.STREAM, method.name] = _Handler(method, handle)

    def on_notice(self, method: Method[Q, None], handle: Callable[[Q], None]) -> None:
        """In the order in which they were sent, before anything that was sent after them. Never blocks."""
        self.handlers[Kind.NOTICE, method.name] = _Handler(method, handle)


async def serve(
    service: Service, listener: socket.socket, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:  # fmt: skip
    """Until cancelled; then calls under way are cancelled too. The socket stays as it is, for the next process."""
    loop = asyncio.get_running_loop()
    listener.setblocking(False)
    async with anyio.create_task_group() as tasks:
        task_status.started()
        while True:
            connection, _ = await loop.sock_accept(listener)
            tasks.start_soon(_meet, service, connection, tasks)


async def _meet(service: Service, connection: socket.socket, tasks: TaskGroup) -> None:
    if not is_own(connection):
        log.warning("a connection from a process of another user is refused")
        connection.close()
        return
    reader, writer = await asyncio.open_unix_connection(sock=connection, limit=frames.READ_AHEAD_BYTES)
    try:
        await _Connection(service, reader, writer, tasks).run()
    except BadFrame as error:
        log.warning("a connection ends: the other process does not speak Roost's protocol", detail=str(error))
    finally:
        writer.close()


@dataclass(slots=True)
class _Running:
    """A call or a stream under way."""

    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    room: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(frames.WINDOW))
    ends_with_reader: bool = False


class _Connection:
    def __init__(
        self, service: Service, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, tasks: TaskGroup
    ) -> None:  # fmt: skip
        self._service = service
        self._reader = reader
        self._writer = writer
        self._tasks = tasks
        self._running: dict[int, _Running] = {}

    async def run(self) -> None:
        """Until the other side is gone. Raises BadFrame."""
        try:
            if await self._greet():
                while frame := await frames.read(self._reader):
                    self._take(frame)
        finally:
            for running in self._running.values():
                if running.ends_with_reader:
                    running.scope.cancel()

    async def _greet(self) -> bool:
        with anyio.move_on_after(_GREETS_WITHIN_S):
            frame = await frames.read(self._reader, frames.MOST_GREETING_BYTES)
            if frame is None:
                return False
            if frame.kind is not Kind.HELLO:
                raise BadFrame("no greeting")
            build = str(frames.read_json(frame.payload).get("build"))
            if build == self._service.build:
                await self._send(frames.pack_json(Kind.HELLO, 0, {"build": build}))
                return True
            log.error("a process of another Roost is refused", its=build, own=self._service.build)
            await self._send(frames.pack(Kind.FAILURE, 0, pack_failure(_OtherBuild(build, self._service.build))))
        return False

    def _take(self, frame: Frame) -> None:
        match frame.kind:
            case Kind.CALL | Kind.STREAM | Kind.NOTICE:
                self._begin(frame)
            case Kind.CANCEL:
                if running := self._running.get(frame.call):
                    running.scope.cancel()
            case Kind.GRANT:
                if running := self._running.get(frame.call):
                    for _ in range(min(frames.WINDOW, int.from_bytes(frame.payload[:4]))):
                        running.room.release()
            case _:
                raise BadFrame(f"a frame of the kind {frame.kind.name}, which only servers send")

    def _begin(self, frame: Frame) -> None:
        head, question = frames.read_question(frame.payload)
        handler = self._service.handlers.get((frame.kind, str(head.get("method"))))
        if frame.kind is Kind.NOTICE:
            if handler is not None:
                _hear(handler, question)
            return
        if frame.call in self._running:
            raise BadFrame(f"a second call of the number {frame.call}")
        running = self._running[frame.call] = _Running(ends_with_reader=frame.kind is Kind.STREAM)
        span = head.get("span")
        self._tasks.start_soon(self._carry_out, frame, handler, question, running, span if isinstance(span, str) else None)

    async def _carry_out(
        self, frame: Frame, handler: _Handler | None, question: bytes, running: _Running, span: str | None
    ) -> None:  # fmt: skip
        """The outermost frame of a call: whatever happens becomes an answer."""
        last = frames.pack(Kind.CANCELLED, frame.call)
        facts = {"span": span} if span else {}
        try:
            with running.scope, structlog.contextvars.bound_contextvars(**facts):
                try:
                    if handler is None:
                        raise Fault("method_unknown", "This process has no such method.")
                    asked = handler.method.question.decode(question)
                    if frame.kind is Kind.STREAM:
                        await self._pour(frame.call, handler, asked, running)
                        last = frames.pack(Kind.END, frame.call)
                    else:
                        answer = handler.method.answer.encode(await handler.handle(asked))
                        last = frames.pack(Kind.RESULT, frame.call, answer)
                except Exception as error:
                    if not isinstance(error, RoostError) or isinstance(error, Fault):
                        log.error("a call failed", method=handler.method.name if handler else None, exc_info=error)
                    last = frames.pack(Kind.FAILURE, frame.call, pack_failure(error))
        finally:
            self._running.pop(frame.call, None)
        await self._send(last)

    async def _pour(self, call: int, handler: _Handler, question: Any, running: _Running) -> None:
        items: AsyncIterator[Any] = handler.handle(question)
        try:
            while True:
                await running.room.acquire()  # before the item is taken from wherever it comes from
                try:
                    item = await anext(items)
                except StopAsyncIteration:
                    return
                await self._send(frames.pack(Kind.ITEM, call, handler.method.answer.encode(item)))
        finally:
            if isinstance(items, AsyncGenerator):
                with anyio.CancelScope(shield=True):
                    await items.aclose()

    async def _send(self, packed: bytes) -> None:
        """Waits while the other side does not read. Nothing happens if it is gone."""
        with suppress(OSError):
            self._writer.write(packed)
            await self._writer.drain()


def _hear(handler: _Handler, question: bytes) -> None:
    try:
        handler.handle(handler.method.question.decode(question))
    except Exception as error:
        log.error("a notice could not be taken", method=handler.method.name, exc_info=error)


class _OtherBuild(Conflict):
    def __init__(self, theirs: str, own: str) -> None:
        super().__init__(
            "other_build",
            f"A process of Roost {theirs} cannot speak with one of Roost {own}. Roost was changed while it ran:"
            " end the server (`roost down`) and start it again.",
            theirs=theirs,
            own=own,
        )
