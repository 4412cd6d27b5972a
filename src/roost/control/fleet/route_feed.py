"""Routes for edges in other processes, and what they have acted on.

Whoever revokes something promises that it opens nothing from then on. The edge hears of it a moment later; so no answer of the
API leaves before every edge has acted on what was committed until then (`api.http.HeardByEdges`). That holds for beginnings too:
who is told of a sandbox can reach it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

import anyio

from roost.contracts.clock import Clock
from roost.contracts.route_feed import EdgeReport, RouteNews, TakesReports
from roost.control.fleet.routes import Changes, RouteTable, WakesSandboxes
from roost.domain.ids import SandboxId
from roost.telemetry.log import get_logger

HEARD_WITHIN_S = 5.0
"""An edge that does not say anything for so long is stuck: it opens nothing, and nobody is kept waiting for it."""
ROUTES_AT_ONCE = 500

log = get_logger(__name__)


class ServedRoutes:
    """The `RouteFeed` contract on the table of this process."""

    def __init__(
        self,
        *,
        table: RouteTable,
        waker: WakesSandboxes,
        clock: Clock,
        listener: TakesReports | None = None,
        heard_within_s: float = HEARD_WITHIN_S,
    ) -> None:
        self._table = table
        self._waker = waker
        self._listener = listener
        self._heard_within_s = heard_within_s
        # Positions of this life are above those of all lives before.
        self._begun = int(clock.now() * 1_000_000)
        self._edges: dict[str, _Edge] = {}
        self._expects_edge = False
        self._reported = anyio.Event()

    @property
    def position(self) -> int:
        return self._begun + self._table.announced

    async def follow(self, edge: str) -> AsyncIterator[RouteNews]:
        here = _Edge(self._table.changes())  # first: what changes while all routes are told is told again
        self._edges[edge], self._expects_edge = here, True
        if self._listener is not None:
            self._listener.edge_came(edge)
        try:
            is_first, position = True, self.position
            living = tuple(self._table.living())
            for start in range(0, len(living), ROUTES_AT_ONCE):
                yield RouteNews(None, living[start : start + ROUTES_AT_ONCE], is_first=is_first)
                is_first = False
            yield RouteNews(position, is_first=is_first)
            while True:
                changed = await here.changes.next_batch()
                yield self._news(changed)
        finally:
            if self._edges.get(edge) is here:
                del self._edges[edge]
                if self._listener is not None:
                    self._listener.edge_left(edge)
            self._tell_waiting()

    def report(self, report: EdgeReport) -> bool:
        edge = self._edges.get(report.edge)
        if edge is None:
            return False
        if self._listener is not None:
            self._listener.take(report)
        edge.heard = max(edge.heard, report.position)
        self._tell_waiting()
        return True

    async def wake(self, sandbox: SandboxId, why: str) -> int:
        await self._waker.ensure_running(sandbox, why)
        return self.position

    async def until_heard(self) -> bool:
        """Edges have acted on every route up to now. False when one is silent, or there is none; True without waiting where there
        never was one: then routes are looked up in this process."""
        position = self.position
        if self._is_heard(position):
            return True
        with anyio.move_on_after(self._heard_within_s):
            while not self._is_heard(position):
                await self._reported.wait()
            return True
        log.warning("the edge does not say that it knows the newest routes", waited_s=self._heard_within_s)
        return False

    async def refresh(self) -> bool:
        """As `until_heard`, and what edges know of traffic was reported after this was called."""
        self._table.announced += 1
        for edge in self._edges.values():
            edge.changes.nudge()
        return await self.until_heard()

    def _is_heard(self, position: int) -> bool:
        if not self._edges:
            return not self._expects_edge
        return all(edge.heard >= position for edge in self._edges.values())

    def _news(self, changed: Iterable[SandboxId]) -> RouteNews:
        found = {sandbox: self._table.locate(sandbox) for sandbox in changed}
        routes = tuple(route for route in found.values() if route is not None)
        return RouteNews(self.position, routes, tuple(sandbox for sandbox, route in found.items() if route is None))

    def _tell_waiting(self) -> None:
        self._reported.set()
        self._reported = anyio.Event()


class _Edge:
    def __init__(self, changes: Changes) -> None:
        self.changes = changes
        self.heard = -1
