"""What the records say against what a node found: the repairs that follow, as data. The keeper carries them out.

The records were read before the node looked, so a repair may be out of date by the time it is done. Whoever carries it out
looks at the record again first; every repair is harmless when repeated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import assert_never

from roost.domain.ids import SandboxId, SnapshotId
from roost.domain.lifecycle import State
from roost.domain.node import NodeReport, Presence
from roost.domain.sandbox import Sandbox

EVERY_INCARNATION = 2**31 - 1
"""For killing what is left of a sandbox that has no record to say how often it lived."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """A move is under way that no flight in this process carries: order it again and finish it."""

    sandbox: SandboxId


@dataclass(frozen=True, slots=True)
class Lose:
    """It should run, and nothing runs."""

    sandbox: SandboxId
    incarnation: int
    detail: str


@dataclass(frozen=True, slots=True)
class Sweep:
    """Something stands or lies on the node that no living sandbox needs."""

    sandbox: SandboxId
    incarnation: int  # of this and older ones
    asleep: bool  # its sandbox sleeps: keep what a sleeper keeps


@dataclass(frozen=True, slots=True)
class DropSnapshot:
    """Images on the node that no record and no move names."""

    snapshot: SnapshotId


Repair = Repeat | Lose | Sweep | DropSnapshot


def reconcile(living: Iterable[Sandbox], report: NodeReport, *, building: frozenset[SandboxId] = frozenset()) -> list[Repair]:
    """The repairs for one node. `living` are its living records; `building` are sandboxes on it that have none on purpose."""
    records = {record.id: record for record in living}
    present = {presence.sandbox: presence for presence in report.present}
    repairs = [repair for record in records.values() for repair in _compare(record, present.get(record.id), report)]
    for sandbox, presence in present.items():
        if sandbox not in records and sandbox not in building:
            repairs.append(Sweep(sandbox, presence.incarnation, asleep=False))
    strays = (report.surviving_disks | report.dozing.keys()) - records.keys() - present.keys() - building
    repairs += [Sweep(sandbox, EVERY_INCARNATION, asleep=False) for sandbox in sorted(strays)]
    return repairs


def stray_snapshots(
    report: NodeReport, recorded: Iterable[SnapshotId], living: Iterable[Sandbox], building: frozenset[SnapshotId]
) -> list[DropSnapshot]:
    """Snapshots on the node that nothing names. One that a move under way is making will be named when the move ends."""
    named = set(recorded) | building
    named |= {record.operation.snapshot for record in living if record.operation and record.operation.snapshot}
    return [DropSnapshot(snapshot) for snapshot in sorted(report.snapshots - named)]


def _compare(record: Sandbox, presence: Presence | None, report: NodeReport) -> Iterator[Repair]:
    match record.state:
        case State.CREATING | State.PAUSING | State.RESUMING | State.SNAPSHOTTING | State.KILLING:
            yield Repeat(record.id)
        case State.RUNNING:
            if presence is None:
                yield Lose(record.id, record.incarnation, "the node has no process for it")
            elif not presence.alive:
                yield Lose(record.id, record.incarnation, "its process has ended")
            elif presence.incarnation != record.incarnation:
                yield Lose(record.id, record.incarnation, f"the node runs its incarnation {presence.incarnation}")
        case State.PAUSED:
            if presence is not None or record.id in report.surviving_disks:
                yield Sweep(record.id, record.incarnation, asleep=True)
        case State.DEAD:
            if presence is not None or record.id in report.surviving_disks or record.id in report.dozing:
                yield Sweep(record.id, record.incarnation, asleep=False)
        case _:
            assert_never(record.state)
