"""A sandbox goes back to one of its own snapshots, and forward again."""

from __future__ import annotations

import pytest

from roost.domain.errors import Conflict, Invalid, SandboxDead, SnapshotDamaged
from roost.domain.events import EventKind
from roost.domain.lifecycle import State
from roost.domain.snapshot import Purpose
from tests.flows.world import ME, Ground, Roost

pytestmark = pytest.mark.anyio


async def test_back_and_forward_again(roost: Roost, ground: Ground) -> None:
    sandbox = await roost.sandbox(name="agent")
    roost.guest(sandbox).memory = "then"
    await roost.snapshots.take(ME, sandbox.id, name="good")
    roost.guest(sandbox).memory = "now"
    back = await roost.rollbacks.roll_back(ME, "agent", "good")
    assert (back.id, back.state) == (sandbox.id, State.RUNNING)
    assert roost.guest(back).memory == "then"
    (event,) = await ground.events(EventKind.ROLLED_BACK)
    left = str(event.facts["left_name"])
    assert left.startswith("before-rollback-")
    assert (await roost.snapshots.get(ME, left)).purpose is Purpose.KEPT
    roost.guest(back).memory = "then, and on"
    forward = await roost.rollbacks.roll_back(ME, "agent", left)
    assert roost.guest(forward).memory == "now"
    names = [entry.name for entry in (await roost.snapshots.list(ME, sandbox=sandbox.id)).items]
    assert len([name for name in names if name and name.startswith("before-rollback-")]) == 2, "nothing is lost"
    await roost.flights.drain()
    await ground.check_invariants()


async def test_one_that_sleeps_wakes_at_the_other_moment(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    roost.guest(sandbox).memory = "then"
    kept = await roost.snapshots.take(ME, sandbox.id)
    roost.guest(sandbox).memory = "now"
    await roost.power.pause(ME, sandbox.id)
    back = await roost.rollbacks.roll_back(ME, sandbox.id, kept.id)
    assert roost.guest(back).memory == "then"


async def test_a_disk_alone_boots(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    roost.guest(sandbox).disk, roost.guest(sandbox).memory = "old files", "old thoughts"
    kept = await roost.snapshots.take(ME, sandbox.id, keep_memory=False)
    roost.guest(sandbox).disk = "new files"
    back = await roost.rollbacks.roll_back(ME, sandbox.id, kept.id)
    assert (roost.guest(back).disk, roost.guest(back).memory) == ("old files", "")


async def test_a_sleep_that_it_woke_from_is_a_moment_too(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    roost.guest(sandbox).memory = "at the sleep"
    asleep = await roost.power.pause(ME, sandbox.id)
    assert asleep.snapshot is not None
    await roost.power.resume(ME, sandbox.id)
    roost.guest(sandbox).memory = "later"
    back = await roost.rollbacks.roll_back(ME, sandbox.id, asleep.snapshot)
    assert roost.guest(back).memory == "at the sleep"


async def test_only_ones_own(roost: Roost) -> None:
    one, other = await roost.sandbox(), await roost.sandbox()
    foreign = await roost.snapshots.take(ME, other.id)
    with pytest.raises(Invalid, match="not one of sandbox"):
        await roost.rollbacks.roll_back(ME, one.id, foreign.id)
    own = await roost.snapshots.take(ME, one.id)
    await roost.sandboxes.kill(ME, one.id)
    with pytest.raises(SandboxDead):
        await roost.rollbacks.roll_back(ME, one.id, own.id)


async def test_a_moment_that_cannot_be_woken_leaves_it_asleep_there_and_the_way_back_open(roost: Roost, ground: Ground) -> None:
    sandbox = await roost.sandbox()
    kept = await roost.snapshots.take(ME, sandbox.id)
    roost.guest(sandbox).memory = "now"
    ground.node.fail("resume", SnapshotDamaged(kept.id, "memory/pages.img", "has another hash"))
    with pytest.raises(SnapshotDamaged):
        await roost.rollbacks.roll_back(ME, sandbox.id, kept.id)
    record = await ground.record(sandbox.id)
    assert (record.state, record.snapshot) == (State.PAUSED, kept.id)
    (event,) = await ground.events(EventKind.ROLLED_BACK)
    back = await roost.rollbacks.roll_back(ME, sandbox.id, str(event.facts["left"]))
    assert roost.guest(back).memory == "now"


async def test_somebody_who_keeps_waking_it_wins(roost: Roost, ground: Ground) -> None:
    sandbox = await roost.sandbox()
    kept = await roost.snapshots.take(ME, sandbox.id)
    failed: list[Conflict] = []

    async def roll_back() -> None:
        try:
            await roost.rollbacks.roll_back(ME, sandbox.id, kept.id)
        except Conflict as error:
            failed.append(error)

    gates = [ground.node.gate("pause", sandbox.id) for _ in range(3)]
    roost.group.start_soon(roll_back)
    for gate in gates:
        await gate.reached.wait()
        await roost.power.resume(ME, sandbox.id)
    await roost.quiet()
    assert [error.code for error in failed] == ["kept_awake"]
    assert (await ground.record(sandbox.id)).state is State.RUNNING
