"""Carries out what `domain.reconcile` decided. The decision may be out of date, so the record is looked at again first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from roost.contracts.clock import Clock
from roost.contracts.cluster import Cluster
from roost.contracts.store import Query, Store
from roost.control.lifecycle.flights import Flights
from roost.control.lifecycle.guard import guard
from roost.control.templates.sites import Sites
from roost.domain.ids import NodeId, SandboxId, SnapshotId
from roost.domain.lifecycle import LIVING, MOVING, ON_A_NODE, Action
from roost.domain.node import KillOrder, NodeReport
from roost.domain.reconcile import DropSnapshot, Lose, Repair, Repeat, Sweep, reconcile, stray_snapshots
from roost.domain.sandbox import Sandbox
from roost.domain.snapshot import Snapshot
from roost.telemetry.log import get_logger

log = get_logger(__name__)


class Repairs:
    def __init__(self, *, store: Store, cluster: Cluster, clock: Clock, flights: Flights, sites: Sites) -> None:
        self._store = store
        self._cluster = cluster
        self._flights = flights
        self._sites = sites
        self._clock = clock
        self._missing: frozenset[Lose] = frozenset()  # at the last look

    async def repair(self, living: Sequence[Sandbox], report: NodeReport) -> None:
        """Everything on the node is as the records say: after a start, when nobody else is about it."""
        for found in self._find(living, report):
            await guard(self.make, found, report.node)

    async def repair_what_stays(self, living: Sequence[Sandbox], report: NodeReport) -> None:
        """As `repair`, while sandboxes move. A move is repeated when it is overdue. A process that is missing may have ended a
        moment ago, with its departure still to be heard: only when it is missing twice it is lost."""
        now = self._clock.now()
        records = {record.id: record for record in living}
        found = self._find(living, report)
        missing_before, here = self._missing, {record.id for record in living if record.node == report.node}
        seen = {each for each in found if isinstance(each, Lose)}
        self._missing = frozenset({each for each in missing_before if each.sandbox not in here} | seen)
        for each in found:
            match each:
                case Repeat(sandbox):
                    operation = records[sandbox].operation
                    ripe = operation is not None and operation.deadline_at <= now
                case Lose():
                    ripe = each in missing_before
                case _:
                    ripe = True
            if ripe:
                await guard(self.make, each, report.node)

    async def drop_strays(self, report: NodeReport) -> None:
        """Snapshots on the node that nothing names are gone. The report must have been made before this is called."""
        for stray in await self.find_strays(report):
            await guard(self.make, stray, report.node)

    def _find(self, living: Sequence[Sandbox], report: NodeReport) -> list[Repair]:
        here = [record for record in living if record.node == report.node]
        return reconcile(here, report, building=self._sites.builders)

    async def make(self, repair: Repair, node: NodeId) -> None:
        """Does it, if it still applies. May be called twice. Raises what flights and node raise."""
        match repair:
            case Repeat(sandbox):
                await self._flights.repeat(sandbox)
            case Lose(sandbox, incarnation, detail):
                log.warning("a sandbox is lost", sandbox=sandbox, detail=detail)
                await self._flights.process_ended(sandbox, incarnation, Action.LOSE, detail)
            case Sweep():
                if await self._is_sweepable(repair):
                    log.info("sweeping what is left of a sandbox", sandbox=repair.sandbox)
                    order = KillOrder(repair.sandbox, repair.incarnation, asleep=repair.asleep)
                    await self._cluster.node(node).kill(order)
            case DropSnapshot(snapshot):
                if await self._is_stray(snapshot):
                    log.info("dropping a snapshot that nothing names", snapshot=snapshot)
                    await self._cluster.snapshots(node).delete_snapshot(snapshot)
            case _:
                assert_never(repair)

    async def find_strays(self, report: NodeReport) -> list[DropSnapshot]:
        """Snapshots on the node that nothing names. The report must have been made before this is called."""
        async with self._store.reading() as reader:
            entries = await reader.find(Snapshot, Query(equal={"node": report.node}))
            moving = await reader.find(Sandbox, Query(one_of={"state": sorted(MOVING)}))
        return stray_snapshots(report, [entry.id for entry in entries], moving, self._sites.unpublished)

    async def _is_sweepable(self, sweep: Sweep) -> bool:
        record = await self._read(sweep.sandbox)
        if record is None:
            return sweep.sandbox not in self._sites.builders
        if record.state not in LIVING:
            return True
        return sweep.asleep and record.state not in ON_A_NODE and record.incarnation == sweep.incarnation

    async def _is_stray(self, snapshot: SnapshotId) -> bool:
        async with self._store.reading() as reader:
            if await reader.get(Snapshot, snapshot) is not None:
                return False
            moving = await reader.find(Sandbox, Query(one_of={"state": sorted(MOVING)}))
        being_made = {record.operation.snapshot for record in moving if record.operation}
        return snapshot not in being_made and snapshot not in self._sites.unpublished

    async def _read(self, sandbox: SandboxId) -> Sandbox | None:
        async with self._store.reading() as reader:
            return await reader.get(Sandbox, sandbox)
