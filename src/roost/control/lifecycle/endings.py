"""What is written beside the record when a move ends: events, the snapshot's entry, and what is to be swept away afterwards.

Pure but for `retire`, which reads and deletes inside the transaction it is handed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

from roost.contracts.store import Idempotency, Query, Reader, Transaction
from roost.domain.errors import RoostError
from roost.domain.events import Event, EventKind
from roost.domain.ids import SnapshotId
from roost.domain.lifecycle import Action, State
from roost.domain.node import Captured, KillOrder, Placed
from roost.domain.sandbox import Operation, Sandbox
from roost.domain.snapshot import Purpose, Snapshot, SnapshotKind


@dataclass(frozen=True, slots=True)
class Leftovers:
    """What a node no longer needs to keep. Should the server die before they are swept, the keeper finds them."""

    kill: KillOrder | None = None
    snapshots: tuple[SnapshotId, ...] = ()


def snapshot_record(record: Sandbox, operation: Operation, captured: Captured) -> Snapshot:
    return Snapshot(
        id=captured.snapshot,
        team=record.team,
        node=record.node,
        kind=captured.kind,
        purpose=_purpose(operation),
        template=record.template,
        created_at=captured.created_at,
        sandbox=record.id,
        parent=record.snapshot or record.origin,
        name=operation.name,
        memory_bytes=captured.memory_bytes,
        size=record.size,
        user=record.user,
        workdir=record.workdir,
        env=dict(record.env),
        has_desktop=record.has_desktop,
    )


def _purpose(operation: Operation) -> Purpose:
    if operation.action is Action.PAUSE:
        return Purpose.SLEEP
    if operation.action is Action.KILL:
        return Purpose.TRASH
    return Purpose.FORK if operation.for_fork else Purpose.KEPT


def success_event(record: Sandbox, operation: Operation, result: Placed | Captured | None, now: float) -> Event | None:
    """`record` as it is after the move. A snapshot made for a fork is no event of its own: the fork is."""
    facts: dict[str, str | int | float | bool | None] = {"why": operation.why}
    if isinstance(result, Placed):
        facts |= {"cold": result.cold, "incarnation": record.incarnation}
    if isinstance(result, Captured):
        memory = result.kind is SnapshotKind.MEMORY
        facts |= {"snapshot": result.snapshot, "memory": memory, "frozen_s": round(result.frozen_s, 3)}
    match operation.action:
        case Action.CREATE:
            facts |= {"template": record.template, "name": record.name, "parent": record.parent}
            kind = EventKind.CREATED if record.incarnation == 1 else EventKind.WOKE
        case Action.RESUME:
            kind = EventKind.WOKE
        case Action.PAUSE:
            kind = EventKind.PAUSED
        case Action.SNAPSHOT:
            if operation.for_fork:
                return None
            facts |= {"name": operation.name}
            kind = EventKind.SNAPSHOTTED
        case Action.KILL | Action.EXIT | Action.LOSE:
            return died_event(record, now)
        case _:
            assert_never(operation.action)
    return Event(kind, record.team, now, record.id, facts)


def failed_event(record: Sandbox, action: Action, error: RoostError, now: float) -> Event:
    facts = {"action": str(action), "code": error.code, "reason": error.message, "state": str(record.state)}
    return Event(EventKind.FAILED, record.team, now, record.id, facts)


def died_event(record: Sandbox, now: float) -> Event:
    facts: dict[str, str | float | None] = {"reason": record.reason}
    if record.trash is not None:
        facts |= {"kept": record.trash, "undelete_until": record.undelete_until}
    return Event(EventKind.DIED, record.team, now, record.id, facts)


def salvaged_record(record: Sandbox, kept: Captured) -> Snapshot:
    """The disk of a lost sandbox as it was last: newer than the snapshot that the sandbox falls back to."""
    return Snapshot(
        id=kept.snapshot,
        team=record.team,
        node=record.node,
        kind=kept.kind,
        purpose=Purpose.KEPT,
        template=record.template,
        created_at=kept.created_at,
        sandbox=record.id,
        parent=record.snapshot,
        size=record.size,
        user=record.user,
        workdir=record.workdir,
        env=dict(record.env),
        has_desktop=record.has_desktop,
    )


def rewound_event(record: Sandbox, *, cold: bool, disk: Captured | None, now: float) -> Event:
    facts = {
        "reason": record.reason,
        "snapshot": record.snapshot,
        "cold": cold,
        "disk": disk.snapshot if disk else None,  # where its newest files are
    }
    return Event(EventKind.REWOUND, record.team, now, record.id, facts)


async def retire(transaction: Transaction, record: Sandbox) -> tuple[SnapshotId, ...]:
    """Deletes the entries of snapshots that `record`, as just written, made pointless: older sleeps of it. One that a sandbox is
    being created from stays for the keeper to collect."""
    sleeps = await transaction.find(Snapshot, Query(equal={"sandbox": record.id, "purpose": Purpose.SLEEP}))
    retired: list[SnapshotId] = []
    for snapshot in sleeps:
        if snapshot.id != record.snapshot and not await is_being_cloned(transaction, snapshot.id):
            await transaction.delete(Snapshot, snapshot.id)
            retired.append(snapshot.id)
    return tuple(retired)


async def keep_trash(transaction: Transaction, killed: Operation) -> Snapshot | None:
    """The entry of what a killed sandbox can come back from. One that it slept in is kept for that alone from now on; one that a
    caller keeps stays the caller's."""
    entry = await transaction.get(Snapshot, killed.snapshot) if killed.snapshot else None
    if entry is None or entry.purpose is not Purpose.SLEEP:
        return entry
    return await transaction.put(replace(entry, purpose=Purpose.TRASH), expect_revision=entry.revision)


async def is_being_cloned(transaction: Reader, snapshot: SnapshotId) -> bool:
    """Whether a sandbox is being created from it right now. Once created, a clone needs its origin no longer."""
    query = Query(equal={"state": State.CREATING, "origin": snapshot}, limit=1)
    return bool(await transaction.find(Sandbox, query))


async def free_idempotency_key(transaction: Transaction, record: Sandbox) -> None:
    """A create that failed made nothing: its key may be used again."""
    for used in await transaction.find(Idempotency, Query(equal={"sandbox": record.id})):
        await transaction.delete(Idempotency, used.id)
