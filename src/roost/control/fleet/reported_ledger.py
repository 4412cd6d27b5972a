"""Traffic as the edge reports it: the `Ledger` of a control whose edge is another process."""

from __future__ import annotations

from dataclasses import replace

from roost.contracts.clock import Clock
from roost.contracts.ledger import Traffic
from roost.contracts.route_feed import EdgeReport, SandboxTraffic
from roost.domain.ids import LinkId, SandboxId


class ReportedLedger:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._reported: dict[SandboxId, SandboxTraffic] = {}
        self._edge: str | None = None
        self._since: float | None = None

    @property
    def known_since(self) -> float | None:
        return self._since

    def traffic(self, sandbox: SandboxId) -> Traffic:
        reported = self._reported.get(sandbox)
        return reported.traffic if reported is not None else Traffic()

    def watched_at(self, sandbox: SandboxId, link: LinkId) -> float | None:
        reported = self._reported.get(sandbox)
        return reported.watched_at.get(link) if reported is not None else None

    def forget(self, sandbox: SandboxId) -> None:
        self._reported.pop(sandbox, None)

    def edge_came(self, edge: str) -> None:
        """What the one before it knew last is kept, but for its connections: they ended with it."""
        if edge != self._edge:
            self._reported = {
                sandbox: replace(known, traffic=replace(known.traffic, open_connections=0))
                for sandbox, known in self._reported.items()
            }
        self._edge, self._since = edge, self._clock.now()

    def take(self, report: EdgeReport) -> None:
        for each in report.traffic:
            self._reported[each.sandbox] = each

    def edge_left(self, edge: str) -> None:
        if edge == self._edge:
            self._since = None
