"""Throws away what has outlived its purpose: old records of the dead, old events, used-up keys, snapshots nobody can need."""

from __future__ import annotations

from dataclasses import replace

from roost.contracts.clock import Clock
from roost.contracts.cluster import Cluster
from roost.contracts.store import Idempotency, Query, Store, Transaction
from roost.contracts.usage import UsageLog
from roost.control.fleet.routes import RouteTable
from roost.control.lifecycle.endings import is_being_cloned
from roost.control.sandboxes.trash import Trash
from roost.domain.lifecycle import LIVING, State
from roost.domain.link import Link
from roost.domain.sandbox import Sandbox
from roost.domain.snapshot import Purpose, Snapshot
from roost.domain.template import Template
from roost.telemetry.log import get_logger

log = get_logger(__name__)

DAY_S = 24 * 3600.0
EVENT_DAYS = 90
KEPT_CHANGES = 10_000
"""Whoever follows changes and was away for longer reads the records anew."""
FORK_GRACE_S = 600.0
"""A fork's snapshot is younger than this while its children may not have been written yet."""
_BATCH = 200


class Collector:
    def __init__(
        self,
        *,
        store: Store,
        usage: UsageLog,
        cluster: Cluster,
        clock: Clock,
        routes: RouteTable,
        trash: Trash,
        retention_s: float = DAY_S,
        event_s: float = EVENT_DAYS * DAY_S,
    ) -> None:
        self._store = store
        self._usage = usage
        self._cluster = cluster
        self._clock = clock
        self._routes = routes
        self._trash = trash
        self._retention_s = retention_s
        self._event_s = event_s

    async def collect(self) -> None:
        """One round, in small transactions. May be called at any time, and twice."""
        before = self._clock.now() - self._retention_s
        await self._usage.forget_usage(before)
        await self._store.forget_events(self._clock.now() - self._event_s)
        await self._store.forget_changes(keep=KEPT_CHANGES)
        await self._trash.drop_overdue()
        await self._forget_dead(before)
        while await self._forget_keys(before):
            pass
        await self._forget_links(before)
        await self._drop_snapshots()

    async def _forget_dead(self, before: float) -> None:
        """Records of sandboxes that died before, but for those that can still come back."""
        now, query = self._clock.now(), Query(equal={"state": State.DEAD}, oldest_first=True, limit=_BATCH)
        dead: list[Sandbox] = []
        while not dead or len(dead) == _BATCH:
            async with self._store.transaction() as transaction:
                dead = await transaction.find(Sandbox, query)
                old = [record for record in dead if record.changed_at < before and (record.undelete_until or 0.0) <= now]
                for record in old:
                    await transaction.delete(Sandbox, record.id)
                    for link in await transaction.find(Link, Query(equal={"sandbox": record.id})):
                        await transaction.delete(Link, link.id)
            if not dead:
                return
            query = replace(query, after=(dead[-1].created_at, dead[-1].id))

    async def _forget_keys(self, before: float) -> bool:
        async with self._store.transaction() as transaction:
            used = await transaction.find(Idempotency, Query(oldest_first=True, limit=_BATCH))
            old = [entry for entry in used if entry.created_at < before]
            for entry in old:
                await transaction.delete(Idempotency, entry.id)
        return len(old) == _BATCH

    async def _forget_links(self, before: float) -> None:
        """Of living sandboxes: those that expired before. Until then who comes by one is told so."""
        old = [link for link in self._routes.links() if link.is_over(before)]
        async with self._store.transaction() as transaction:
            for link in old:
                await transaction.delete(Link, link.id)

    async def _drop_snapshots(self) -> None:
        purposes = sorted((Purpose.SLEEP, Purpose.FORK, Purpose.TEMPLATE))
        dropped: list[Snapshot] = []
        async with self._store.transaction() as transaction:
            for entry in await transaction.find(Snapshot, Query(one_of={"purpose": purposes})):
                if not await self._is_needed(transaction, entry) and not await is_being_cloned(transaction, entry.id):
                    await transaction.delete(Snapshot, entry.id)
                    dropped.append(entry)
        for entry in dropped:
            log.info("dropping a snapshot that nothing needs", snapshot=entry.id, purpose=entry.purpose.value)
            await self._cluster.snapshots(entry.node).delete_snapshot(entry.id)

    async def _is_needed(self, transaction: Transaction, entry: Snapshot) -> bool:
        match entry.purpose:
            case Purpose.KEPT:
                return True
            case Purpose.FORK:
                return entry.created_at > self._clock.now() - FORK_GRACE_S
            case Purpose.TEMPLATE:
                return bool(await transaction.find(Template, Query(equal={"snapshot": entry.id}, limit=1)))
            case Purpose.SLEEP:
                owner = await transaction.get(Sandbox, entry.sandbox) if entry.sandbox else None
                return owner is not None and owner.state in LIVING and owner.snapshot == entry.id
            case Purpose.TRASH | Purpose.LAYER:
                return True  # `trash` and `layers` drop them
