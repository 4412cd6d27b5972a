"""Moves that fail, processes that vanish, orders that take too long: the table's right-hand columns."""

from __future__ import annotations

import anyio
import pytest

from roost.domain.errors import (
    EngineFailed,
    Fault,
    GuestUnreachable,
    MoveTimedOut,
    NodeFull,
    SandboxLost,
    SnapshotDamaged,
)
from roost.domain.events import EventKind
from roost.domain.lifecycle import State
from roost.domain.snapshot import SnapshotKind
from tests.flows.test_meetings import Asked
from tests.flows.world import ME, Ground, Roost, serving

pytestmark = pytest.mark.anyio
BROKEN = EngineFailed("do it", "no reason")


async def reasons(roost: Roost) -> list[object]:
    return [event.facts["reason"] for event in await roost.ground.events(EventKind.FAILED)]


async def test_a_failed_create_is_dead_with_the_reason_and_leaves_nothing(roost: Roost) -> None:
    roost.ground.node.fail("create", GuestUnreachable("x", "no answer"))
    with pytest.raises(GuestUnreachable):
        await roost.sandbox(name="web")
    [record] = await roost.ground.records()
    assert record.state is State.DEAD and "no answer" in (record.reason or "")
    assert (await roost.sandbox(name="web")).state is State.RUNNING, "its name is free"
    await roost.flights.drain()
    await roost.ground.check_invariants()


async def test_a_failed_pause_leaves_it_running_and_reachable(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    roost.ground.node.fail("pause", NodeFull("disk", "1 GB", "0 MB"))
    with pytest.raises(NodeFull):
        await roost.power.pause(ME, sandbox.id)
    assert (await roost.ground.record(sandbox.id)).state is State.RUNNING
    route = roost.directory.locate(sandbox.id)
    assert route is not None and route.address == roost.guest(sandbox).address
    assert await reasons(roost) == [NodeFull("disk", "1 GB", "0 MB").message]
    await roost.ground.check_invariants()


async def test_a_failed_snapshot_leaves_it_running(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    roost.ground.node.fail("snapshot", BROKEN)
    with pytest.raises(EngineFailed):
        await roost.snapshots.take(ME, sandbox.id)
    assert (await roost.ground.record(sandbox.id)).state is State.RUNNING
    await roost.ground.check_invariants()


async def test_a_failed_resume_leaves_it_asleep_and_can_be_tried_again(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    await roost.power.pause(ME, sandbox.id)
    await roost.flights.drain()
    roost.ground.node.fail("resume", BROKEN)
    with pytest.raises(EngineFailed):
        await roost.power.resume(ME, sandbox.id)
    assert (await roost.ground.record(sandbox.id)).state is State.PAUSED
    await roost.ground.check_invariants()
    assert (await roost.power.resume(ME, sandbox.id)).sandbox.state is State.RUNNING


async def test_a_damaged_memory_is_refused_until_the_caller_agrees_to_lose_it(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    roost.guest(sandbox).memory = "python3 train.py"
    roost.guest(sandbox).disk = "model"
    await roost.power.pause(ME, sandbox.id)
    await roost.flights.drain()
    roost.ground.node.fail("resume", SnapshotDamaged("s1", "pages.img", "has another hash"))
    with pytest.raises(SnapshotDamaged):
        await roost.power.resume(ME, sandbox.id)
    awake = await roost.power.resume(ME, sandbox.id, cold=True)
    assert awake.cold and awake.lost == ("python3 train.py",)
    assert (roost.guest(sandbox).disk, roost.guest(sandbox).memory) == ("model", "")


async def test_a_bug_in_the_node_is_a_failed_move_not_a_stuck_sandbox(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    roost.ground.node.fail("pause", ZeroDivisionError("oops"))
    with pytest.raises(Fault, match="ZeroDivisionError: oops"):
        await roost.power.pause(ME, sandbox.id)
    assert (await roost.ground.record(sandbox.id)).state is State.RUNNING


async def test_a_failed_kill_stays_killing_and_the_keeper_repeats_it(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    roost.ground.node.fail("kill", BROKEN, times=2)
    with pytest.raises(EngineFailed):
        await roost.sandboxes.kill(ME, sandbox.id)
    assert (await roost.ground.record(sandbox.id)).state is State.KILLING
    for _ in range(2):
        await roost.quiet()
        roost.ground.clock.advance(60)
    await roost.ground.until_state(sandbox.id, State.DEAD)
    await roost.flights.drain()
    assert await reasons(roost) == [BROKEN.message], "told once, however often it fails"
    await roost.ground.check_invariants()


@pytest.mark.parametrize("move", ["pause", "snapshot"])
async def test_a_process_found_gone_rewinds_to_the_last_snapshot(roost: Roost, move: str) -> None:
    sandbox = await roost.sandbox()
    roost.guest(sandbox).memory = "before"
    kept = await roost.snapshots.take(ME, sandbox.id)
    roost.guest(sandbox).memory = "after"
    del roost.ground.node.guests[sandbox.id]
    ask = roost.power.pause if move == "pause" else roost.snapshots.take
    with pytest.raises(SandboxLost):
        await ask(ME, sandbox.id)
    record = await roost.ground.record(sandbox.id)
    assert (record.state, record.snapshot) == (State.PAUSED, kept.id)
    assert "gone" in (record.reason or "")
    [rewound] = await roost.ground.events(EventKind.REWOUND)
    assert (rewound.facts["snapshot"], rewound.facts["cold"]) == (kept.id, False)
    route = roost.directory.locate(sandbox.id)
    assert route is not None and route.lost == record.incarnation, "its connections lead nowhere"
    await roost.power.resume(ME, sandbox.id)
    assert roost.guest(sandbox).memory == "before"
    assert (await roost.ground.record(sandbox.id)).reason is None


async def test_what_a_lost_sandbox_wrote_since_its_last_snapshot_is_kept(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    roost.guest(sandbox).disk = "old work"
    await roost.snapshots.take(ME, sandbox.id)
    roost.guest(sandbox).disk = "new work"
    roost.ground.node.crash_machine()
    with pytest.raises(SandboxLost):
        await roost.power.pause(ME, sandbox.id)
    [rewound] = await roost.ground.events(EventKind.REWOUND)
    kept = await roost.snapshots.get(ME, str(rewound.facts["disk"]))
    assert kept.kind is SnapshotKind.DISK
    assert roost.ground.node.images[kept.id].disk == "new work"
    await roost.power.resume(ME, sandbox.id)
    assert roost.guest(sandbox).disk == "old work"
    await roost.ground.check_invariants()


async def test_a_lost_process_without_a_snapshot_boots_from_its_surviving_disk(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    roost.guest(sandbox).disk = "work"
    roost.ground.node.crash_machine()
    with pytest.raises(SandboxLost):
        await roost.power.pause(ME, sandbox.id)
    record = await roost.ground.until_state(sandbox.id, State.RUNNING)
    assert record.incarnation == 2
    assert roost.guest(sandbox).disk == "work"
    assert not roost.guest(sandbox).identity.fresh, "it is still the same sandbox"
    [rewound] = await roost.ground.events(EventKind.REWOUND)
    assert rewound.facts["cold"] is True
    await roost.ground.check_invariants()


async def test_a_lost_process_with_nothing_left_is_dead(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    del roost.ground.node.guests[sandbox.id]
    with pytest.raises(SandboxLost):
        await roost.power.pause(ME, sandbox.id)
    assert (await roost.ground.record(sandbox.id)).state is State.DEAD


async def test_a_move_that_takes_too_long_tells_its_caller_and_is_repeated(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    gate = roost.ground.node.gate("pause")
    paused = Asked(roost, lambda: roost.power.pause(ME, sandbox.id))
    await gate.reached.wait()
    roost.ground.clock.advance(400)
    assert isinstance((await paused.done()).error, MoveTimedOut)
    record = await roost.ground.until_state(sandbox.id, State.PAUSED)
    await roost.flights.drain()
    assert record.snapshot in roost.ground.node.images
    await roost.ground.check_invariants()


@pytest.mark.parametrize("move", ["create", "pause", "resume"])
async def test_a_move_that_never_ends_is_given_up_in_the_end(roost: Roost, move: str) -> None:
    node, clock = roost.ground.node, roost.ground.clock
    if move == "create":
        node.gate("create")
        asked = Asked(roost, lambda: roost.sandbox(name="web"))
        await roost.ground.until(lambda: _exists(roost))
        [sandbox] = await roost.ground.records()
    else:
        sandbox = await roost.sandbox()
        if move == "resume":
            await roost.power.pause(ME, sandbox.id)
            await roost.flights.drain()
        node.gate(move)
        ask = roost.power.pause if move == "pause" else roost.power.resume
        asked = Asked(roost, lambda: ask(ME, sandbox.id))
    for _ in range(12):
        await _turns(roost)
        node.gate(move)
        clock.advance(150)
    assert isinstance((await asked.done()).error, MoveTimedOut)
    end = {"create": State.DEAD, "pause": State.RUNNING, "resume": State.PAUSED}[move]
    await roost.ground.until_state(sandbox.id, end)
    assert "did not" in str((await reasons(roost))[-1])


async def test_a_wake_whose_caller_gives_up_goes_on(roost: Roost) -> None:
    """The edge gives up at its deadline (tests/flows/edge/test_wake.py); the sandbox wakes all the same."""
    sandbox = await roost.sandbox()
    await roost.power.pause(ME, sandbox.id)
    await roost.flights.drain()
    gate = roost.ground.node.gate("resume")
    async with anyio.create_task_group() as callers:
        callers.start_soon(roost.directory.wake, sandbox.id, "traffic")
        await gate.reached.wait()
        callers.cancel_scope.cancel()
    gate.open()
    await roost.ground.until_state(sandbox.id, State.RUNNING)


async def test_a_server_that_stops_in_the_middle_leaves_the_move_to_the_next(ground: Ground) -> None:
    async with serving(ground) as roost:
        sandbox = await roost.sandbox()
        gate = ground.node.gate("pause")
        paused = Asked(roost, lambda: roost.power.pause(ME, sandbox.id))
        await gate.reached.wait()
    assert paused.answer is None
    assert (await ground.record(sandbox.id)).state is State.PAUSING
    async with serving(ground) as roost:
        await roost.flights.drain()
        assert (await ground.record(sandbox.id)).state is State.PAUSED
        await ground.check_invariants()


async def _exists(roost: Roost) -> bool:
    return bool(await roost.ground.records())


async def _turns(roost: Roost) -> None:
    """As `quiet`, while a flight is held up on purpose."""
    for _ in range(40):
        await roost.ground.records()
