"""Which exchanges are open for which sandbox, and what happens to them when the sandbox sleeps, wakes or dies."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

import anyio.abc

from roost.contracts.clock import Clock
from roost.contracts.routes import Route, Routes
from roost.domain.errors import RoostError
from roost.domain.ids import SandboxId
from roost.edge.admission.signatures import Signatures
from roost.edge.ledger import TrafficLedger
from roost.edge.limits import EdgeLimits
from roost.edge.upstreams.lines import Lines
from roost.edge.upstreams.wake import Waker

log = logging.getLogger(__name__)


class OpenExchange(Protocol):
    """A request that is being relayed, as the switchboard sees it."""

    @property
    def waits_for_wake(self) -> bool:
        """It is parked and holds bytes for the sandbox."""
        ...

    def park(self, route: Route) -> None:
        """The sandbox sleeps: keep the connections, hold what the client sends."""
        ...

    def unpark(self, route: Route) -> None:
        """The sandbox runs. May be called when it never slept."""
        ...

    def sandbox_died(self) -> None:
        """The sandbox is dead: both connections end at once, not gracefully. If nothing was sent yet, the client is told."""
        ...

    def cut(self) -> None:
        """Both connections end at once, not gracefully."""
        ...


class Switchboard:
    def __init__(self, routes: Routes, ledger: TrafficLedger, clock: Clock, limits: EdgeLimits) -> None:
        self.routes = routes
        self.ledger = ledger
        self.clock = clock
        self.limits = limits
        self.lines = Lines(limits)
        self.signatures = Signatures(routes, clock, limits)
        self.waker = Waker(routes, holders=limits.wake_holders, deadline_s=limits.wake_deadline_s)
        self._open: dict[SandboxId, set[OpenExchange]] = {}
        self._waking: set[SandboxId] = set()
        self._tasks: anyio.abc.TaskGroup | None = None

    async def run(self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Carries traffic until cancelled; then everything is cut."""
        changes = self.routes.changes()
        try:
            async with anyio.create_task_group() as tasks:
                self._tasks = tasks
                task_status.started()
                async for route in changes:
                    self._apply(route.sandbox)
                tasks.cancel_scope.cancel()
        finally:
            self._tasks = None
            self.close()

    def spawn(self, work: Callable[[], Coroutine[Any, Any, None]], name: str) -> bool:
        """Runs `work` beside everything else; False when the edge does not run (any more). `work` must not raise."""
        if self._tasks is None:
            return False
        self._tasks.start_soon(work, name=name)
        return True

    def join(self, sandbox: SandboxId, exchange: OpenExchange) -> None:
        self._open.setdefault(sandbox, set()).add(exchange)

    def leave(self, sandbox: SandboxId, exchange: OpenExchange) -> None:
        exchanges = self._open.get(sandbox)
        if exchanges is not None:
            exchanges.discard(exchange)
            if not exchanges:
                del self._open[sandbox]

    def wake_parked(self, sandbox: SandboxId) -> None:
        """Wakes a sandbox for bytes that arrived on a parked connection. One flight, however many connections wait."""
        if sandbox in self._waking:
            return

        async def wake() -> None:
            try:
                await self.waker.wake(sandbox, "traffic on an open connection")
            except RoostError as error:
                log.warning("sandbox %s did not wake for traffic on an open connection: %s", sandbox, error.message)
                self._cut_waiting(sandbox)
            except Exception:
                log.exception("waking sandbox %s for traffic on an open connection failed", sandbox)
                self._cut_waiting(sandbox)
            finally:
                self._waking.discard(sandbox)
            self._apply(sandbox)

        if self.spawn(wake, f"wake {sandbox}"):
            self._waking.add(sandbox)

    def close(self) -> None:
        """Cuts everything."""
        for exchanges in list(self._open.values()):
            for exchange in list(exchanges):
                exchange.cut()
        self.lines.close()

    def _apply(self, sandbox: SandboxId) -> None:
        """Makes the open connections agree with the route as it is now; a change may be older news than that."""
        route = self.routes.locate(sandbox)
        exchanges = list(self._open.get(sandbox, ()))
        if route is None or route.address is None:
            self.lines.drop(sandbox)
        for exchange in exchanges:
            if route is None:
                exchange.sandbox_died()
            elif route.address is None:
                exchange.park(route)
            else:
                exchange.unpark(route)

    def _cut_waiting(self, sandbox: SandboxId) -> None:
        for exchange in list(self._open.get(sandbox, ())):
            if exchange.waits_for_wake:
                exchange.cut()
