"""How the edge learns where a sandbox is, and wakes it. The edge keeps no truth of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from roost.domain.ids import SandboxId, TeamId
from roost.domain.link import Link
from roost.domain.sandbox import PUBLIC, Driver, Ingress


@dataclass(frozen=True, slots=True)
class Route:
    """Where a sandbox is now and who may talk to it."""

    sandbox: SandboxId
    team: TeamId
    incarnation: int
    address: str | None  # None: asleep, or between two states
    access_token: str = field(repr=False)
    wakes: bool  # traffic may wake it
    ingress: Ingress = PUBLIC
    driver: Driver | None = None  # the person who drives now
    links: Mapping[str, Link] = field(default_factory=dict)  # by digest; those that expired stay for a while
    is_still: bool = False  # held still by its node for a while: it cannot answer, and will
    lost: int = 0  # the newest incarnation whose process was lost: connections to it, or to an earlier one, lead nowhere


class Routes(Protocol):
    def locate(self, sandbox: str) -> Route | None:
        """The route now, by id or None when there is no such living sandbox. Never blocks: answered from memory."""
        ...

    def living(self) -> Iterable[Route]:
        """Every route now, of those that sleep too, in no order. Read it to its end before anything else runs."""
        ...

    async def wake(self, sandbox: SandboxId, why: str) -> Route:
        """The sandbox runs and the route has its address. Calls at the same time share one flight.
        Raises SandboxNotFound, SandboxDead, TimedOut, Unavailable, or what resume raises."""
        ...

    def changes(self) -> AsyncIterator[Route]:
        """Every change of a route from now on; address None when it sleeps or ends. A route may come again unchanged, when time
        ended one of its links. For cutting or parking open connections."""
        ...
