"""One request on its way to a sandbox, and its answer on the way back.

Nothing is collected: a piece goes out as it came in, and a side that cannot take more stops the other one. Heads are read,
bodies are only followed as far as is needed to find their end.
"""

from __future__ import annotations

from roost.contracts.routes import Route
from roost.domain.errors import Invalid, RoostError, Unavailable
from roost.domain.sandbox import Ingress
from roost.edge import pages
from roost.edge.admission.api_host import restrict
from roost.edge.admission.permits import Permit
from roost.edge.admission.resolve import Target
from roost.edge.http.answer_heads import AnswerHeads
from roost.edge.http.body import Body, ChunkedBody, OpenBody
from roost.edge.http.head import ResponseHead, render_request, render_response
from roost.edge.limits import AGENT_PORT
from roost.edge.pages import ErrorAnswer
from roost.edge.switchboard import Switchboard
from roost.edge.turn import Client
from roost.edge.upstreams.patience import AgentPatience
from roost.edge.upstreams.reach import Reach, answer_to, reason_of
from roost.edge.upstreams.upstream import Upstream

_REPEATABLE = frozenset((b"GET", b"HEAD", b"OPTIONS", b"PUT", b"DELETE"))
_JOINED_BYTES = 64 * 1024  # a head and a first piece up to this size go out as one


class Exchange:
    __slots__ = (
        "_account",
        "_answered",
        "_asleep",
        "_board",
        "_body",
        "_client",
        "_client_ended",
        "_close_client",
        "_ended",
        "_head",
        "_heads",
        "_mask_host",
        "_parked",
        "_patience",
        "_permit",
        "_quiet",
        "_reach",
        "_response",
        "_reused",
        "_target",
        "_tunnel",
        "_upgrade",
        "_upstream",
        "_upstream_ended",
        "_wakes",
    )

    def __init__(self, board: Switchboard, client: Client, permit: Permit, target: Target, ingress: Ingress) -> None:
        self._board = board
        self._client = client
        self._permit = permit
        self._quiet = permit.is_quiet
        self._head = head = permit.head
        self._target = target
        self._account = board.ledger.account(target.sandbox)
        # The agent's only other upgrade is its node's alone.
        is_agent = target.port == AGENT_PORT
        mask = None if is_agent else ingress.mask_host
        self._mask_host = mask.replace("${PORT}", str(target.port)).encode() if mask else None
        self._upgrade = head.upgrade if not is_agent or (head.upgrade or b"").lower() == b"websocket" else None
        self._patience = AgentPatience(board, head, target, self._give_up)
        self._reach: Reach | None = None  # while there is no upstream
        self._upstream: Upstream | None = None
        self._reused = False  # the upstream served another request before
        self._heads = AnswerHeads(board.limits.head_bytes)
        self._response: ResponseHead | None = None
        self._body: Body | None = None  # the answer's
        self._close_client = False
        self._answered = False  # the answer is complete
        self._tunnel = False
        self._client_ended = False
        self._upstream_ended = False
        self._asleep = False
        self._wakes = True
        self._parked: list[bytes] = []
        self._ended = False

    # Reaching the sandbox

    def begin(self, route: Route | None) -> None:
        """Sends the request, which was admitted, off by its route; None: the sandbox must be woken first."""
        self._board.join(self._target.sandbox, self)
        self._account.began(quiet=self._quiet)
        upstream = self._board.lines.take_idle(route, self._target.port) if route is not None else None
        if upstream is None:
            self._open()
        else:
            self._reused = True
            self._attach(upstream)

    def _open(self) -> None:
        self._client.hold()
        self._patience.stop()
        port, why = self._target.port, None if self._quiet else reason_of(self._head, self._target)
        self._reach = Reach(self._board, self, self._target.sandbox, why, lambda route: self._board.lines.dial(route, port))
        self._reach.start()

    def reached(self, upstream: Upstream) -> None:
        self._reach = None
        self._reused = False
        route = self._board.routes.locate(self._target.sandbox)
        if route is not None and not self._obeys(route):
            upstream.abort()
        else:
            self._attach(upstream)

    def unreached(self, error: RoostError) -> None:
        self.refuse(answer_to(error, self._head, self._target))

    def _attach(self, upstream: Upstream) -> None:
        self._upstream = upstream
        upstream.receiver = self
        if self._client.is_full:
            upstream.pause_reading()
        head = render_request(self._head, self._client.peer, self._upgrade, self._mask_host)
        upstream.write(head)
        self._patience.start()
        self._account.received(len(head), quiet=self._quiet)
        self._client.release()

    # From the client

    def client_data(self, data: bytes) -> None:
        if self._asleep:
            self._parked.append(data)
            self._client.hold()
            self._wake_if_needed()
        elif self._upstream is not None:
            self._upstream.write(data)
            self._account.received(len(data), quiet=self._quiet)

    def client_body_end(self) -> None:
        if self._answered:
            self._finish()

    def client_body_broken(self, error: Invalid) -> None:
        """What was sent of it is cut off, so that the sandbox cannot take it for the whole."""
        if self._response is not None:
            self.cut()
        else:
            self.refuse(pages.malformed(error.message))

    def client_eof(self) -> bool:
        """True keeps the client's connection open for what the sandbox still sends."""
        if not self._tunnel or self._upstream is None or self._upstream_ended or self._asleep:
            return False
        if not self._upstream.can_write_eof:
            return False  # TLS ends both ways at once
        self._client_ended = True
        self._upstream.write_eof()
        return True

    def client_lost(self, error: Exception | None) -> None:
        upstream = self._upstream
        self._end()
        if upstream is not None:
            if self._tunnel and error is None:
                upstream.close()
            else:
                upstream.abort()

    def client_full(self) -> None:
        if self._upstream is not None:
            self._upstream.pause_reading()

    def client_ready(self) -> None:
        if self._upstream is not None:
            self._upstream.resume_reading()

    @property
    def ends_by_itself(self) -> bool:
        return not self._tunnel

    # From the sandbox

    def upstream_data(self, data: bytes) -> None:
        self._account.sent(len(data), quiet=self._quiet)
        self._patience.heard()
        if self._tunnel:
            self._client.write(data)
        elif self._body is None:
            self._read_head(data)
        elif not self._answered:
            self._pass_body(b"", data)

    def upstream_eof(self) -> bool:
        if not self._tunnel or self._client_ended:
            return False
        self._upstream_ended = True
        self._client.write_eof()
        return True

    def upstream_lost(self, error: Exception | None) -> None:
        if self._tunnel:
            self._end()
            if error is None:
                self._client.close()
            else:
                self._client.abort()
        elif self._answered:
            self._finish()  # the answer came before the request's end, and nobody is left to take the rest
        elif self._response is None:
            self._lost_before_answer()
        elif error is None and isinstance(self._body, OpenBody):
            self._finish()
        else:
            self.cut()  # the client must not take a part for the whole: no graceful end

    def upstream_full(self) -> None:
        self._client.stop_reading()

    def upstream_ready(self) -> None:
        self._client.resume_reading()

    def _lost_before_answer(self) -> None:
        repeatable = self._head.method in _REPEATABLE and self._head.body().done and self._upgrade is None
        if self._reused and repeatable and not self._heads.has_begun:
            # It was idle and the service closed it just then: the request was not looked at.
            self._upstream = None
            self._client.resume_reading()
            self._open()
            return
        self._refuse_answer("closed the connection without an answer")

    def _read_head(self, data: bytes) -> None:
        try:
            heads, rest = self._heads.take(data)
        except Unavailable:
            self._refuse_answer("sent an answer that is not HTTP")
            return
        for head in heads:
            if head.is_final:
                self._begin_answer(self._allowed(head), rest)
            elif self._head.minor == 1 and (self._target.by_name or head.status == 100):
                self._client.write(render_response(self._allowed(head), close=False))

    def _allowed(self, head: ResponseHead) -> ResponseHead:
        return head if self._target.by_name else restrict(head, self._head)

    def _begin_answer(self, head: ResponseHead, rest: bytes) -> None:
        if head.status == 101:
            if self._upgrade is None:
                self._refuse_answer("changed protocols without being asked")
                return
            self._response = head
            self._tunnel = True
            self._client.write(render_response(head, close=False, upgrade=head.framing.upgrade or self._upgrade) + rest)
            self._client.become_tunnel()
            return
        self._response = head
        self._body = head.body(self._head.method)
        self._close_client = self._client.is_last or isinstance(self._body, OpenBody)
        self._pass_body(render_response(head, close=self._close_client), rest)

    def _pass_body(self, head: bytes, data: bytes) -> None:
        assert self._body is not None
        try:
            taken = self._body.take(data)
        except Invalid:
            self._client.write(head)
            self.cut()
            return
        surplus = taken < len(data)
        piece = data[:taken] if surplus else data
        if isinstance(self._body, ChunkedBody) and not self._target.by_name:
            piece = self._body.without_trailers(piece)
        if head and len(piece) <= _JOINED_BYTES:
            self._client.write(head + piece)
        else:
            if head:
                self._client.write(head)
            self._client.write(piece)
        if self._body.done:
            self._answered = True
            if surplus and self._upstream is not None:
                # Whatever that is, it must not be taken for the answer to the next request.
                self._upstream.abort()
                self._upstream = None
            if self._client.request_done or self._upstream is None:
                self._finish()

    # Sleep, wake, end

    @property
    def waits_for_wake(self) -> bool:
        if not self._asleep or self._upstream is None:
            return False
        # Unacknowledged bytes left for a sandbox that fell asleep before it took them: their sender waits for an answer.
        return bool(self._parked) or self._upstream.has_unacknowledged()

    def park(self, route: Route) -> None:
        if not self._obeys(route):
            return
        if self._reach is not None:
            self._reach.reconsider()
        if self._upstream is None or self._ended:
            return
        if self._upstream.incarnation <= route.lost:
            self._upstream.abort()
            self.upstream_lost(ConnectionResetError())  # it sleeps at an earlier moment, which knows nothing of this connection
            return
        self._wakes = route.wakes and not self._quiet
        self._asleep = True
        self._patience.stop()
        if self.waits_for_wake:
            self._wake_if_needed()

    def unpark(self, route: Route) -> None:
        if not self._obeys(route) or self._upstream is None:
            return
        if self._upstream.address != route.address or self._upstream.incarnation <= route.lost:
            self.cut()  # it woke up elsewhere, or is another machine: the connection leads nowhere
            return
        if not self._asleep:
            return
        self._asleep = False
        self._patience.start()
        parked, self._parked = self._parked, []
        for data in parked:
            self.client_data(data)
        self._client.release()

    def _obeys(self, route: Route) -> bool:
        """False when the route ended what was permitted: then the request is answered here, or cut."""
        begun = self._response is not None
        objection = self._permit.objection(route, self._board.clock.now(), begun=begun)
        if objection is None or self._ended:
            return True
        if begun:
            self.cut()
        else:
            self.refuse(objection)
        return False

    def sandbox_died(self) -> None:
        if self._reach is not None:
            self._reach.reconsider()  # nothing was sent yet: it finds the sandbox gone and says so
        else:
            self._break_off()
            self._client.reset()

    def cut(self) -> None:
        self._break_off()
        self._client.abort()

    def _break_off(self) -> None:
        upstream = self._upstream
        self._end()
        if upstream is not None:
            upstream.abort()

    def refuse(self, answer: ErrorAnswer) -> None:
        """Answers in the sandbox's place; nothing of the sandbox's own answer was passed on."""
        upstream, self._reach = self._upstream, None
        self._end()
        if upstream is not None:
            upstream.abort()
        self._client.answer(answer)

    def _refuse_answer(self, what: str) -> None:
        detail = f"port {self._target.port} {what}"
        self.refuse(pages.no_answer(self._target.sandbox, self._target.port, self._head, detail))

    def _give_up(self) -> None:
        """The agent is there, takes requests and does not answer."""
        if self._response is None:
            self.refuse(pages.agent_silent(self._target.sandbox))
        else:
            self.cut()

    def _wake_if_needed(self) -> None:
        if self._wakes:
            self._board.wake_parked(self._target.sandbox)

    def _finish(self) -> None:
        upstream, response = self._upstream, self._response
        assert response is not None
        self._end()
        if upstream is not None:
            complete = self._client.request_done and not isinstance(self._body, OpenBody)
            if complete and response.keep_alive and upstream.is_drained and not self._asleep:
                self._board.lines.give_back(upstream)
            else:
                upstream.close()
        self._client.next_request(close=self._close_client)

    def _end(self) -> None:
        if self._ended:
            return
        self._ended = True
        self._patience.stop()
        if self._reach is not None:
            self._reach.give_up()
            self._reach = None
        self._upstream = None
        self._account.ended()
        self._board.leave(self._target.sandbox, self)
