"""One client's connection: finds the requests in it and hands each to whom it is for, one after the other.

Clients use one connection for the API and for sandboxes in turn, so the choice is made per request. While one request is
answered, the next one waits unread.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

from roost.domain.errors import Invalid
from roost.edge import pages
from roost.edge.admission.access import AccessStep
from roost.edge.admission.dispatch import Dispatcher
from roost.edge.admission.permits import ScreenPermit, permit
from roost.edge.admission.resolve import Target
from roost.edge.api_turn import ApiTurn
from roost.edge.http.body import Body, NoBody, OpenBody
from roost.edge.http.head import Peer, RequestHead, is_secure, parse_request
from roost.edge.http.sockets import detect_dead_peer, reset_when_closed
from roost.edge.open_connections import OpenConnections
from roost.edge.pages import ErrorAnswer
from roost.edge.relay import Exchange
from roost.edge.screens.screen import ScreenSession
from roost.edge.switchboard import Switchboard
from roost.edge.turn import Turn
from roost.edge.upstreams.api_upstream import ApiUpstream

_HEAD_END = b"\r\n\r\n"
_NO_BODY = NoBody()

# Why the client is not read just now; it is read when no reason is left.
_HELD = 1  # its request waits for the sandbox
_UPSTREAM_FULL = 2
_PIPELINED = 4  # it sent more than one request


class ClientConnection(asyncio.Protocol):
    __slots__ = (
        "_api",
        "_blocks",
        "_board",
        "_body",
        "_closing",
        "_discarding",
        "_dispatcher",
        "_full",
        "_head",
        "_loop",
        "_open",
        "_pending",
        "_timer",
        "_transport",
        "_turn",
        "peer",
    )

    def __init__(
        self, board: Switchboard, dispatcher: Dispatcher, api: ApiUpstream, connections: OpenConnections[ClientConnection]
    ) -> None:
        """`connections` are all that are open, this one too while it is."""
        self.peer = Peer(b"", b"http")
        self._board = board
        self._dispatcher = dispatcher
        self._api = api
        self._open = connections
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport = cast(asyncio.Transport, None)  # set by connection_made, before anything else
        self._turn: Turn | None = None
        self._head: RequestHead | None = None
        self._body: Body = _NO_BODY  # of the request at hand
        self._pending = b""  # read and not handed on: part of a head, a held body, or the next request
        self._blocks = 0
        self._full = False
        self._closing = False
        self._discarding = False
        self._timer: asyncio.TimerHandle | None = None

    # What the loop and the server call

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        limits = self._board.limits
        self._transport.set_write_buffer_limits(high=limits.high_water_bytes, low=limits.low_water_bytes)
        address = transport.get_extra_info("peername")
        scheme = b"https" if transport.get_extra_info("sslcontext") else b"http"
        self.peer = Peer(str(address[0]).encode() if isinstance(address, tuple) else b"", scheme)
        detect_dead_peer(transport.get_extra_info("socket"))
        self._open.add(self)
        self._arm(limits.idle_timeout_s)

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        self._open.discard(self)
        turn, self._turn = self._turn, None
        if turn is not None:
            turn.client_lost(exc)
        self._pending = b""

    def data_received(self, data: bytes) -> None:
        if self._discarding:
            return
        if self._blocks & (_HELD | _PIPELINED):
            self._pending += data
        elif self._turn is None:
            self._collect(data)
        else:
            self._feed(data)

    def eof_received(self) -> bool:
        if self.peer.scheme == b"https":
            return False  # TLS ends both ways at once: nothing can be sent any more
        # Outside a tunnel, a client that sends no more is taken to be gone: that is how a closed one looks, and the sandbox
        # must learn of it.
        return self._turn is not None and self._turn.client_eof()

    def pause_writing(self) -> None:
        self._full = True
        if self._turn is not None:
            self._turn.client_full()

    def resume_writing(self) -> None:
        self._full = False
        if self._turn is not None:
            self._turn.client_ready()

    def shutdown(self) -> None:
        """The server stops: what is idle or without end closes now, an answer under way has a while to finish."""
        self._closing = True
        if self._turn is None:
            self.close()
        elif self._turn.ends_by_itself:
            self._arm(self._board.limits.shutdown_grace_s, self.abort)
        else:
            self.abort()

    # Finding requests

    def _collect(self, data: bytes) -> None:
        limit = self._board.limits.head_bytes
        searched = max(0, len(self._pending) - 3)
        if not self._pending:
            data = data.lstrip(b"\r\n")  # RFC 9112 §2.2: an empty line before a request is forgiven
        began = not self._pending and bool(data)
        self._pending += data
        end = self._pending.find(_HEAD_END, searched)
        if end > limit or (end < 0 and len(self._pending) > limit):
            self._refuse(pages.head_too_large(limit))
            return
        if end < 0:
            if began:
                self._arm(self._board.limits.head_timeout_s)
            return
        self._disarm()
        raw, self._pending = self._pending[: end + 4], self._pending[end + 4 :]
        try:
            self._dispatch(parse_request(raw))
        except Invalid as error:
            self._refuse(pages.malformed(error.message))

    def _dispatch(self, head: RequestHead) -> None:
        self._head = head
        self._body = head.body()
        if head.method == b"CONNECT":
            self._refuse(pages.method_not_allowed())
            return
        whom = self._dispatcher.dispatch(head)
        if isinstance(whom, ErrorAnswer):
            self.answer(whom)
            return
        if whom is None:
            turn = self._turn = ApiTurn(self._board, self._api, self, head)
            turn.begin()
        else:
            turn = self._relay(whom.head, whom.target)
        if turn is not None and self._turn is turn and not self._blocks & _HELD:
            self._feed_pending()

    def _relay(self, head: RequestHead, target: Target) -> Turn | None:
        """Begins the turn of a request for a sandbox; None when it was answered here."""
        route = self._board.routes.locate(target.sandbox)
        permitted = permit(route, head, target, self._board.clock.now(), is_secure=is_secure(head, self.peer))
        if isinstance(permitted, ErrorAnswer):
            self.answer(permitted)
            return None
        if isinstance(permitted, ScreenPermit):
            screen = self._turn = ScreenSession(self._board, self, permitted, target)
            screen.begin()
            return screen
        assert route is not None, "without a route nothing is permitted"
        exchange = self._turn = Exchange(self._board, self, permitted, target, route.ingress)
        exchange.begin(route if permitted.step is AccessStep.FORWARD else None)
        return exchange

    def _feed_pending(self) -> None:
        if self._pending:
            data, self._pending = self._pending, b""
            self._feed(data)

    def _feed(self, data: bytes) -> None:
        turn, body = self._turn, self._body
        assert turn is not None
        if body.done:
            self._pending += data
            self._block(_PIPELINED)
            return
        try:
            taken = body.take(data)
        except Invalid as error:
            self._closing = True
            turn.client_body_broken(error)
            return
        if taken < len(data):
            # Put aside first: handing on the last piece may end the turn.
            self._pending = data[taken:]
            self._block(_PIPELINED)
            data = data[:taken]
        if data:
            turn.client_data(data)
        if body.done and self._turn is turn:
            turn.client_body_end()

    # What turns use

    @property
    def request_done(self) -> bool:
        return self._body.done

    @property
    def is_last(self) -> bool:
        return self._closing or self._head is None or not self._head.keep_alive

    @property
    def is_full(self) -> bool:
        return self._full

    def write(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)

    def write_eof(self) -> None:
        if self._transport.is_closing():
            return
        if self._transport.can_write_eof():
            self._transport.write_eof()
        else:
            self.close()

    def hold(self) -> None:
        self._block(_HELD)

    def release(self) -> None:
        if self._blocks & _HELD:
            self._blocks &= ~_HELD
            if not self._blocks & _PIPELINED:
                self._feed_pending()
            self._read_if_unblocked()

    def stop_reading(self) -> None:
        self._block(_UPSTREAM_FULL)

    def resume_reading(self) -> None:
        self._unblock(_UPSTREAM_FULL)

    def become_tunnel(self) -> None:
        self._body = OpenBody()
        self._blocks &= ~_PIPELINED
        self._feed_pending()
        self._read_if_unblocked()

    def answer(self, answer: ErrorAnswer) -> None:
        head_only = self._head is not None and self._head.method == b"HEAD"
        self._skip_body()
        close = self.is_last or not self._body.done
        self.write(answer.render(head_only=head_only, close=close))
        self.next_request(close=close)

    def next_request(self, *, close: bool) -> None:
        self._turn = None
        self._head = None
        if close or self._closing or not self._body.done:
            if self._body.done:
                self.close()
            else:
                self._linger()
            return
        self._body = _NO_BODY
        if self._pending:
            # Not from here: a thousand requests in one packet would be a thousand frames deep.
            self._block(_PIPELINED)
            self._loop.call_soon(self._resume)
        else:
            self._arm(self._board.limits.idle_timeout_s)
        self._blocks &= _PIPELINED if self._pending else 0
        self._read_if_unblocked()

    def close(self) -> None:
        self._closing = True
        self._disarm()
        if not self._transport.is_closing():
            self._transport.close()
            if self._transport.get_write_buffer_size():
                self._arm(self._board.limits.flush_s, self.abort)

    def abort(self) -> None:
        self._closing = True
        self._transport.abort()

    def reset(self) -> None:
        reset_when_closed(self._transport.get_extra_info("socket"))
        self.abort()

    # Inside

    def _resume(self) -> None:
        if self._transport.is_closing():
            return
        self._blocks &= ~_PIPELINED
        data, self._pending = self._pending, b""
        self._collect(data)
        self._read_if_unblocked()

    def _refuse(self, answer: ErrorAnswer) -> None:
        """Answers what is no request, or none that is served; the connection cannot be read any further."""
        self._closing = True
        if self._head is None:
            self._body = OpenBody()
        self._pending = b""
        self.answer(answer)

    def _skip_body(self) -> None:
        """Drops what has arrived of a body that nobody wants, so that the connection can go on if that was all of it."""
        if self._pending and not self._body.done:
            try:
                taken = self._body.take(self._pending)
            except Invalid:
                self._closing = True
                taken = len(self._pending)
            self._pending = self._pending[taken:]

    def _linger(self) -> None:
        """Closes after an answer that came before the request's end. Closing at once would reset the connection, and the
        client might never see the answer."""
        self._closing = self._discarding = True
        self._pending = b""
        self._blocks = 0
        self._read_if_unblocked()
        if not self._transport.is_closing() and self._transport.can_write_eof():
            self._transport.write_eof()
        self._arm(self._board.limits.linger_s, self.close)

    def _block(self, why: int) -> None:
        if not self._blocks and not self._transport.is_closing():
            self._transport.pause_reading()
        self._blocks |= why

    def _unblock(self, why: int) -> None:
        if self._blocks & why:
            self._blocks &= ~why
            self._read_if_unblocked()

    def _read_if_unblocked(self) -> None:
        if not self._blocks and not self._transport.is_closing() and not self._transport.is_reading():
            self._transport.resume_reading()

    def _arm(self, delay_s: float, then: Any = None) -> None:
        self._disarm()
        self._timer = self._loop.call_later(delay_s, then or self._waited_for_request)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _waited_for_request(self) -> None:
        if self._pending:
            self._refuse(pages.head_too_slow(self._board.limits.head_timeout_s))
        else:
            self.close()
