"""The one writer of `state`: how a move begins and how it ends, each in one transaction.

    begin    compare-and-set into the state on the way, with the operation, committed before work leaves the process
    finish   compare-and-set out again, with the snapshot's entry and the event; fail likewise
    happen   a process ended or was found missing, and nobody asked

An end is written only if the record still tells of the same operation and incarnation. Who works in between, and who waits for
it, is in `flights`. Callers hold the sandbox's lock.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import assert_never

from roost.contracts.clock import Clock
from roost.contracts.store import Store, Transaction
from roost.control.lifecycle.endings import (
    Leftovers,
    died_event,
    failed_event,
    free_idempotency_key,
    keep_trash,
    retire,
    rewound_event,
    salvaged_record,
    snapshot_record,
    success_event,
)
from roost.control.people.hands import Why, leave
from roost.domain import ids
from roost.domain.errors import Fault, RoostError
from roost.domain.ids import SandboxId, SnapshotId
from roost.domain.lifecycle import ASLEEP, MOVES, Action, State, Verdict, verdict
from roost.domain.node import Captured, CaptureOrder, KillOrder, Placed
from roost.domain.sandbox import Operation, Sandbox, Size
from roost.domain.snapshot import Snapshot, SnapshotKind


@dataclass(frozen=True, slots=True)
class MoveLimits:
    """How long a move may take before its caller is told so, and how often it is tried before it counts as failed."""

    start_s: float = 120.0  # create, resume
    capture_s: float = 300.0  # pause, snapshot; and more for more memory
    capture_mb_per_s: float = 50.0
    kill_s: float = 60.0
    tries: int = 3
    healthy_s: float = 60.0  # a boot after a loss that lasts this long was worth it
    trash_s: float = 24 * 3600.0  # for so long a dead sandbox can come back; 0: never

    def of(self, action: Action, size: Size) -> float:
        match action:
            case Action.CREATE | Action.RESUME:
                return self.start_s
            case Action.PAUSE | Action.SNAPSHOT:
                return self.capture_s + size.memory_mb / self.capture_mb_per_s
            case Action.KILL | Action.EXIT | Action.LOSE:
                return self.kill_s
            case _:
                assert_never(action)


@dataclass(frozen=True, slots=True)
class Intent:
    """What somebody wants of a living sandbox."""

    sandbox: SandboxId
    action: Action
    why: str = "api"
    keep_memory: bool = True
    name: str | None = None  # snapshot
    for_fork: bool = False  # snapshot
    keep: bool = False  # kill: what it can come back from


@dataclass(frozen=True, slots=True)
class NewSandbox:
    """A sandbox to be. Its state, incarnation and operation are set by the move that creates it."""

    draft: Sandbox
    cold: bool = False
    why: str = "api"


@dataclass(frozen=True, slots=True)
class Ended:
    """A move's end as it was written, and what is to be swept away now."""

    sandbox: Sandbox
    snapshot: Snapshot | None = None
    leftovers: Leftovers = field(default_factory=Leftovers)


@dataclass(frozen=True, slots=True)
class Salvage:
    """What is left of a sandbox whose process was lost."""

    disk_survives: bool = False
    kept: Captured | None = None  # its disk as it was, in a snapshot: the sandbox itself falls back to an older one


class Moves:
    def __init__(self, *, store: Store, clock: Clock, random: ids.Random, limits: MoveLimits | None = None) -> None:
        self._store = store
        self._clock = clock
        self._random = random
        self.limits = limits or MoveLimits()

    # Beginning

    async def add(self, transaction: Transaction, new: NewSandbox) -> Sandbox:
        """Writes a sandbox that is being created. Raises NameTaken."""
        now = self._clock.now()
        operation = self._operation(Action.CREATE, new.draft.size, keep_memory=not new.cold, why=new.why)
        record = replace(
            new.draft,
            state=MOVES[Action.CREATE].via,
            incarnation=1,
            created_at=now,
            started_at=now,
            changed_at=now,
            operation=operation,
        )
        return await transaction.put(record, expect_revision=None)

    async def begin(self, transaction: Transaction, record: Sandbox, intent: Intent) -> Sandbox:
        """Writes that the move is under way. The verdict was *go*."""
        move = MOVES[intent.action]
        snapshot, keep_memory = None, intent.keep_memory
        if intent.action is Action.KILL:  # from here on its screen is dark
            record = await leave(transaction, record, Why.KILLED, self._clock.now())
        if move.needs_snapshot:
            snapshot = ids.new_snapshot_id(self._random)
        elif intent.action is Action.RESUME and record.snapshot:
            snapshot = record.snapshot
            entry = await transaction.get(Snapshot, snapshot)
            keep_memory = keep_memory and (entry is None or entry.kind is SnapshotKind.MEMORY)
        elif intent.action is Action.KILL and intent.keep:
            snapshot, keep_memory = self._trash_of(record), False
        operation = self._operation(intent.action, record.size, keep_memory=keep_memory, why=intent.why)
        operation = replace(operation, snapshot=snapshot, name=intent.name, for_fork=intent.for_fork)
        begun = replace(
            record,
            state=move.via,
            changed_at=operation.started_at,
            incarnation=record.incarnation + 1 if move.new_incarnation else record.incarnation,
            endpoint=None if move.new_incarnation else record.endpoint,
            operation=operation,
        )
        return await transaction.put(begun, expect_revision=record.revision)

    async def point_at(self, transaction: Transaction, record: Sandbox, snapshot: SnapshotId) -> Sandbox:
        """A sandbox that sleeps wakes from another snapshot next. It sleeps on: no state changes."""
        return await transaction.put(replace(record, snapshot=snapshot, reason=None), expect_revision=record.revision)

    async def place(self, found: Sandbox, endpoint: str) -> None:
        """The process that stands behind it answers there: what a server that starts finds. No state changes."""
        async with self._store.transaction() as transaction:
            record = await transaction.get(Sandbox, found.id)
            if record is not None and record.incarnation == found.incarnation and record.endpoint != endpoint:
                await transaction.put(replace(record, endpoint=endpoint), expect_revision=record.revision)

    def _trash_of(self, record: Sandbox) -> SnapshotId | None:
        """The snapshot that a sandbox can come back from once it is dead: the one it sleeps in, or one yet to be made of its
        disk. One that never came to life has nothing to keep."""
        if self.limits.trash_s <= 0 or (record.state is State.CREATING and record.incarnation == 1):
            return None
        return record.snapshot if record.state in ASLEEP else ids.new_snapshot_id(self._random)

    def salvage_order(self, record: Sandbox) -> CaptureOrder:
        """To keep the disk of a sandbox whose process is gone."""
        return CaptureOrder(
            record.id,
            record.incarnation,
            ids.new_snapshot_id(self._random),
            parent=record.snapshot or record.origin,
            template=record.template,
            keep_memory=False,
        )

    def _operation(self, action: Action, size: Size, *, keep_memory: bool, why: str) -> Operation:
        now = self._clock.now()
        return Operation(action, now, now + self.limits.of(action, size), keep_memory=keep_memory, why=why)

    # Finishing

    async def finish(self, begun: Sandbox, result: Placed | Captured | None) -> Ended | None:
        """The work of the move that `begun` tells of is done. None, and nothing changed, if it is no longer the record's move."""
        now = self._clock.now()
        async with self._store.transaction() as transaction:
            record = await transaction.get(Sandbox, begun.id)
            if record is None or not tells_of_same_move(record, begun):
                return None
            operation = _operation_of(record)
            if operation.action is Action.KILL:
                record = await leave(transaction, record, Why.KILLED, now)
            entry = None
            if isinstance(result, Captured):
                entry = await transaction.put(snapshot_record(record, operation, result), expect_revision=None)
            finished = self._finished(record, operation, now)
            if isinstance(result, Placed):
                finished = replace(finished, endpoint=result.endpoint)
            if operation.action is Action.KILL and (kept := await keep_trash(transaction, operation)):
                finished = replace(finished, trash=kept.id, undelete_until=now + self.limits.trash_s)
            ended = await transaction.put(finished, expect_revision=record.revision)
            if event := success_event(ended, operation, result, now):
                await transaction.append(event)
            leftovers = Leftovers()
            if ended.snapshot != record.snapshot:
                leftovers = Leftovers(snapshots=await retire(transaction, ended))
        if operation.action is Action.PAUSE:
            leftovers = replace(leftovers, kill=KillOrder(ended.id, ended.incarnation, asleep=True))
        return Ended(ended, entry, leftovers)

    def _finished(self, record: Sandbox, operation: Operation, now: float) -> Sandbox:
        match operation.action:
            case Action.CREATE:
                ended = replace(record, started_at=now, expires_at=_expiry(record, now))
            case Action.RESUME:
                ended = replace(record, started_at=now, expires_at=_expiry(record, now), reason=None)
            case Action.PAUSE:
                ended = replace(record, snapshot=operation.snapshot, expires_at=None, endpoint=None)
            case Action.SNAPSHOT:
                ended = record if operation.for_fork else replace(record, snapshot=operation.snapshot)
            case Action.KILL:
                return _dead(record, operation.why, now)
            case Action.EXIT | Action.LOSE:
                raise Fault("not_a_move", f"{operation.action} is a fact about a sandbox, no move.")
            case unknown:
                assert_never(unknown)
        return replace(ended, state=MOVES[operation.action].success, operation=None, changed_at=now)

    async def fail(self, begun: Sandbox, error: RoostError, *, lost: bool, salvage: Salvage) -> Ended | None:
        """The work failed; `lost` if the sandbox's process is gone. None, and nothing changed, if it is no longer the record's
        move."""
        now = self._clock.now()
        async with self._store.transaction() as transaction:
            record = await transaction.get(Sandbox, begun.id)
            if record is None or not tells_of_same_move(record, begun):
                return None
            action = _operation_of(record).action
            if record.reason != error.message:  # a kill that is repeated every few seconds fails once, as far as people care
                await transaction.append(failed_event(record, action, error, now))
            if lost:
                return await self._fall(transaction, record, Action.LOSE, error.message, salvage)
            return await self._go_back(transaction, record, action, error.message)

    async def process_ended(
        self, sandbox: SandboxId, incarnation: int, fact: Action, detail: str, salvage: Salvage
    ) -> Ended | None:
        """A process ended (exit) or was found missing (lose). None if nothing follows: it is old news."""
        async with self._store.transaction() as transaction:
            record = await transaction.get(Sandbox, sandbox)
            if record is None or record.incarnation != incarnation:
                return None
            return await self._fall(transaction, record, fact, detail, salvage)

    async def _go_back(self, transaction: Transaction, record: Sandbox, action: Action, reason: str) -> Ended:
        """To where the table leads a move that failed."""
        match MOVES[action].failure:
            case State.DEAD:
                return await self._die(transaction, record, reason)
            case State.KILLING:
                back = replace(record, reason=reason)  # the operation stays: the keeper repeats it
            case state:
                back = replace(record, state=state, operation=None, changed_at=self._clock.now())
        return Ended(await transaction.put(back, expect_revision=record.revision))

    async def _fall(self, transaction: Transaction, record: Sandbox, fact: Action, detail: str, salvage: Salvage) -> Ended | None:
        match verdict(record.state, fact):
            case Verdict.IGNORE:
                return None
            case Verdict.DIE:
                return await self._die(transaction, record, detail)
            case Verdict.REPAUSE:
                back = replace(record, state=State.PAUSED, operation=None, changed_at=self._clock.now())
                return Ended(await transaction.put(back, expect_revision=record.revision))
            case Verdict.REWIND:
                if record.snapshot is None and not (salvage.disk_survives and self._is_worth_booting(record)):
                    return await self._die(transaction, record, detail)
                return await self._rewind(transaction, record, detail, salvage.kept)
            case Verdict.GO | Verdict.JOIN | Verdict.WAIT | Verdict.ALREADY | Verdict.REFUSE:
                raise Fault("not_a_fact", f"{fact} is asked for; it is no fact about a sandbox.")
            case unknown:
                assert_never(unknown)

    def _is_worth_booting(self, record: Sandbox) -> bool:
        """Not if its disk was booted after a loss just now and that ended in another: it would go on for ever."""
        was_lost_before = record.reason is not None
        return not was_lost_before or self._clock.now() - record.started_at >= self.limits.healthy_s

    async def _rewind(self, transaction: Transaction, record: Sandbox, detail: str, kept: Captured | None) -> Ended:
        """Back to the last snapshot, asleep. Without one: the disk that survived boots, as a sandbox that is created again."""
        now = self._clock.now()
        back = replace(
            record, operation=None, reason=detail, expires_at=None, changed_at=now, endpoint=None, lost=record.incarnation
        )
        leftovers = Leftovers()
        if record.snapshot is not None:
            back = replace(back, state=State.PAUSED)
            leftovers = Leftovers(kill=KillOrder(record.id, record.incarnation))
        else:
            booting = self._operation(Action.CREATE, record.size, keep_memory=False, why="its process was lost")
            via = MOVES[Action.CREATE].via
            back = replace(back, state=via, incarnation=record.incarnation + 1, operation=booting)
        back = await transaction.put(back, expect_revision=record.revision)
        if kept is not None:
            await transaction.put(salvaged_record(record, kept), expect_revision=None)
        await transaction.append(rewound_event(back, cold=record.snapshot is None, disk=kept, now=now))
        return Ended(back, leftovers=leftovers)

    async def _die(self, transaction: Transaction, record: Sandbox, reason: str) -> Ended:
        now = self._clock.now()
        record = await leave(transaction, record, Why.DIED, now)
        dead = await transaction.put(_dead(record, reason, now), expect_revision=record.revision)
        await transaction.append(died_event(dead, now))
        if record.operation and record.operation.action is Action.CREATE:
            await free_idempotency_key(transaction, record)
        retired = await retire(transaction, dead)
        return Ended(dead, leftovers=Leftovers(KillOrder(record.id, record.incarnation), retired))


def tells_of_same_move(record: Sandbox, begun: Sandbox) -> bool:
    """Whether neither another move nor another incarnation came between."""
    return record.operation == begun.operation and record.incarnation == begun.incarnation


def _operation_of(record: Sandbox) -> Operation:
    assert record.operation is not None, "a record that tells of a move has its operation"
    return record.operation


def _expiry(record: Sandbox, now: float) -> float | None:
    return None if record.policy.timeout_s is None else now + record.policy.timeout_s


def _dead(record: Sandbox, reason: str, now: float) -> Sandbox:
    return replace(
        record,
        state=State.DEAD,
        operation=None,
        endpoint=None,
        snapshot=None,
        expires_at=None,
        hold=None,
        reason=reason,
        changed_at=now,
    )
