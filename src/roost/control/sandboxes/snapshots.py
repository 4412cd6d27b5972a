"""Snapshots that callers keep: take, list, delete."""

from __future__ import annotations

from dataclasses import replace

from roost.contracts.clock import Clock
from roost.contracts.cluster import Cluster
from roost.contracts.store import Query, Reader, Store, Transaction
from roost.control.lifecycle.endings import is_being_cloned
from roost.control.lifecycle.flights import Flights
from roost.control.lifecycle.moves import Intent
from roost.control.sandboxes.checks import check_snapshot_name
from roost.control.sandboxes.pages import Page, read_page
from roost.control.sandboxes.references import find_sandbox, find_snapshot
from roost.domain.access import Principal, Verb, within
from roost.domain.errors import RoostError, SnapshotInUse, SnapshotNameTaken, SnapshotNotFound
from roost.domain.events import Event, EventKind
from roost.domain.file import Listing
from roost.domain.ids import SnapshotId, TeamId
from roost.domain.lifecycle import ASLEEP, LIVING, Action
from roost.domain.sandbox import Sandbox
from roost.domain.snapshot import Purpose, Snapshot
from roost.domain.template import Template
from roost.telemetry.log import get_logger

LARGEST_FILE_BYTES = 5 * 1024**2

log = get_logger(__name__)


class Snapshots:
    def __init__(self, *, store: Store, cluster: Cluster, clock: Clock, flights: Flights) -> None:
        self._store = store
        self._cluster = cluster
        self._clock = clock
        self._flights = flights

    async def take(
        self, principal: Principal, ref: str, *, name: str | None = None, keep_memory: bool = True, take_name_over: bool = False
    ) -> Snapshot:
        """A moment of the sandbox, kept until deleted. A running sandbox goes on; of a sleeping one it is the snapshot it sleeps
        in. With `take_name_over` an older snapshot of that name loses it. Raises Invalid, SnapshotNameTaken, SandboxNotFound,
        SandboxDead, or what the node raises."""
        check_snapshot_name(name)
        async with self._store.reading() as reader:
            record = await find_sandbox(reader, principal, ref, Verb.CHANGE)
            # Names are the team's: who is there for one sandbox takes none away from others.
            take_over = take_name_over and principal.scope.sandbox is None
            await self._check_free(reader, record.team, name, take_over=take_over)
        outcome = await self._flights.ask(Intent(record.id, Action.SNAPSHOT, keep_memory=keep_memory, name=name))
        if outcome.snapshot is None:
            raise SnapshotNotFound(outcome.sandbox.snapshot or record.id)
        return await self._keep(outcome.snapshot.id, name)

    async def list(
        self,
        principal: Principal,
        *,
        sandbox: str | None = None,
        name: str | None = None,
        kept_only: bool = False,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[Snapshot]:
        """The team's, newest first; of one sandbox, also of a dead one, if named; `kept_only`: without those that sandboxes sleep
        in."""
        visible = {"purpose": [Purpose.KEPT] if kept_only else sorted((Purpose.KEPT, Purpose.SLEEP))}
        async with self._store.reading() as reader:
            equal = within(principal, "sandbox") | ({"name": name} if name is not None else {})
            if sandbox is not None:
                equal["sandbox"] = (await find_sandbox(reader, principal, sandbox, Verb.LOOK)).id
            query = Query(equal=equal, one_of=visible)
            return await read_page(reader, Snapshot, query, limit=limit, cursor=cursor)

    async def get(self, principal: Principal, ref: str) -> Snapshot:
        async with self._store.reading() as reader:
            return await find_snapshot(reader, principal, ref, Verb.LOOK)

    async def files(self, principal: Principal, ref: str, path: str) -> Listing:
        """What a directory of it holds. Raises SnapshotNotFound, NotFound, Invalid."""
        snapshot = await self.get(principal, ref)
        return await self._cluster.snapshots(snapshot.node).list_files(snapshot.id, path)

    async def file(self, principal: Principal, ref: str, path: str) -> bytes:
        """A file of it, unless it is too large to be handed over whole. Raises SnapshotNotFound, NotFound, Invalid."""
        snapshot = await self.get(principal, ref)
        return await self._cluster.snapshots(snapshot.node).read_file(snapshot.id, path, LARGEST_FILE_BYTES)

    async def delete(self, principal: Principal, ref: str) -> None:
        """Gone afterwards. Sandboxes made from it do not need it. Raises SnapshotNotFound, SnapshotInUse."""
        async with self._store.transaction() as transaction:
            snapshot = await find_snapshot(transaction, principal, ref, Verb.CHANGE)
            await self._check_unused(transaction, snapshot)
            await transaction.delete(Snapshot, snapshot.id)
            await self._forget_rewind(transaction, snapshot)
            facts = {"snapshot": snapshot.id, "name": snapshot.name}
            event = Event(EventKind.SNAPSHOT_DELETED, snapshot.team, self._clock.now(), snapshot.sandbox, facts)
            await transaction.append(event)
        try:
            await self._cluster.snapshots(snapshot.node).delete_snapshot(snapshot.id)
        except RoostError as error:  # its entry is gone, so the keeper finds the images and drops them
            log.warning("images stay for the keeper to drop", snapshot=snapshot.id, error=str(error))

    async def _keep(self, id: SnapshotId, name: str | None) -> Snapshot:
        """A sleep's snapshot becomes the caller's as well; one just taken is so already."""
        async with self._store.transaction() as transaction:
            snapshot = await transaction.get(Snapshot, id)
            if snapshot is None:
                raise SnapshotNotFound(id)
            if name is not None:
                await self._unname_others(transaction, snapshot, name)
            kept = replace(snapshot, purpose=Purpose.KEPT, name=name if name is not None else snapshot.name)
            if kept == snapshot:
                return snapshot
            return await transaction.put(kept, expect_revision=snapshot.revision)

    async def _unname_others(self, transaction: Transaction, newest: Snapshot, name: str) -> None:
        for other in await transaction.find(Snapshot, Query(equal={"team": newest.team, "name": name})):
            if other.id != newest.id:
                await transaction.put(replace(other, name=None), expect_revision=other.revision)

    async def _check_free(self, transaction: Reader, team: TeamId, name: str | None, *, take_over: bool) -> None:
        """A name means one thing: sandboxes are created from snapshots and templates by name."""
        if name is None:
            return
        held = [] if take_over else await transaction.find(Snapshot, Query(equal={"team": team, "name": name}, limit=1))
        for holder in held:
            raise SnapshotNameTaken(name, f"snapshot {holder.id}")
        for template in await transaction.find(Template, Query(equal={"name": name})):
            if template.team in (None, team):
                raise SnapshotNameTaken(name, f"template {template.id}")

    async def _check_unused(self, transaction: Transaction, snapshot: Snapshot) -> None:
        needing = Query(equal={"snapshot": snapshot.id}, one_of={"state": sorted(ASLEEP)}, limit=1)
        for sandbox in await transaction.find(Sandbox, needing):
            raise SnapshotInUse(snapshot.id, f"sandbox {sandbox.id}, which sleeps in it")
        for template in await transaction.find(Template, Query(equal={"snapshot": snapshot.id}, limit=1)):
            raise SnapshotInUse(snapshot.id, f"template {template.name!r}")
        if await is_being_cloned(transaction, snapshot.id):
            raise SnapshotInUse(snapshot.id, "a sandbox that is being created from it")

    async def _forget_rewind(self, transaction: Transaction, snapshot: Snapshot) -> None:
        """A running sandbox that would have fallen back to it falls back to the one before, if there is one."""
        query = Query(equal={"snapshot": snapshot.id}, one_of={"state": sorted(LIVING)})
        for record in await transaction.find(Sandbox, query):
            older = Query(equal={"sandbox": record.id}, one_of={"purpose": sorted((Purpose.KEPT, Purpose.SLEEP))}, limit=1)
            newest = await transaction.find(Snapshot, older)
            left = replace(record, snapshot=newest[0].id if newest else None)
            await transaction.put(left, expect_revision=record.revision)
