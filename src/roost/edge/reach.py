"""Getting a connection to the sandbox a request is for: find it, wake it if need be, dial it."""

from __future__ import annotations

import logging
from typing import Protocol

import anyio

from roost.domain.errors import RoostError, SandboxNotFound
from roost.edge import pages
from roost.edge.head import RequestHead
from roost.edge.pages import Answer
from roost.edge.resolve import Target
from roost.edge.switchboard import Switchboard
from roost.edge.upstream import PortClosed, Unreachable, Upstream

log = logging.getLogger(__name__)


class Caller(Protocol):
    """Exactly one of the two is called, unless the reach is given up."""

    def reached(self, upstream: Upstream) -> None: ...

    def refuse(self, answer: Answer) -> None: ...


class Reach:
    __slots__ = ("_board", "_caller", "_dialing", "_head", "_scope", "_target")

    def __init__(self, board: Switchboard, caller: Caller, head: RequestHead, target: Target) -> None:
        self._board = board
        self._caller = caller
        self._head = head
        self._target = target
        self._scope = anyio.CancelScope()
        self._dialing: anyio.CancelScope | None = None

    def start(self) -> None:
        if not self._board.spawn(self._run, f"reach {self._target.sandbox}:{self._target.port}"):
            self._caller.refuse(pages.fault(self._target.sandbox))

    def reconsider(self) -> None:
        """The route changed: a connection that is being dialled leads nowhere now."""
        if self._dialing is not None:
            self._dialing.cancel()

    def give_up(self) -> None:
        self._scope.cancel()

    async def _run(self) -> None:
        sandbox, port = self._target.sandbox, self._target.port
        with self._scope:
            try:
                upstream = await self._reach()
            except PortClosed:
                answer = pages.port_closed(sandbox, port, self._head)
            except Unreachable:
                answer = pages.no_answer(sandbox, port, self._head, f"port {port} cannot be reached")
            except RoostError as error:
                answer = pages.wake_failed(sandbox, self._head, error)
            except Exception:
                log.exception("a request for port %d of sandbox %s failed", port, sandbox)
                answer = pages.fault(sandbox)
            else:
                if self._scope.cancel_called:
                    upstream.abort()
                else:
                    self._caller.reached(upstream)
                return
            if not self._scope.cancel_called:
                self._caller.refuse(answer)

    async def _reach(self) -> Upstream:
        """A connection to the sandbox as it runs now. If it falls asleep while it is dialled, it is woken and dialled again."""
        sandbox = self._target.sandbox
        while True:
            route = self._board.routes.locate(sandbox)
            if route is None or (route.address is None and not route.wakes):
                raise SandboxNotFound(sandbox)
            if route.address is None:
                route = await self._board.waker.wake(sandbox, self._why())
            upstream: Upstream | None = None
            with anyio.CancelScope() as self._dialing:
                upstream = await self._board.lines.dial(route, self._target.port)
            self._dialing = None
            if upstream is None:
                continue
            now = self._board.routes.locate(sandbox)
            if now is not None and now.address == route.address and now.incarnation == route.incarnation:
                return upstream
            upstream.abort()

    def _why(self) -> str:
        method, path = self._head.method.decode(), self._head.target.partition(b"?")[0][:200].decode("latin-1")
        return f"{method} {path} on port {self._target.port}"
