"""How routes get to an edge in another process, and how traffic gets back: one feed, with a position that both sides know.

Control tells all routes once and then every change. The edge says how far it has acted on them; whoever changed something that
must hold at once waits for that (`control/fleet/route_feed.py`). What the edge says of traffic comes with the same word.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from roost.contracts.ledger import Traffic
from roost.contracts.routes import Route
from roost.domain.ids import LinkId, SandboxId


@dataclass(frozen=True, slots=True)
class RouteNews:
    """Routes as they are now."""

    position: int | None  # whoever knows this knows everything up to here; None: more of the same comes first
    routes: tuple[Route, ...] = ()
    gone: tuple[SandboxId, ...] = ()
    is_first: bool = False  # nothing that was known before counts any more


@dataclass(frozen=True, slots=True)
class SandboxTraffic:
    sandbox: SandboxId
    traffic: Traffic
    watched_at: Mapping[LinkId, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EdgeReport:
    """An edge has acted on all routes up to a position, and this is all traffic there was before it said so."""

    edge: str
    position: int
    traffic: tuple[SandboxTraffic, ...] = ()  # of those where it changed since the last report


class RouteFeed(Protocol):
    """What an edge asks of control."""

    def follow(self, edge: str) -> AsyncIterator[RouteNews]:
        """All routes, then every change in order, merged if the reader is slow. Positions grow, over control's lives too. Raises
        Unavailable when control ends: ask again."""
        ...

    def report(self, report: EdgeReport) -> bool:
        """False when it could not be sent. Never blocks."""
        ...

    async def wake(self, sandbox: SandboxId, why: str) -> int:
        """The sandbox runs; the position by which its route says so. Raises as `Routes.wake`. May be called twice."""
        ...


class TakesReports(Protocol):
    """Whoever wants to know what edges report. Nothing here blocks."""

    def edge_came(self, edge: str) -> None: ...

    def take(self, report: EdgeReport) -> None: ...

    def edge_left(self, edge: str) -> None: ...
