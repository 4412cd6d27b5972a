"""Carries out what `domain.reconcile` decided. The decision may be out of date, so the record is looked at again first."""

from __future__ import annotations

from typing import assert_never

from roost.contracts.cluster import Cluster
from roost.contracts.store import Query, Store
from roost.control.flights import Flights
from roost.control.templates import Templates
from roost.domain.ids import NodeId, SandboxId, SnapshotId
from roost.domain.lifecycle import LIVING, MOVING, ON_A_NODE, Action
from roost.domain.node import KillOrder, NodeReport
from roost.domain.reconcile import DropSnapshot, Lose, Repair, Repeat, Sweep, stray_snapshots
from roost.domain.sandbox import Sandbox
from roost.domain.snapshot import Snapshot
from roost.telemetry.log import get_logger

log = get_logger(__name__)


class Repairs:
    def __init__(self, *, store: Store, cluster: Cluster, flights: Flights, templates: Templates) -> None:
        self._store = store
        self._cluster = cluster
        self._flights = flights
        self._templates = templates

    async def make(self, repair: Repair, node: NodeId) -> None:
        """Does it, if it still applies. May be called twice. Raises what flights and node raise."""
        match repair:
            case Repeat(sandbox):
                await self._flights.repeat(sandbox)
            case Lose(sandbox, incarnation, detail):
                log.warning("a sandbox is lost", sandbox=sandbox, detail=detail)
                await self._flights.befall(sandbox, incarnation, Action.LOSE, detail)
            case Sweep():
                if await self._is_sweepable(repair):
                    log.info("sweeping what is left of a sandbox", sandbox=repair.sandbox)
                    order = KillOrder(repair.sandbox, repair.incarnation, asleep=repair.asleep)
                    await self._cluster.node(node).kill(order)
            case DropSnapshot(snapshot):
                if await self._is_stray(snapshot):
                    log.info("dropping a snapshot that nothing names", snapshot=snapshot)
                    await self._cluster.node(node).delete_snapshot(snapshot)
            case _:
                assert_never(repair)

    async def find_strays(self, report: NodeReport) -> list[DropSnapshot]:
        """Snapshots on the node that nothing names. The report must have been made before this is called."""
        async with self._store.transaction() as transaction:
            entries = await transaction.find(Snapshot, Query(equal={"node": report.node}))
            moving = await transaction.find(Sandbox, Query(one_of={"state": sorted(MOVING)}))
        return stray_snapshots(report, [entry.id for entry in entries], moving, self._templates.unpublished)

    async def _is_sweepable(self, sweep: Sweep) -> bool:
        record = await self._read(sweep.sandbox)
        if record is None:
            return sweep.sandbox not in self._templates.building
        if record.state not in LIVING:
            return True
        return sweep.asleep and record.state not in ON_A_NODE and record.incarnation == sweep.incarnation

    async def _is_stray(self, snapshot: SnapshotId) -> bool:
        async with self._store.transaction() as transaction:
            if await transaction.get(Snapshot, snapshot) is not None:
                return False
            moving = await transaction.find(Sandbox, Query(one_of={"state": sorted(MOVING)}))
        being_made = {record.operation.snapshot for record in moving if record.operation}
        return snapshot not in being_made and snapshot not in self._templates.unpublished

    async def _read(self, sandbox: SandboxId) -> Sandbox | None:
        async with self._store.transaction() as transaction:
            return await transaction.get(Sandbox, sandbox)
