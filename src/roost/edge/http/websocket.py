"""A WebSocket that ends here: frames to bytes and back. Does no I/O; `websockets` does the framing."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import State
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

from roost.domain.errors import Invalid
from roost.edge.http.head import RequestHead

_BINARY = Subprotocol("binary")
_REASON_BYTES = 123  # of a close frame
# The library tells of every frame, and of every head with its secrets; nobody wants to read that.
_UNHEARD = logging.getLogger(f"{__name__}.frames")
_UNHEARD.setLevel(logging.ERROR)


class HandshakeRefused(Invalid):
    def __init__(self, detail: str) -> None:
        super().__init__("websocket_refused", f"No WebSocket can be opened by this request: {detail}")


class WebSocket:
    """The bytes that both sides send are a stream: where one message ends and the next begins means nothing here."""

    __slots__ = ("_protocol",)

    def __init__(self, head: RequestHead, longest_bytes: int) -> None:
        """Raises HandshakeRefused when the request does not ask for a WebSocket in a way that can be agreed to."""
        self._protocol = ServerProtocol(select_subprotocol=_binary_if_offered, max_size=longest_bytes, logger=_UNHEARD)
        self._protocol.receive_data(head.render(keep_upgrade=True))
        requests = [event for event in self._protocol.events_received() if isinstance(event, Request)]
        if not requests:
            raise HandshakeRefused(str(self._protocol.handshake_exc or "its head is too long."))
        response = self._protocol.accept(requests[0])
        if response.status_code != 101:
            raise HandshakeRefused((response.body or b"").decode("utf-8", "replace").partition("\n")[0])
        self._protocol.send_response(response)

    @property
    def is_open(self) -> bool:
        return self._protocol.state is State.OPEN

    def receive(self, data: bytes) -> list[bytes]:
        """What the client sent, out of its frames. Answers to pings and to a close are among what is `to_send` then."""
        self._protocol.receive_data(data)
        pieces: list[bytes] = []
        for frame in self._protocol.events_received():
            if not isinstance(frame, Frame):
                continue
            if frame.opcode in (Opcode.BINARY, Opcode.CONT):
                pieces.append(bytes(frame.data))
            elif frame.opcode is Opcode.TEXT:
                self.close(1003, "Screens are spoken to in binary messages.")
                break
        return pieces

    def send(self, data: bytes) -> bytes:
        """A binary message as it goes out; nothing when the WebSocket is closed."""
        if not self.is_open:
            return b""
        self._protocol.send_binary(data)
        return self.to_send()

    def ping(self) -> bytes:
        if not self.is_open:
            return b""
        self._protocol.send_ping(b"")
        return self.to_send()

    def close(self, code: int, reason: str) -> None:
        """May be called twice."""
        short = reason.encode()[:_REASON_BYTES].decode("utf-8", "ignore")
        if self.is_open:
            self._protocol.send_close(code, short)

    def to_send(self) -> bytes:
        return b"".join(self._protocol.data_to_send())


def _binary_if_offered(_protocol: ServerProtocol, offered: Sequence[Subprotocol]) -> Subprotocol | None:
    return _BINARY if _BINARY in offered else None
