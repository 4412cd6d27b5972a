"""Asks another process. One connection for everything, made again whenever that process is."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TypeVar

import anyio
import structlog
from anyio.abc import TaskStatus

from roost.domain.errors import RoostError
from roost.rpc import frames
from roost.rpc.failures import PeerLost, unpack_failure
from roost.rpc.frames import BadFrame, Frame, Kind
from roost.rpc.method import Method
from roost.telemetry.operation import current_operation

Q = TypeVar("Q")
A = TypeVar("A")

PATIENCE_S = 60.0  # for a process that ended to be there again
TRIES = 3  # of a call whose process ended each time: it may be this call that ends it
_AGAIN_S = (0.01, 0.05, 0.1, 0.2, 0.5, 1.0)  # between tries to connect; the last for all others

log = structlog.get_logger(__name__)


class Client:
    """`run` must run for anything to be answered. `peer` is what people call the other process."""

    def __init__(self, path: Path, *, peer: str, build: str, patience_s: float = PATIENCE_S) -> None:
        self._path = path
        self._peer = peer
        self._build = build
        self._patience_s = patience_s
        self._link: _Link | None = None
        self._linked = asyncio.Event()
        self._refusal: RoostError | None = None

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Keeps connected until cancelled. Started once it is for the first time; raises if it is refused then."""
        failures, is_first = 0, True
        while True:
            link = await self._connect(is_first=is_first)
            if link is None:
                await anyio.sleep(_AGAIN_S[min(failures, len(_AGAIN_S) - 1)])
                failures += 1
                continue
            failures, self._refusal, self._link = 0, None, link
            self._linked.set()
            if is_first:
                is_first = False
                task_status.started()
            try:
                await link.read()
            finally:
                self._linked.clear()
                self._link = None
                link.close()

    async def call(self, method: Method[Q, A], question: Q, *, waits: bool = True) -> A:
        """The answer. Waits for a process that is being started again, unless it must not. Cancelled, the other side is told, and
        what it made of that is awaited: an answer that was there by then is returned. Raises what the other side raised; PeerLost
        when it ended first, or again and again if the method is repeatable."""
        asked = method.question.encode(question)
        for _ in range(TRIES if method.repeatable else 1):
            link = await self._connected(waits=waits)
            exchange = link.begin(Kind.CALL, method.name, asked)
            try:
                await exchange.wait()
            except asyncio.CancelledError:
                link.send(frames.pack(Kind.CANCEL, exchange.call))
                with anyio.CancelScope(shield=True):
                    await exchange.wait()
                if exchange.last is None or exchange.last.kind is Kind.CANCELLED:
                    raise
            if exchange.last is not None:
                return method.answer.decode(exchange.result())
        raise PeerLost(self._peer, "ended before it answered" if not method.repeatable else f"ended {TRIES} times over this")

    async def stream(self, method: Method[Q, A], question: Q) -> AsyncGenerator[A, None]:
        """Every item, as it comes. Raises as `call`; not repeated: only the reader knows what it missed. To be closed
        (`contextlib.aclosing`) by a reader that does not read to the end."""
        link = await self._connected(waits=True)
        exchange, taken = link.begin(Kind.STREAM, method.name, method.question.encode(question)), 0
        try:
            while True:
                await exchange.wait()
                while exchange.items:
                    item = method.answer.decode(exchange.items.popleft())
                    taken += 1
                    if taken == frames.WINDOW // 2:
                        link.send(frames.pack(Kind.GRANT, exchange.call, taken.to_bytes(4)))
                        taken = 0
                    yield item
                if exchange.is_over:
                    break
                exchange.changed.clear()
            if exchange.last is None:
                raise PeerLost(self._peer, "ended in the middle of what it told")
            exchange.result()
        finally:
            if not exchange.is_over:
                link.send(frames.pack(Kind.CANCEL, exchange.call))

    def notify(self, method: Method[Q, None], question: Q) -> bool:
        """Sent, if there is a process that takes it. Nobody says whether it arrived."""
        if self._link is None or self._link.is_choked:
            return False
        self._link.send(frames.pack_question(Kind.NOTICE, 0, _head(method.name), method.question.encode(question)))
        return True

    async def _connected(self, *, waits: bool) -> _Link:
        if self._link is not None:
            return self._link
        if not waits:
            raise PeerLost(self._peer, "is not there now")
        with anyio.move_on_after(self._patience_s):
            while self._link is None and self._refusal is None:
                await self._linked.wait()
        if self._link is not None:
            return self._link
        raise self._refusal or PeerLost(self._peer, f"is not there for {self._patience_s:g} s now")

    async def _connect(self, *, is_first: bool) -> _Link | None:
        try:
            reader, writer = await asyncio.open_unix_connection(self._path, limit=frames.READ_AHEAD_BYTES)
        except OSError:
            return None
        link = _Link(reader, writer)
        try:
            if await link.greet(self._build):
                return link
        except (RoostError, BadFrame) as error:
            self._refusal = error if isinstance(error, RoostError) else PeerLost(self._peer, "does not speak Roost's protocol")
            self._linked.set()  # for those who wait
            if is_first:
                link.close()
                raise self._refusal from error
            log.error("a process of Roost refuses to speak with this one", process=self._peer, error=str(error))
        except BaseException:
            link.close()
            raise
        link.close()
        return None


def _head(method: str) -> dict[str, str]:
    span = current_operation()
    return {"method": method} if span is None else {"method": method, "span": span.id}


@dataclass(slots=True)
class _Exchange:
    """A question under way, and what came back so far."""

    call: int
    items: deque[bytes] = field(default_factory=deque)
    last: Frame | None = None  # of the answer; None when it is over: the connection was
    is_over: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait(self) -> None:
        await self.changed.wait()

    def end(self, last: Frame | None) -> None:
        self.last, self.is_over = last, True
        self.changed.set()

    def result(self) -> bytes:
        """Raises what the other side raised."""
        assert self.last is not None
        if self.last.kind is Kind.FAILURE:
            raise unpack_failure(self.last.payload)
        if self.last.kind is Kind.CANCELLED:
            raise PeerLost("other", "gave this up by itself")
        return self.last.payload


class _Link:
    """One connection, until it ends."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._numbers = count(1)
        self._open: dict[int, _Exchange] = {}
        self._is_closed = False

    async def greet(self, build: str) -> bool:
        """False if the other side was gone. Raises what it refused with."""
        self.send(frames.pack_json(Kind.HELLO, 0, {"build": build}))
        frame = await frames.read(self._reader)
        if frame is None:
            return False
        if frame.kind is Kind.FAILURE:
            raise unpack_failure(frame.payload)
        if frame.kind is not Kind.HELLO:
            raise BadFrame("no greeting")
        return True

    def begin(self, kind: Kind, method: str, question: bytes) -> _Exchange:
        exchange = _Exchange(next(self._numbers))
        if self._is_closed:
            exchange.end(None)
        else:
            self._open[exchange.call] = exchange
            self.send(frames.pack_question(kind, exchange.call, _head(method), question))
        return exchange

    def send(self, packed: bytes) -> None:
        if not self._is_closed:
            with suppress(OSError):  # whoever reads hears of it
                self._writer.write(packed)

    @property
    def is_choked(self) -> bool:
        """The other side does not read."""
        return self._writer.transport.get_write_buffer_size() > frames.READ_AHEAD_BYTES

    async def read(self) -> None:
        """Hands out what comes, until the connection ends."""
        try:
            while frame := await frames.read(self._reader):
                self._take(frame)
        except BadFrame as error:
            log.error("another process of Roost sends what is not the protocol", detail=str(error))

    def close(self) -> None:
        """Everything under way is over at once, and asked again in the order in which it was asked."""
        self._is_closed = True
        self._writer.close()
        under_way, self._open = self._open, {}
        for exchange in under_way.values():
            exchange.end(None)

    def _take(self, frame: Frame) -> None:
        if frame.kind in frames.LAST_ANSWERS:
            if exchange := self._open.pop(frame.call, None):
                exchange.end(frame)
        elif frame.kind is Kind.ITEM:
            if exchange := self._open.get(frame.call):
                exchange.items.append(frame.payload)
                exchange.changed.set()
        else:
            raise BadFrame(f"a frame of the kind {frame.kind.name}, which only clients send")
