"""Bytes on their way through a gate: a connected socket as a stream, and two streams joined."""

from __future__ import annotations

import errno
import socket
import struct
from collections.abc import Callable

import anyio
from anyio.abc import ByteStream

CHUNK_BYTES = 256 << 10
HALF_CLOSED_S = 300.0
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class Wire(ByteStream):
    """A connected socket."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sock = sock

    async def receive(self, max_bytes: int = CHUNK_BYTES) -> bytes:
        while True:
            try:
                data = self._sock.recv(max_bytes)
            except BlockingIOError:
                await anyio.wait_readable(self._sock)
            except OSError as error:
                raise _gone(error) from error
            else:
                if not data:
                    raise anyio.EndOfStream
                return data

    async def send(self, item: bytes) -> None:
        left = memoryview(item)
        while left:
            try:
                left = left[self._sock.send(left) :]
            except BlockingIOError:
                await anyio.wait_writable(self._sock)
            except OSError as error:
                raise _gone(error) from error

    async def send_eof(self) -> None:
        try:
            self._sock.shutdown(socket.SHUT_WR)
        except OSError as error:
            raise _gone(error) from error

    async def aclose(self) -> None:
        self._sock.close()

    def reset(self) -> None:
        """Closed so that the other end is told that it was refused, not that all was said."""
        if self._sock.fileno() >= 0:
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
            self._sock.close()


class Primed(ByteStream):
    """A stream with bytes in front that were read from it already."""

    def __init__(self, stream: ByteStream, ahead: bytes) -> None:
        self._stream = stream
        self._ahead = ahead

    async def receive(self, max_bytes: int = CHUNK_BYTES) -> bytes:
        if self._ahead:
            data, self._ahead = self._ahead[:max_bytes], self._ahead[max_bytes:]
            return data
        return await self._stream.receive(max_bytes)

    async def send(self, item: bytes) -> None:
        await self._stream.send(item)

    async def send_eof(self) -> None:
        await self._stream.send_eof()

    async def aclose(self) -> None:
        await self._stream.aclose()


def _gone(error: OSError) -> Exception:
    return anyio.ClosedResourceError() if error.errno == errno.EBADF else anyio.BrokenResourceError()


async def connect(sock: socket.socket, address: tuple[str, int]) -> None:
    """Connects a socket that does not block. Raises OSError."""
    try:
        sock.connect(address)
    except BlockingIOError:
        await anyio.wait_writable(sock)
        code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise OSError(code, errno.errorcode.get(code, str(code))) from None


async def splice(one: ByteStream, other: ByteStream) -> None:
    """Passes bytes on both ways until both have said all, or one is gone. Once one has said all, the other may be silent for
    `HALF_CLOSED_S` at most: whoever it talks to may not be there any more."""
    scopes = anyio.CancelScope(), anyio.CancelScope()
    is_half_closed = False
    async with anyio.create_task_group() as tasks:

        def is_alive(scope: anyio.CancelScope) -> None:
            if is_half_closed:
                scope.deadline = anyio.current_time() + HALF_CLOSED_S

        async def run(index: int, source: ByteStream, sink: ByteStream) -> None:
            nonlocal is_half_closed
            with scopes[index]:
                if await _pump(source, sink, lambda: is_alive(scopes[index])):
                    is_half_closed = True
                    is_alive(scopes[1 - index])
                    return
            tasks.cancel_scope.cancel()

        tasks.start_soon(run, 0, one, other)
        tasks.start_soon(run, 1, other, one)


async def _pump(source: ByteStream, sink: ByteStream, on_data: Callable[[], None]) -> bool:
    """Whether all was said and passed on, and the other way may go on."""
    try:
        while True:
            try:
                data = await source.receive()
            except anyio.EndOfStream:
                await sink.send_eof()
                return True
            on_data()
            await sink.send(data)
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, NotImplementedError):
        return False  # TLS knows no half-closed connection
