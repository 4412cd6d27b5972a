"""Getting a connection to the sandbox a request is for: find it, wake it if need be, dial it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

import anyio

from roost.contracts.routes import Route
from roost.domain.errors import Conflict, Fault, RoostError, SandboxNotFound
from roost.domain.ids import SandboxId
from roost.edge import pages
from roost.edge.admission.resolve import Target
from roost.edge.http.head import RequestHead
from roost.edge.pages import ErrorAnswer
from roost.edge.switchboard import Switchboard
from roost.edge.upstreams.upstream import PortClosed, PortUnreachable, Upstream

log = logging.getLogger(__name__)


class Caller(Protocol):
    """Exactly one of the two is called, unless the reach is given up."""

    def reached(self, upstream: Upstream) -> None: ...

    def unreached(self, error: RoostError) -> None: ...


class Asleep(Conflict):
    def __init__(self, sandbox: str) -> None:
        super().__init__("asleep", f"Sandbox {sandbox} sleeps.", sandbox=sandbox)


Dial = Callable[[Route], Awaitable[Upstream]]


class Reach:
    """`why` is what a sleeping sandbox is told it was woken for; None: it is to sleep on."""

    __slots__ = ("_board", "_caller", "_dial", "_dialing", "_sandbox", "_scope", "_why")

    def __init__(self, board: Switchboard, caller: Caller, sandbox: SandboxId, why: str | None, dial: Dial) -> None:
        self._board = board
        self._caller = caller
        self._sandbox = sandbox
        self._why = why
        self._dial = dial
        self._scope = anyio.CancelScope()
        self._dialing: anyio.CancelScope | None = None

    def start(self) -> None:
        if not self._board.spawn(self._run, f"reach {self._sandbox}: {self._why or 'quietly'}"):
            self._caller.unreached(_broken(self._sandbox))

    def reconsider(self) -> None:
        """The route changed: a connection that is being dialled leads nowhere now."""
        if self._dialing is not None:
            self._dialing.cancel()

    def give_up(self) -> None:
        self._scope.cancel()

    async def _run(self) -> None:
        with self._scope:
            try:
                upstream = await self._reach()
            except RoostError as error:
                failure = error
            except Exception:
                log.exception("sandbox %s could not be reached (%s)", self._sandbox, self._why)
                failure = _broken(self._sandbox)
            else:
                if self._scope.cancel_called:
                    upstream.abort()
                else:
                    self._caller.reached(upstream)
                return
            if not self._scope.cancel_called:
                self._caller.unreached(failure)

    async def _reach(self) -> Upstream:
        """A connection to the sandbox as it runs now. If it falls asleep while it is dialled, it is woken and dialled again."""
        sandbox = self._sandbox
        while True:
            route = self._board.routes.locate(sandbox)
            if route is None or (route.address is None and not route.wakes):
                raise SandboxNotFound(sandbox)
            if route.address is None:
                if self._why is None:
                    raise Asleep(sandbox)
                route = await self._board.waker.wake(sandbox, self._why)
            upstream: Upstream | None = None
            with anyio.CancelScope() as self._dialing:
                upstream = await self._dial(route)
            self._dialing = None
            if upstream is None:
                continue
            now = self._board.routes.locate(sandbox)
            if now is not None and now.address == route.address and now.incarnation == route.incarnation:
                return upstream
            upstream.abort()


def reason_of(head: RequestHead, target: Target) -> str:
    """Why a sandbox is woken for this request."""
    method, path = head.method.decode(), head.target.partition(b"?")[0][:200].decode("latin-1")
    return f"{method} {path} on port {target.port}"


def answer_to(error: RoostError, head: RequestHead, target: Target) -> ErrorAnswer:
    """What a request is told whose sandbox was not reached."""
    match error:
        case PortClosed():
            return pages.port_closed(target.sandbox, target.port, head)
        case Asleep():
            return pages.asleep(target.sandbox)
        case PortUnreachable():
            return pages.no_answer(target.sandbox, target.port, head, f"port {target.port} cannot be reached")
        case Fault(code="edge_broke"):
            return pages.fault(target.sandbox)
        case _:
            return pages.wake_failed(target.sandbox, head, error)


def _broken(sandbox: SandboxId) -> Fault:
    return Fault("edge_broke", f"The server made a mistake while it reached for sandbox {sandbox}. Its log says what.")
