"""Bytes that arrive: the connection's input and the request bodies cut from it, with backpressure to the peer."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from roost_agent.errors import ClientGone, HttpError
from roost_agent.http.head import MAX_HEAD_BYTES, Head, parse_chunk_size

# Above this much unread input the socket is not read any more; below half of it, it is again.
HIGH_WATER_BYTES = 1024 * 1024


class Inbound:
    """The unread input of one connection. One reader at a time."""

    __slots__ = ("_chunks", "_eof", "_failed", "_paused", "_transport", "_waiter", "size")

    def __init__(self) -> None:
        self._chunks: deque[bytes] = deque()
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._paused = False
        self._eof = False
        self._failed = False
        self.size = 0

    @property
    def at_eof(self) -> bool:
        return self._eof and not self._chunks

    def attach(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    def feed(self, data: bytes) -> None:
        self._chunks.append(data)
        self.size += len(data)
        if self.size > HIGH_WATER_BYTES and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()
        self._wake()

    def feed_eof(self, *, failed: bool = False) -> None:
        self._eof = True
        self._failed = self._failed or failed
        self._wake()

    async def until(self, mark: bytes, limit: int) -> bytes:
        """Everything up to and including `mark`; b"" at a clean end of input.

        Raises HttpError 431 when more than `limit` bytes come without it, ClientGone when input ends in between.
        """
        while True:
            if len(self._chunks) > 1:
                joined = b"".join(self._chunks)
                self._chunks.clear()
                self._chunks.append(joined)
            if self._chunks:
                first = self._chunks[0]
                at = first.find(mark, 0, limit)
                if at >= 0:
                    return self._cut(at + len(mark))
                if len(first) >= limit:
                    raise HttpError(431, f"the request head is longer than {limit} bytes")
            if self._eof:
                if self._chunks or self._failed:
                    raise ClientGone
                return b""
            await self._more()

    async def some(self, at_most: int) -> bytes:
        """At least one byte and at most `at_most`; b"" at the end of input."""
        while not self._chunks:
            if self._failed:
                raise ClientGone
            if self._eof:
                return b""
            await self._more()
        return self._cut(min(at_most, len(self._chunks[0])))

    def skip_empty_lines(self) -> None:
        """Some clients send a line end after a body; it may precede the next request."""
        while self._chunks and self._chunks[0][:2] == b"\r\n":
            self._cut(2)

    def take_all(self) -> bytes:
        """What has arrived and was not read, for a connection that leaves HTTP."""
        rest = b"".join(self._chunks)
        self._chunks.clear()
        self.size = 0
        self._relieve()
        return rest

    def _cut(self, size: int) -> bytes:
        first = self._chunks.popleft()
        if size < len(first):
            self._chunks.appendleft(first[size:])
            first = first[:size]
        self.size -= size
        self._relieve()
        return first

    def _relieve(self) -> None:
        if self._paused and self.size <= HIGH_WATER_BYTES // 2 and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()

    async def _more(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)


class Body:
    """The body of one request, read in pieces, whatever its framing."""

    __slots__ = ("_chunked", "_inbound", "_left", "before_first_read", "broken", "done", "length")

    def __init__(self, inbound: Inbound, head: Head) -> None:
        self._inbound = inbound
        self._chunked = head.chunked
        self._left = head.content_length
        # Set when the client waits to be asked for the body (Expect: 100-continue).
        self.before_first_read: Callable[[], None] | None = None
        # Set once the framing makes no sense: where the next request begins cannot be known any more.
        self.broken = False
        # None when only the end of the body tells.
        self.length: int | None = None if head.chunked else head.content_length
        self.done = not head.chunked and head.content_length == 0

    async def read(self, at_most: int = 1 << 20) -> bytes:
        """The next piece; b"" once the body is complete.

        Raises ClientGone when the connection ends first, HttpError 400 on malformed chunks.
        """
        try:
            return await self._read(at_most)
        except HttpError:
            self.broken = True
            raise

    async def _read(self, at_most: int) -> bytes:
        if self.done:
            return b""
        if self.before_first_read is not None:
            ask, self.before_first_read = self.before_first_read, None
            ask()
        if self._chunked and self._left == 0:
            line = await self._line()
            self._left = parse_chunk_size(line)
            if self._left == 0:
                await self._skip_trailers()
                self.done = True
                return b""
        piece = await self._inbound.some(min(at_most, self._left))
        if not piece:
            raise ClientGone
        self._left -= len(piece)
        if self._left == 0:
            if self._chunked:
                if await self._line() != b"":
                    raise HttpError(400, "malformed chunk: its data is longer than its size")
            else:
                self.done = True
        return piece

    async def read_all(self, limit: int) -> bytes:
        """The whole body, for small ones. Raises HttpError 413 beyond `limit`."""
        if self.length is not None and self.length > limit:
            raise HttpError(413, f"the request body is larger than {limit} bytes")
        pieces: list[bytes] = []
        size = 0
        while piece := await self.read():
            size += len(piece)
            if size > limit:
                raise HttpError(413, f"the request body is larger than {limit} bytes")
            pieces.append(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def discard(self, limit: int) -> bool:
        """Read the rest and forget it; False when that is more than `limit` bytes."""
        size = 0
        while piece := await self.read():
            size += len(piece)
            if size > limit:
                return False
        return True

    async def _line(self) -> bytes:
        try:
            line = await self._inbound.until(b"\r\n", 4096)
        except HttpError as too_long:
            raise HttpError(400, "malformed chunked body") from too_long
        if not line:
            raise ClientGone
        return line[:-2]

    async def _skip_trailers(self) -> None:
        size = 0
        while line := await self._line():
            size += len(line)
            if size > MAX_HEAD_BYTES:
                raise HttpError(431, "the trailers are too long")
