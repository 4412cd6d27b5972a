"""One request to an agent whose body, or answer, is too long to be held: both flow."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import anyio
import h11
from anyio.abc import SocketStream

from roost.domain.errors import GuestUnreachable
from roost.domain.ids import AGENT_PORT

_PIECE_BYTES = 256 << 10
_CONNECT_LIMIT_S = 10.0


class GuestExchange:
    """A request under way. Made by `exchange`."""

    def __init__(self, address: str, stream: SocketStream) -> None:
        self._address = address
        self._stream = stream
        self._http = h11.Connection(h11.CLIENT)

    async def send_head(self, method: str, path: str, headers: dict[str, str]) -> None:
        await self._send(h11.Request(method=method, target=path, headers=[("Host", self._address), *headers.items()]))

    async def send(self, piece: bytes) -> None:
        await self._send(h11.Data(data=piece))

    async def end(self) -> None:
        await self._send(h11.EndOfMessage())

    async def status(self) -> int:
        event = await self._next()
        while isinstance(event, h11.InformationalResponse):
            event = await self._next()
        if not isinstance(event, h11.Response):
            raise GuestUnreachable(self._address, "it closed the connection without an answer")
        return event.status_code

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body of the answer, as it comes."""
        while True:
            event = await self._next()
            if isinstance(event, h11.Data):
                yield bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                return
            else:
                raise GuestUnreachable(self._address, "its answer ended in the middle")

    async def body(self, limit_bytes: int) -> bytes:
        held = bytearray()
        async for piece in self.pieces():
            held += piece
            if len(held) > limit_bytes:
                raise GuestUnreachable(self._address, f"its answer is longer than {limit_bytes >> 10} kB")
        return bytes(held)

    async def _send(self, event: h11.Request | h11.Data | h11.EndOfMessage) -> None:
        if ready := self._http.send(event):
            await self._stream.send(ready)

    async def _next(self) -> h11.Event | type[h11.PAUSED] | type[h11.NEED_DATA]:
        while True:
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as error:
                raise GuestUnreachable(self._address, f"its answer is not HTTP ({error})") from error
            if event is not h11.NEED_DATA:
                return event
            try:
                self._http.receive_data(await self._stream.receive(_PIECE_BYTES))
            except anyio.EndOfStream:
                self._http.receive_data(b"")


@contextlib.asynccontextmanager
async def exchange(address: str) -> AsyncIterator[GuestExchange]:
    """A connection of its own. What goes wrong on it is GuestUnreachable."""
    try:
        with anyio.fail_after(_CONNECT_LIMIT_S):
            stream = await anyio.connect_tcp(address, AGENT_PORT)
        async with stream:
            yield GuestExchange(address, stream)
    except TimeoutError as error:
        raise GuestUnreachable(address, "it did not answer in time") from error
    except (OSError, anyio.EndOfStream, anyio.BrokenResourceError) as error:
        raise GuestUnreachable(address, str(error) or type(error).__name__) from error
