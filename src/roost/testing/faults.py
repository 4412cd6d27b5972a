"""A server that dies at a named point. Wrap the node and the store, run until it dies, then start another on what is left.

"before pause", "after pause"                an order to the node: not yet given; carried out, the answer never heard
"before commit pausing", "after commit …"    a transaction that writes a sandbox in this state; or that a key is `revoked`, or
                                             `the end of a key`
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from roost.contracts.cluster import Node
from roost.contracts.snapshots import NodeSnapshots, WarmTarget
from roost.contracts.store import Change, EventQuery, Listener, Query, R, Reader, Store, Transaction
from roost.domain.events import Event
from roost.domain.file import Listing
from roost.domain.ids import SnapshotId
from roost.domain.image import ImportedImage
from roost.domain.node import (
    Captured,
    CaptureOrder,
    CreateOrder,
    Departure,
    EgressOrder,
    InformOrder,
    KillOrder,
    NodeReport,
    Placed,
    Ran,
    ResumeOrder,
    RunOrder,
)
from roost.domain.sandbox import Sandbox
from roost.domain.team import ApiKey


class ServerDied(BaseException):
    """Nobody catches it: the process it stands for is gone."""


class CrashPoint:
    def __init__(self, name: str, *, on_crash: Callable[[], None] = lambda: None) -> None:
        self.name = name
        self.was_hit = False
        self._on_crash = on_crash

    def come_to(self, name: str) -> None:
        """Dies here if this is the point. A dead server does nothing more, whatever its last blocks still try."""
        if name == self.name and not self.was_hit:
            self.was_hit = True
            self._on_crash()
        if self.was_hit:
            raise ServerDied(self.name)


class FrailNode:
    """A node whose server dies around an order."""

    def __init__(self, node: Node, point: CrashPoint) -> None:
        self._node = node
        self._point = point

    async def create(self, order: CreateOrder) -> Placed:
        self._point.come_to("before create")
        placed = await self._node.create(order)
        self._point.come_to("after create")
        return placed

    async def pause(self, order: CaptureOrder) -> Captured:
        self._point.come_to("before pause")
        captured = await self._node.pause(order)
        self._point.come_to("after pause")
        return captured

    async def resume(self, order: ResumeOrder) -> Placed:
        self._point.come_to("before resume")
        placed = await self._node.resume(order)
        self._point.come_to("after resume")
        return placed

    async def snapshot(self, order: CaptureOrder) -> Captured:
        self._point.come_to("before snapshot")
        captured = await self._node.snapshot(order)
        self._point.come_to("after snapshot")
        return captured

    async def kill(self, order: KillOrder) -> Captured | None:
        self._point.come_to("before kill")
        kept = await self._node.kill(order)
        self._point.come_to("after kill")
        return kept

    async def set_egress(self, order: EgressOrder) -> None:
        self._point.come_to("before set_egress")
        await self._node.set_egress(order)
        self._point.come_to("after set_egress")

    async def inform(self, order: InformOrder) -> bool:
        self._point.come_to("before inform")
        told = await self._node.inform(order)
        self._point.come_to("after inform")
        return told

    async def run(self, order: RunOrder) -> Ran:
        self._point.come_to("before run")
        ran = await self._node.run(order)
        self._point.come_to("after run")
        return ran

    async def report(self) -> NodeReport:
        self._point.come_to("report")
        return await self._node.report()

    def watch(self) -> AsyncIterator[Departure]:
        return self._node.watch()


class FrailSnapshots:
    """The snapshots of a node whose server dies around an order."""

    def __init__(self, snapshots: NodeSnapshots, point: CrashPoint) -> None:
        self._snapshots = snapshots
        self._point = point

    async def import_disk(self, snapshot: SnapshotId, root: str, template: str) -> Captured:
        self._point.come_to("before import_disk")
        captured = await self._snapshots.import_disk(snapshot, root, template)
        self._point.come_to("after import_disk")
        return captured

    async def resolve_image(self, reference: str) -> str:
        return await self._snapshots.resolve_image(reference)

    async def import_image(self, snapshot: SnapshotId, reference: str, template: str) -> ImportedImage:
        self._point.come_to("before import_image")
        imported = await self._snapshots.import_image(snapshot, reference, template)
        self._point.come_to("after import_image")
        return imported

    async def delete_snapshot(self, snapshot: SnapshotId) -> None:
        self._point.come_to("before delete_snapshot")
        await self._snapshots.delete_snapshot(snapshot)
        self._point.come_to("after delete_snapshot")

    async def keep_warm(self, wanted: Sequence[WarmTarget]) -> None:
        await self._snapshots.keep_warm(wanted)

    async def list_files(self, snapshot: SnapshotId, path: str) -> Listing:
        return await self._snapshots.list_files(snapshot, path)

    async def read_file(self, snapshot: SnapshotId, path: str, limit_bytes: int) -> bytes:
        return await self._snapshots.read_file(snapshot, path, limit_bytes)


class FrailStore:
    """A store whose server dies around a commit."""

    def __init__(self, store: Store, point: CrashPoint) -> None:
        self._store = store
        self._point = point

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Reader]:
        """One after the other with those who write: then whoever had a turn after a reader knows that the reader is done."""
        self._point.come_to("reading")
        async with self._store.transaction() as transaction:
            yield transaction

    def transaction(self, *, durable: bool = True) -> AbstractAsyncContextManager[Transaction]:
        return self._transaction(durable)

    @asynccontextmanager
    async def _transaction(self, durable: bool) -> AsyncIterator[Transaction]:
        written: list[str] = []
        self._point.come_to("transaction")
        async with self._store.transaction(durable=durable) as transaction:
            yield _Noting(transaction, written)
            for state in written or ["nothing of a sandbox"]:
                self._point.come_to(f"before commit {state}")
        for state in written:
            self._point.come_to(f"after commit {state}")

    async def events(self, query: EventQuery) -> list[Event]:
        return await self._store.events(query)

    async def changes(self, after: int, *, wait: bool = False, limit: int = 100) -> list[Change]:
        return await self._store.changes(after, wait=wait, limit=limit)

    async def last_change(self) -> int:
        return await self._store.last_change()

    def subscribe(self, listener: Listener) -> None:
        """A dead server hears nothing."""

        def while_alive(changes: Sequence[Change]) -> None:
            if not self._point.was_hit:
                listener(changes)

        self._store.subscribe(while_alive)

    async def forget_changes(self, keep: int) -> None:
        await self._store.forget_changes(keep)

    async def forget_events(self, before: float) -> None:
        await self._store.forget_events(before)

    async def migrate(self) -> None:
        await self._store.migrate()

    async def close(self) -> None:
        await self._store.close()


class _Noting:
    """A transaction that notes which states of sandboxes it writes."""

    def __init__(self, transaction: Transaction, written: list[str]) -> None:
        self._transaction = transaction
        self._written = written

    async def get(self, kind: type[R], id: str) -> R | None:
        return await self._transaction.get(kind, id)

    async def find(self, kind: type[R], query: Query) -> list[R]:
        return await self._transaction.find(kind, query)

    async def put(self, record: R, *, expect_revision: int | None) -> R:
        if isinstance(record, Sandbox):
            self._written.append(record.state)
        elif isinstance(record, ApiKey) and record.revoked_at is not None:
            self._written.append("revoked")
        return await self._transaction.put(record, expect_revision=expect_revision)

    async def delete(self, kind: type[R], id: str) -> bool:
        if kind is ApiKey:
            self._written.append("the end of a key")
        return await self._transaction.delete(kind, id)

    async def append(self, event: Event) -> Event:
        return await self._transaction.append(event)
