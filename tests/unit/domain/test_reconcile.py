from __future__ import annotations

from dataclasses import replace

import pytest

from roost.domain.ids import NodeId, SandboxId, SnapshotId, TeamId
from roost.domain.lifecycle import MOVING, Action, State
from roost.domain.node import NodeReport, Presence
from roost.domain.reconcile import EVERY_INCARNATION, DropSnapshot, Lose, Repair, Repeat, Sweep, reconcile, stray_snapshots
from roost.domain.sandbox import Operation, Sandbox, Size

NODE = NodeId("n1")
ONE = SandboxId("i1")


def sandbox(state: State, *, incarnation: int = 2, id: SandboxId = ONE) -> Sandbox:
    return Sandbox(
        id=id,
        team=TeamId("t"),
        name=None,
        template="base",
        origin=SnapshotId("s0"),
        node=NODE,
        state=state,
        incarnation=incarnation,
        size=Size(),
        access_token="x",
        created_at=0,
        started_at=0,
        changed_at=0,
    )


def report(
    *present: Presence, disks: frozenset[SandboxId] = frozenset(), snapshots: frozenset[SnapshotId] = frozenset()
) -> NodeReport:
    return NodeReport(NODE, present, snapshots, disks, 1, 1, 1)


def here(incarnation: int = 2, *, alive: bool = True, id: SandboxId = ONE) -> Presence:
    return Presence(id, incarnation, "198.18.0.1", alive)


@pytest.mark.parametrize("state", sorted(MOVING))
@pytest.mark.parametrize("present", [(), (here(),), (here(1),), (here(alive=False),)])
def test_a_move_under_way_is_repeated_whatever_the_node_has(state: State, present: tuple[Presence, ...]) -> None:
    assert reconcile([sandbox(state)], report(*present)) == [Repeat(ONE)]


def test_what_runs_and_should_is_left_alone() -> None:
    assert reconcile([sandbox(State.RUNNING)], report(here())) == []


@pytest.mark.parametrize("present", [(), (here(alive=False),), (here(1),), (here(3),)])
def test_what_should_run_and_does_not_is_lost(present: tuple[Presence, ...]) -> None:
    [repair] = reconcile([sandbox(State.RUNNING)], report(*present))
    assert isinstance(repair, Lose) and (repair.sandbox, repair.incarnation) == (ONE, 2)


@pytest.mark.parametrize(
    ("found", "repairs"),
    [
        (report(), []),
        (report(here()), [Sweep(ONE, 2, asleep=True)]),
        (report(disks=frozenset({ONE})), [Sweep(ONE, 2, asleep=True)]),
    ],
)
def test_a_sleeper_has_nothing_on_the_node(found: NodeReport, repairs: list[Repair]) -> None:
    assert reconcile([sandbox(State.PAUSED)], found) == repairs


def test_whatever_no_living_record_tells_of_is_swept() -> None:
    assert reconcile([], report(here(7))) == [Sweep(ONE, 7, asleep=False)]
    assert reconcile([], report(disks=frozenset({ONE}))) == [Sweep(ONE, EVERY_INCARNATION, asleep=False)]
    assert reconcile([sandbox(State.DEAD)], report(here())) == [Sweep(ONE, 2, asleep=False)]


def test_building_sites_are_left_alone() -> None:
    assert reconcile([], report(here()), building=frozenset({ONE})) == []
    assert reconcile([], report(disks=frozenset({ONE})), building=frozenset({ONE})) == []


def test_every_sandbox_is_judged_for_itself() -> None:
    others = [sandbox(State.RUNNING, id=SandboxId(f"i{i}")) for i in range(2, 5)]
    found = report(*(here(id=record.id) for record in others), here(9, id=SandboxId("i9")))
    repairs = reconcile([sandbox(State.PAUSING), *others], found)
    assert repairs == [Repeat(ONE), Sweep(SandboxId("i9"), 9, asleep=False)]


def test_a_snapshot_that_nothing_names_is_dropped() -> None:
    names = {word: SnapshotId(word) for word in ("recorded", "being-made", "building", "stray")}
    moving = replace(sandbox(State.PAUSING), operation=Operation(Action.PAUSE, 0, 1, snapshot=names["being-made"]))
    found = report(snapshots=frozenset(names.values()))
    assert stray_snapshots(found, [names["recorded"]], [moving], frozenset({names["building"]})) == [DropSnapshot(names["stray"])]
