"""One request on its way to a sandbox, and its answer on the way back.

Nothing is collected: a piece goes out as it came in, and a side that cannot take more stops the other one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto

from roost.contracts.routes import Route
from roost.domain.errors import Invalid, RoostError
from roost.domain.sandbox import Ingress
from roost.edge import pages
from roost.edge.admission.permits import Permit
from roost.edge.admission.resolve import Target
from roost.edge.answer import Answer, AnswerUnusable, Progress
from roost.edge.http.head import render_request
from roost.edge.limits import AGENT_PORT
from roost.edge.pages import ErrorAnswer
from roost.edge.switchboard import Switchboard
from roost.edge.turn import Client
from roost.edge.upstreams.patience import AgentPatience
from roost.edge.upstreams.reach import Reach, answer_to, reason_of
from roost.edge.upstreams.upstream import Upstream

_REPEATABLE = frozenset((b"GET", b"HEAD", b"OPTIONS", b"PUT", b"DELETE"))


class Way(Enum):
    """How the request gets to the sandbox."""

    NONE = auto()  # not yet, or not any more
    NEW = auto()  # by a connection that was made for it
    REUSED = auto()  # by one that served another request before, which the service may be closing at this very moment
    ENDED = auto()


class Side(Enum):
    """Of a tunnel."""

    CLIENT = auto()
    SANDBOX = auto()


@dataclass(slots=True)
class Nap:
    """The sandbox sleeps in the middle of it."""

    wakes: bool  # for what the client sends
    parked: list[bytes] = field(default_factory=list)


class Exchange:
    __slots__ = (
        "_account",
        "_answer",
        "_board",
        "_client",
        "_head",
        "_mask_host",
        "_nap",
        "_patience",
        "_permit",
        "_reach",
        "_silent",
        "_target",
        "_upgrade",
        "_upstream",
        "_way",
    )

    def __init__(self, board: Switchboard, client: Client, permit: Permit, target: Target, ingress: Ingress) -> None:
        self._board = board
        self._client = client
        self._permit = permit
        self._head = head = permit.head
        self._target = target
        self._account = board.ledger.account(target.sandbox)
        # The agent's only other upgrade is its node's alone.
        is_agent = target.port == AGENT_PORT
        mask = None if is_agent else ingress.mask_host
        self._mask_host = mask.replace("${PORT}", str(target.port)).encode() if mask else None
        self._upgrade = head.upgrade if not is_agent or (head.upgrade or b"").lower() == b"websocket" else None
        self._patience = AgentPatience(board, head, target, self._give_up)
        self._answer = Answer(client, head, target, self._upgrade, board.limits.head_bytes)
        self._way = Way.NONE
        self._reach: Reach | None = None  # while there is no upstream
        self._upstream: Upstream | None = None
        self._silent: Side | None = None  # which side of a tunnel sends nothing more
        self._nap: Nap | None = None

    # Reaching the sandbox

    def begin(self, route: Route | None) -> None:
        """Sends the request, which was admitted, off by its route; None: the sandbox must be woken first."""
        self._board.join(self._target.sandbox, self)
        self._account.began(quiet=self._permit.is_quiet)
        upstream = self._board.lines.take_idle(route, self._target.port) if route is not None else None
        if upstream is None:
            self._open()
        else:
            self._attach(upstream, Way.REUSED)

    def _open(self) -> None:
        self._client.hold()
        self._patience.stop()
        port, why = self._target.port, None if self._permit.is_quiet else reason_of(self._head, self._target)
        self._reach = Reach(self._board, self, self._target.sandbox, why, lambda route: self._board.lines.dial(route, port))
        self._reach.start()

    def reached(self, upstream: Upstream) -> None:
        self._reach = None
        route = self._board.routes.locate(self._target.sandbox)
        if route is not None and not self._obeys(route):
            upstream.abort()
        else:
            self._attach(upstream, Way.NEW)

    def unreached(self, error: RoostError) -> None:
        self.refuse(answer_to(error, self._head, self._target))

    def _attach(self, upstream: Upstream, way: Way) -> None:
        self._upstream, self._way = upstream, way
        upstream.receiver = self
        if self._client.is_full:
            upstream.pause_reading()
        head = render_request(self._head, self._client.peer, self._upgrade, self._mask_host)
        upstream.write(head)
        self._patience.start()
        self._account.received(len(head), quiet=self._permit.is_quiet)
        self._client.release()

    # From the client

    def client_data(self, data: bytes) -> None:
        if self._nap is not None:
            self._nap.parked.append(data)
            self._client.hold()
            self._wake_if_needed(self._nap)
        elif self._upstream is not None:
            self._upstream.write(data)
            self._account.received(len(data), quiet=self._permit.is_quiet)

    def client_body_end(self) -> None:
        if self._answer.progress is Progress.COMPLETE:
            self._finish()

    def client_body_broken(self, error: Invalid) -> None:
        """What was sent of it is cut off, so that the sandbox cannot take it for the whole."""
        if self._is_begun:
            self.cut()
        else:
            self.refuse(pages.malformed(error.message))

    def client_eof(self) -> bool:
        """True keeps the client's connection open for what the sandbox still sends."""
        if not self._is_tunnel or self._upstream is None or self._silent is Side.SANDBOX or self._nap is not None:
            return False
        if not self._upstream.can_write_eof:
            return False  # TLS ends both ways at once
        self._silent = Side.CLIENT
        self._upstream.write_eof()
        return True

    def client_lost(self, error: Exception | None) -> None:
        upstream = self._upstream
        self._end()
        if upstream is not None:
            if self._is_tunnel and error is None:
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
        return not self._is_tunnel

    @property
    def _is_tunnel(self) -> bool:
        return self._answer.progress is Progress.TUNNEL

    @property
    def _is_begun(self) -> bool:
        """The client has part of the sandbox's answer: nobody can answer in its place any more."""
        return self._answer.progress is not Progress.AWAITED

    # From the sandbox

    def upstream_data(self, data: bytes) -> None:
        self._account.sent(len(data), quiet=self._permit.is_quiet)
        self._patience.heard()
        was_complete = self._answer.progress is Progress.COMPLETE
        try:
            has_surplus = self._answer.take(data)
        except AnswerUnusable as error:
            self._refuse_answer(error.message)
            return
        except Invalid:
            self.cut()
            return
        if has_surplus and self._upstream is not None:
            # Whatever that is, it must not be taken for the answer to the next request.
            self._upstream.abort()
            self._upstream = None
        is_complete = self._answer.progress is Progress.COMPLETE and not was_complete
        if is_complete and (self._client.request_done or self._upstream is None):
            self._finish()

    def upstream_eof(self) -> bool:
        if not self._is_tunnel or self._silent is Side.CLIENT:
            return False
        self._silent = Side.SANDBOX
        self._client.write_eof()
        return True

    def upstream_lost(self, error: Exception | None) -> None:
        match self._answer.progress:
            case Progress.TUNNEL:
                self._end()
                if error is None:
                    self._client.close()
                else:
                    self._client.abort()
            case Progress.COMPLETE:
                self._finish()  # the answer came before the request's end, and nobody is left to take the rest
            case Progress.AWAITED:
                self._lost_before_answer()
            case Progress.PASSING if error is None and self._answer.ends_with_connection:
                self._finish()
            case Progress.PASSING:
                self.cut()  # the client must not take a part for the whole: no graceful end

    def upstream_full(self) -> None:
        self._client.stop_reading()

    def upstream_ready(self) -> None:
        self._client.resume_reading()

    def _lost_before_answer(self) -> None:
        repeatable = self._head.method in _REPEATABLE and self._head.body().done and self._upgrade is None
        if self._way is Way.REUSED and repeatable and not self._answer.has_begun:
            # It was idle and the service closed it just then: the request was not looked at.
            self._upstream, self._way = None, Way.NONE
            self._client.resume_reading()
            self._open()
            return
        self._refuse_answer("closed the connection without an answer")

    # Sleep, wake, end

    @property
    def waits_for_wake(self) -> bool:
        if self._nap is None or self._upstream is None:
            return False
        # Unacknowledged bytes left for a sandbox that fell asleep before it took them: their sender waits for an answer.
        return bool(self._nap.parked) or self._upstream.has_unacknowledged()

    def park(self, route: Route) -> None:
        if not self._obeys(route):
            return
        if self._reach is not None:
            self._reach.reconsider()
        if self._upstream is None:
            return
        if self._upstream.incarnation <= route.lost:
            self._upstream.abort()
            self.upstream_lost(ConnectionResetError())  # it sleeps at an earlier moment, which knows nothing of this connection
            return
        parked = self._nap.parked if self._nap is not None else []
        self._nap = Nap(wakes=route.wakes and not self._permit.is_quiet, parked=parked)
        self._patience.stop()
        if self.waits_for_wake:
            self._wake_if_needed(self._nap)

    def unpark(self, route: Route) -> None:
        if not self._obeys(route) or self._upstream is None:
            return
        if self._upstream.address != route.address or self._upstream.incarnation <= route.lost:
            self.cut()  # it woke up elsewhere, or is another machine: the connection leads nowhere
            return
        if self._nap is None:
            return
        nap, self._nap = self._nap, None
        self._patience.start()
        for data in nap.parked:
            self.client_data(data)
        self._client.release()

    def _obeys(self, route: Route) -> bool:
        """False when the route ended what was permitted: then the request is answered here, or cut."""
        objection = self._permit.objection(route, self._board.clock.now(), begun=self._is_begun)
        if objection is None or self._way is Way.ENDED:
            return True
        if self._is_begun:
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
        if self._is_begun:
            self.cut()
        else:
            self.refuse(pages.agent_silent(self._target.sandbox))

    def _wake_if_needed(self, nap: Nap) -> None:
        if nap.wakes:
            self._board.wake_parked(self._target.sandbox)

    def _finish(self) -> None:
        upstream, head = self._upstream, self._answer.head
        assert head is not None
        self._end()
        if upstream is not None:
            is_complete = self._client.request_done and not self._answer.ends_with_connection
            if is_complete and head.keep_alive and upstream.is_drained and self._nap is None:
                self._board.lines.give_back(upstream)
            else:
                upstream.close()
        self._client.next_request(close=self._answer.closes_client)

    def _end(self) -> None:
        if self._way is Way.ENDED:
            return
        self._way = Way.ENDED
        self._patience.stop()
        if self._reach is not None:
            self._reach.give_up()
            self._reach = None
        self._upstream = None
        self._account.ended()
        self._board.leave(self._target.sandbox, self)
