"""What dead sandboxes can come back from, until its time is over or its room is needed. Coming back is in `undeletes`.

It is a snapshot for that purpose alone; the dead record names it. Dropping is the entry first, then the images: what a crash
leaves in between has no entry, and the keeper finds it.
"""

from __future__ import annotations

from dataclasses import replace

from roost.contracts.clock import Clock
from roost.contracts.cluster import Cluster
from roost.contracts.store import Query, Reader, Store
from roost.control.lifecycle.endings import is_being_cloned
from roost.domain.errors import RoostError
from roost.domain.health import is_tight
from roost.domain.ids import NodeId, SandboxId
from roost.domain.lifecycle import LIVING
from roost.domain.node import NodeReport
from roost.domain.sandbox import Sandbox
from roost.domain.snapshot import Purpose, Snapshot
from roost.telemetry.log import get_logger

AT_ONCE = 4
"""How much of it a volume that gets tight loses at each look: room comes back a while after what took it is gone."""

log = get_logger(__name__)


class Trash:
    def __init__(self, *, store: Store, cluster: Cluster, clock: Clock) -> None:
        self._store = store
        self._cluster = cluster
        self._clock = clock

    async def drop(self, sandbox: SandboxId, why: str) -> None:
        """The dead sandbox cannot come back any more. May be called twice."""
        async with self._store.reading() as reader:
            record = await reader.get(Sandbox, sandbox)
        if record is not None and record.trash is not None:
            await self._drop(record.trash, why)

    async def drop_overdue(self) -> None:
        """All whose time is over, or whose sandbox is no longer known."""
        now = self._clock.now()
        async with self._store.reading() as reader:
            overdue = [
                entry
                for entry, owner in await _all(reader)
                if owner is None or owner.trash != entry.id or (owner.undelete_until or 0.0) <= now
            ]
        for entry in overdue:
            await self._drop(entry.id, "its time is over")

    async def drop_if_tight(self, report: NodeReport) -> None:
        """The oldest few of a node whose volume is about to be full."""
        if is_tight(report):
            for entry in (await self._oldest(report.node))[:AT_ONCE]:
                await self._drop(entry.id, "its room is needed")

    async def empty(self, node: NodeId) -> bool:
        """Nothing of it is left on the node. False if there was nothing."""
        entries = await self._oldest(node)
        for entry in entries:
            await self._drop(entry.id, "its room is needed")
        return bool(entries)

    async def _oldest(self, node: NodeId) -> list[Snapshot]:
        """Of those who died first."""
        async with self._store.reading() as reader:
            found = [(entry, owner) for entry, owner in await _all(reader) if entry.node == node]
        found.sort(key=lambda each: each[1].changed_at if each[1] else 0.0)
        return [entry for entry, _ in found]

    async def _drop(self, id: str, why: str) -> None:
        async with self._store.transaction() as transaction:
            entry = await transaction.get(Snapshot, id)
            if entry is not None and await is_being_cloned(transaction, entry.id):
                return  # it comes back right now; the next round finds what is left
            owner = await transaction.get(Sandbox, entry.sandbox) if entry and entry.sandbox else None
            if owner is not None and owner.trash == id and owner.state not in LIVING:
                forgotten = replace(owner, trash=None, undelete_until=None)
                await transaction.put(forgotten, expect_revision=owner.revision)
            is_trash = entry is not None and entry.purpose is Purpose.TRASH  # a caller may keep the one that it slept in
            if entry is not None and is_trash:
                await transaction.delete(Snapshot, entry.id)
        if entry is None or not is_trash:
            return
        log.info("dropping what a dead sandbox left", snapshot=entry.id, sandbox=entry.sandbox, why=why)
        try:
            await self._cluster.snapshots(entry.node).delete_snapshot(entry.id)
        except RoostError as error:
            log.warning("images stay for the keeper to drop", snapshot=entry.id, error=str(error))


async def _all(reader: Reader) -> list[tuple[Snapshot, Sandbox | None]]:
    entries = await reader.find(Snapshot, Query(equal={"purpose": Purpose.TRASH}, oldest_first=True))
    return [(entry, await reader.get(Sandbox, entry.sandbox) if entry.sandbox else None) for entry in entries]
