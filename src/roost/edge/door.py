"""The way from a client's connection to the API: uvicorn's own HTTP protocol, one request at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from roost.domain.errors import Invalid
from roost.edge import pages
from roost.edge.head import RequestHead
from roost.edge.turn import Client


@dataclass(frozen=True, slots=True)
class UvicornParts:
    """What uvicorn gives every protocol it makes."""

    config: Config
    server_state: ServerState
    app_state: dict[str, Any]
    loop: asyncio.AbstractEventLoop | None


class ApiDoor:
    """Takes the turns that are the API's. The next turn begins when both the request and its answer are complete."""

    __slots__ = ("_answered", "_client", "_protocol", "_transport", "_upgraded")

    def __init__(self, client: Client, transport: asyncio.Transport, parts: UvicornParts) -> None:
        self._client = client
        self._answered = True
        self._upgraded = False
        self._transport = _ApiTransport(transport, client, self)
        self._protocol: asyncio.Protocol = _ApiProtocol(self, parts)
        self._protocol.connection_made(self._transport)

    def begin(self, head: RequestHead) -> bool:
        """Hands on a request's head. True when the connection is the API's from here on: a WebSocket."""
        self._answered = False
        self._upgraded = (head.upgrade or b"").lower() == b"websocket"
        # uvicorn serves no other upgrade, and takes a request that asks for one to have no body.
        self._protocol.data_received(head.render(keep_upgrade=self._upgraded))
        return self._upgraded

    def switch(self, protocol: asyncio.Protocol) -> None:
        """uvicorn changes to its WebSocket protocol."""
        self._protocol = protocol

    def response_complete(self) -> None:
        self._answered = True
        if self._upgraded:
            self._client.close()  # it was asked to become a WebSocket and answered with HTTP
        elif self._client.request_done:
            self._next()

    def client_data(self, data: bytes) -> None:
        self._protocol.data_received(data)

    def client_body_end(self) -> None:
        if self._answered:
            self._next()

    def client_body_broken(self, error: Invalid) -> None:
        cycle = getattr(self._protocol, "cycle", None)
        if cycle is None or cycle.response_started:
            self._client.abort()
            return
        cycle.disconnected = True
        cycle.message_event.set()
        self._client.answer(pages.malformed(error.message))

    def client_eof(self) -> bool:
        self._protocol.eof_received()
        return False

    def client_lost(self, error: Exception | None) -> None:
        self._protocol.connection_lost(error)

    def client_full(self) -> None:
        self._protocol.pause_writing()

    def client_ready(self) -> None:
        self._protocol.resume_writing()

    @property
    def ends_by_itself(self) -> bool:
        """uvicorn tells its protocols itself that the server stops."""
        return True

    def _next(self) -> None:
        self._client.next_request(close=self._transport.is_closing())


class _ApiProtocol(HttpToolsProtocol):
    def __init__(self, door: ApiDoor, parts: UvicornParts) -> None:
        super().__init__(parts.config, parts.server_state, parts.app_state, parts.loop)
        self._door = door

    def on_response_complete(self) -> None:
        super().on_response_complete()
        # How long an idle connection lives is for the connection to say: it serves more than the API.
        self._unset_keepalive_if_required()
        self._door.response_complete()


class _ApiTransport(asyncio.Transport):
    """The client's transport as uvicorn sees it: reading is the connection's business, which has other reasons to stop too."""

    def __init__(self, transport: asyncio.Transport, client: Client, door: ApiDoor) -> None:
        super().__init__()
        self._transport = transport
        self._client = client
        self._door = door

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._transport.get_extra_info(name, default)

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def close(self) -> None:
        if not self._transport.is_closing():
            self._client.close()

    def abort(self) -> None:
        self._client.abort()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        assert isinstance(protocol, asyncio.Protocol)
        self._door.switch(protocol)

    def is_reading(self) -> bool:
        return self._transport.is_reading()

    def pause_reading(self) -> None:
        self._client.stop_api()

    def resume_reading(self) -> None:
        self._client.resume_api()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        if not self._transport.is_closing():
            self._transport.writelines(list_of_data)

    def can_write_eof(self) -> bool:
        return self._transport.can_write_eof()

    def write_eof(self) -> None:
        self._transport.write_eof()

    def get_write_buffer_size(self) -> int:
        return self._transport.get_write_buffer_size()

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return self._transport.get_write_buffer_limits()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._transport.set_write_buffer_limits(high, low)
