"""One request for the API, on its way to control, and its answer on the way back.

Nothing is collected: a piece goes out as it came in, and a side that cannot take more stops the other one. A request that finds
control away is held for a while. One that control died over is repeated if it only looks; for any other nobody knows how far it
got, and its sender is told so.
"""

from __future__ import annotations

import logging
from enum import Enum, auto

import anyio

from roost.domain.errors import Invalid, Unavailable
from roost.edge import pages
from roost.edge.http.answer_heads import AnswerHeads
from roost.edge.http.body import Body, NoBody, OpenBody
from roost.edge.http.head import RequestHead, ResponseHead, render_for_api, render_response
from roost.edge.switchboard import Switchboard
from roost.edge.turn import Client
from roost.edge.upstreams.api_upstream import ApiUpstream, ControlAway
from roost.edge.upstreams.upstream import UpstreamConnection

log = logging.getLogger(__name__)

_ONLY_LOOKS = frozenset((b"GET", b"HEAD", b"OPTIONS"))
_TRIES = 3


class Phase(Enum):
    REACHING = auto()  # for a connection to control
    SENDING = auto()  # no answer yet
    ANSWERING = auto()
    ANSWERED = auto()  # before the request's end
    TUNNEL = auto()
    OVER = auto()


class ApiTurn:
    __slots__ = (
        "_api",
        "_board",
        "_body",
        "_client",
        "_close_client",
        "_head",
        "_heads",
        "_keeps_upstream",
        "_phase",
        "_reaching",
        "_tries",
        "_upgrade",
        "_upstream",
    )

    def __init__(self, board: Switchboard, api: ApiUpstream, client: Client, head: RequestHead) -> None:
        self._board = board
        self._api = api
        self._client = client
        self._head = head
        # uvicorn serves no other upgrade, and takes a request that asks for one to have no body.
        self._upgrade = head.upgrade if (head.upgrade or b"").lower() == b"websocket" else None
        self._phase = Phase.REACHING
        self._tries = 0
        self._upstream: UpstreamConnection | None = None
        self._reaching: anyio.CancelScope | None = None
        self._heads = AnswerHeads(board.limits.head_bytes)
        self._body: Body = NoBody()  # the answer's
        self._close_client = False
        self._keeps_upstream = True  # for another request

    def begin(self) -> None:
        upstream = self._api.take_idle()
        if upstream is None:
            self._reach()
        else:
            self._attach(upstream)

    def _reach(self) -> None:
        self._phase = Phase.REACHING
        self._client.hold()
        if not self._board.spawn(self._dial, "reach the API"):
            self._refuse(pages.control_away(self._head))

    async def _dial(self) -> None:
        if self._phase is not Phase.REACHING:
            return
        with anyio.CancelScope() as self._reaching:
            try:
                upstream = await self._api.dial()
            except ControlAway:
                self._refuse(pages.control_away(self._head))
            except Exception:
                log.exception("the API could not be reached")
                self._refuse(pages.control_away(self._head))
            else:
                if self._phase is Phase.REACHING:
                    self._attach(upstream)
                else:
                    upstream.abort()

    def _attach(self, upstream: UpstreamConnection) -> None:
        self._phase = Phase.SENDING
        self._tries += 1
        self._upstream = upstream
        upstream.receiver = self
        if self._client.is_full:
            upstream.pause_reading()
        upstream.write(render_for_api(self._head, self._client.peer, self._upgrade))
        self._client.release()

    # From the client

    def client_data(self, data: bytes) -> None:
        if self._upstream is not None:
            self._upstream.write(data)

    def client_body_end(self) -> None:
        if self._phase is Phase.ANSWERED:
            self._finish()

    def client_body_broken(self, error: Invalid) -> None:
        if self._phase in (Phase.REACHING, Phase.SENDING):
            self._refuse(pages.malformed(error.message))
        else:
            self._end()
            self._client.abort()

    def client_eof(self) -> bool:
        return False

    def client_lost(self, error: Exception | None) -> None:
        self._end()

    def client_full(self) -> None:
        if self._upstream is not None:
            self._upstream.pause_reading()

    def client_ready(self) -> None:
        if self._upstream is not None:
            self._upstream.resume_reading()

    @property
    def ends_by_itself(self) -> bool:
        return self._phase is not Phase.TUNNEL

    # From control

    def upstream_data(self, data: bytes) -> None:
        match self._phase:
            case Phase.TUNNEL:
                self._client.write(data)
            case Phase.SENDING:
                self._read_head(data)
            case Phase.ANSWERING:
                self._pass_body(b"", data)
            case _:
                pass

    def upstream_eof(self) -> bool:
        return False

    def upstream_lost(self, error: Exception | None) -> None:
        self._upstream = None
        match self._phase:
            case Phase.SENDING:
                self._lost_before_answer()
            case Phase.ANSWERING if error is None and isinstance(self._body, OpenBody):
                self._finish()
            case Phase.ANSWERED:
                self._finish()  # nobody is left to take the rest of the request
            case Phase.TUNNEL if error is None:
                self._end()
                self._client.close()
            case _:
                self._end()
                self._client.abort()  # the client must not take a part for the whole: no graceful end

    def upstream_full(self) -> None:
        self._client.stop_reading()

    def upstream_ready(self) -> None:
        self._client.resume_reading()

    def _lost_before_answer(self) -> None:
        is_repeatable = self._head.method in _ONLY_LOOKS and self._head.body().done and self._upgrade is None
        if is_repeatable and self._tries < _TRIES and not self._heads.has_begun:
            self._client.resume_reading()
            self._reach()
        else:
            self._refuse(pages.control_lost(self._head))

    def _read_head(self, data: bytes) -> None:
        try:
            heads, rest = self._heads.take(data)
        except Unavailable:
            log.exception("the API's answer cannot be read")
            self._refuse(pages.control_lost(self._head))
            return
        for head in heads:
            if head.is_final:
                self._begin_answer(head, rest)
            elif self._head.minor == 1:
                self._client.write(render_response(head, close=False, is_ours=True))

    def _begin_answer(self, head: ResponseHead, rest: bytes) -> None:
        if head.status == 101:
            self._phase = Phase.TUNNEL
            self._client.write(render_response(head, close=False, upgrade=self._upgrade, is_ours=True) + rest)
            self._client.become_tunnel()
            return
        self._phase = Phase.ANSWERING
        self._body = head.body(self._head.method)
        self._close_client = self._client.is_last or isinstance(self._body, OpenBody) or self._upgrade is not None
        self._keeps_upstream = head.keep_alive
        self._pass_body(render_response(head, close=self._close_client, is_ours=True), rest)

    def _pass_body(self, head: bytes, data: bytes) -> None:
        taken = self._body.take(data)
        self._keeps_upstream = self._keeps_upstream and taken == len(data)
        self._client.write(head + data[:taken])
        if self._body.done:
            self._phase = Phase.ANSWERED
            if self._client.request_done:
                self._finish()

    # The end

    def _finish(self) -> None:
        upstream, self._upstream = self._upstream, None
        self._phase = Phase.OVER
        if upstream is not None:
            if self._keeps_upstream and self._client.request_done and upstream.is_drained:
                self._api.give_back(upstream)
            else:
                upstream.abort()
        self._client.next_request(close=self._close_client)

    def _refuse(self, answer: pages.ErrorAnswer) -> None:
        if self._phase is not Phase.OVER:
            self._end()
            self._client.answer(answer)

    def _end(self) -> None:
        self._phase = Phase.OVER
        upstream, self._upstream = self._upstream, None
        if upstream is not None:
            upstream.abort()
        if self._reaching is not None:
            self._reaching.cancel()
