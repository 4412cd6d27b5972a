"""The server dies between any two steps of any move. The next one finishes or undoes it, and nothing is left over."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from roost.domain.errors import RoostError
from roost.domain.lifecycle import State
from tests.flows.world import ME, Ground, Roost, dies_at, serving

pytestmark = pytest.mark.anyio

Act = Callable[[Roost], Awaitable[object]]


async def create(roost: Roost) -> None:
    await roost.sandbox(name="new")


async def pause(roost: Roost) -> None:
    await roost.power.pause(ME, "awake")


async def resume(roost: Roost) -> None:
    await roost.power.resume(ME, "asleep")


async def snapshot(roost: Roost) -> None:
    await roost.snapshots.take(ME, "awake", name="kept")


async def kill(roost: Roost) -> None:
    await roost.sandboxes.kill(ME, "awake")


async def kill_sleeper(roost: Roost) -> None:
    await roost.sandboxes.kill(ME, "asleep")


async def kill_sleeper_at_once(roost: Roost) -> None:
    await roost.sandboxes.kill(ME, "asleep", keep=False)


async def undelete(roost: Roost) -> None:
    (dead,) = [record for record in await roost.ground.records() if record.state is State.DEAD]
    await roost.undeletes.undelete(ME, dead.id)


async def roll_back(roost: Roost) -> None:
    await roost.rollbacks.roll_back(ME, "awake", "start")


async def fork(roost: Roost) -> None:
    await roost.forks.fork(ME, "awake", 3)


async def rebuild(roost: Roost) -> None:
    await roost.build_base()


POINTS: list[tuple[Act, str]] = [
    *((create, point) for point in ("before commit creating", "after commit creating", "before create", "after create")),
    *((create, point) for point in ("before commit running", "after commit running")),
    *((pause, point) for point in ("before commit pausing", "after commit pausing", "before pause", "after pause")),
    *((pause, point) for point in ("before commit paused", "after commit paused", "before kill", "after kill")),
    *((resume, point) for point in ("before commit resuming", "after commit resuming", "before resume", "after resume")),
    *((resume, point) for point in ("before commit running", "after commit running")),
    *((snapshot, point) for point in ("before commit snapshotting", "after commit snapshotting", "before snapshot")),
    *((snapshot, point) for point in ("after snapshot", "before commit running", "after commit running")),
    *((kill, point) for point in ("before commit killing", "after commit killing", "before kill", "after kill")),
    *((kill, point) for point in ("before commit dead", "after commit dead")),
    *((kill_sleeper, point) for point in ("before commit dead", "after commit dead")),
    *((kill_sleeper_at_once, point) for point in ("before commit dead", "before delete_snapshot", "after delete_snapshot")),
    *((undelete, point) for point in ("before commit creating", "after commit creating", "before create", "after create")),
    *((undelete, point) for point in ("before commit running", "after commit running", "before delete_snapshot")),
    *((roll_back, point) for point in ("before commit pausing", "after commit pausing", "after pause")),
    *((roll_back, point) for point in ("before commit paused", "after commit paused", "before kill", "after kill")),
    *((roll_back, point) for point in ("before commit resuming", "after commit resuming", "before resume", "after resume")),
    *((roll_back, point) for point in ("before commit running", "after commit running")),
    *((fork, point) for point in ("after commit snapshotting", "after snapshot", "before commit creating")),
    *((fork, point) for point in ("after commit creating", "before create", "after create", "before delete_snapshot")),
    *((rebuild, point) for point in ("before import_disk", "after import_disk", "before create", "after create")),
    *((rebuild, point) for point in ("before snapshot", "after snapshot", "before kill", "after kill", "before delete_snapshot")),
]


@pytest.fixture
async def inhabited(ground: Ground) -> Ground:
    """Beside the template: a sandbox that runs, one that sleeps, and a dead one that can come back."""
    async with serving(ground) as roost:
        await roost.sandbox(name="awake")
        await roost.snapshots.take(ME, "awake", name="start")
        gone = await roost.sandbox(name="gone")
        roost.guest(gone).disk = "weeks of work"
        await roost.sandboxes.kill(ME, "gone")
        sleeper = await roost.sandbox(name="asleep")
        roost.guest(sleeper).memory = "dreams"
        await roost.power.pause(ME, "asleep")
        await roost.flights.drain()
    return ground


@pytest.mark.parametrize(("act", "point"), POINTS, ids=[f"{act.__name__}-{point.replace(' ', '-')}" for act, point in POINTS])
async def test_a_server_that_dies_is_taken_over_and_nothing_is_half_done(inhabited: Ground, act: Act, point: str) -> None:
    await dies_at(inhabited, point, act)
    async with serving(inhabited) as roost:
        await roost.flights.drain()
        inhabited.clock.advance(601)  # what only collecting finds
        await inhabited.until(lambda: _collected(inhabited))
        await inhabited.check_invariants()
        await _still_lives(roost, "awake", unless=kill, act=act)
        await _still_lives(roost, "asleep", unless=kill_sleeper if act is kill_sleeper else kill_sleeper_at_once, act=act)
        await _not_lost(roost)
        sandbox = await roost.sandbox()
        assert sandbox.state is State.RUNNING, "and the template still works"


@pytest.mark.parametrize("point", ["before pause", "after pause", "before commit paused", "after commit paused"])
async def test_a_pause_that_a_crash_cut_keeps_the_memory(ground: Ground, point: str) -> None:
    async with serving(ground) as roost:
        sandbox = await roost.sandbox(name="awake")
        roost.guest(sandbox).memory = "counting: 41"
    await dies_at(ground, point, pause)
    async with serving(ground) as roost:
        await roost.flights.drain()
        assert (await ground.record(sandbox.id)).state is State.PAUSED
        await roost.power.resume(ME, sandbox.id)
        assert roost.guest(sandbox).memory == "counting: 41"


async def test_a_pause_is_finished_however_long_the_server_was_away(ground: Ground) -> None:
    async with serving(ground) as roost:
        sandbox = await roost.sandbox(name="awake")
        roost.guest(sandbox).memory = "thoughts"
    await dies_at(ground, "after pause", pause)
    ground.clock.advance(7 * 86400)
    async with serving(ground) as roost:
        await roost.flights.drain()
        assert (await ground.record(sandbox.id)).state is State.PAUSED
        await roost.power.resume(ME, sandbox.id)
        assert roost.guest(sandbox).memory == "thoughts"


async def test_running_sandboxes_are_adopted_where_they_are(ground: Ground) -> None:
    async with serving(ground) as roost:
        sandbox = await roost.sandbox()
        guest = roost.guest(sandbox)
    async with serving(ground) as roost:
        assert roost.guest(sandbox) is guest
        route = roost.directory.locate(sandbox.id)
        assert route is not None and route.address == guest.address
        assert await ground.record(sandbox.id) == sandbox, "nothing was written"


async def test_after_a_machine_crash_sleepers_sleep_and_the_others_fall_back(ground: Ground) -> None:
    async with serving(ground) as roost:
        plain, saved, sleeper = [await roost.sandbox(name=name) for name in ("plain", "saved", "sleeper")]
        roost.guest(plain).disk = "plain work"
        roost.guest(saved).memory = "at the snapshot"
        await roost.snapshots.take(ME, "saved")
        roost.guest(saved).memory = "later"
        await roost.power.pause(ME, "sleeper")
        await roost.flights.drain()
    ground.node.crash_machine()
    async with serving(ground) as roost:
        await roost.flights.drain()
        assert (await ground.record(plain.id)).state is State.RUNNING
        assert roost.guest(plain).disk == "plain work"
        assert (await ground.record(saved.id)).state is State.PAUSED
        assert (await ground.record(sleeper.id)).state is State.PAUSED
        await ground.check_invariants()
        await roost.power.resume(ME, "saved")
        assert roost.guest(saved).memory == "at the snapshot"


async def test_a_machine_that_lost_its_disks_too_has_only_dead(ground: Ground) -> None:
    async with serving(ground) as roost:
        sandbox = await roost.sandbox()
    ground.node.crash_machine(disks_survive=False)
    async with serving(ground):
        record = await ground.record(sandbox.id)
        assert record.state is State.DEAD and record.reason
        await ground.check_invariants()


async def test_a_broken_orphan_does_not_keep_the_server_from_starting(ground: Ground) -> None:
    async with serving(ground) as roost:
        orphan, sandbox = await roost.sandbox(), await roost.sandbox()
    async with ground.store.transaction() as transaction:
        await transaction.delete(type(orphan), orphan.id)
    ground.node.fail("kill", RoostError("stuck", "it will not die"), sandbox=orphan.id, times=2)
    async with serving(ground) as roost:
        assert (await roost.power.pause(ME, sandbox.id)).state is State.PAUSED
        assert orphan.id in ground.node.guests
        ground.clock.advance(5)  # tried at the start and at the first look; now again
        await ground.until(lambda: _gone(ground, orphan.id))


async def _gone(ground: Ground, sandbox: str) -> bool:
    if sandbox in ground.node.guests:
        await ground.records()
        return False
    return True


async def _collected(ground: Ground) -> bool:
    return set(ground.node.images) == {entry.id for entry in await ground.snapshots()}


async def _not_lost(roost: Roost) -> None:
    """What was killed lives again, or can still come back."""
    named = [record for record in await roost.ground.records() if record.name == "gone"]
    if State.RUNNING not in {record.state for record in named}:
        (dead,) = [record for record in named if record.trash]
        assert (await roost.undeletes.undelete(ME, dead.id)).name == "gone"
    (living,) = [record for record in await roost.ground.records() if record.name == "gone" and record.state is State.RUNNING]
    assert roost.guest(living).disk == "weeks of work"


async def _still_lives(roost: Roost, name: str, *, unless: Act, act: Act) -> None:
    states = {record.state for record in await roost.ground.records() if record.name == name}
    assert states <= ({State.RUNNING, State.PAUSED} if act is not unless else {State.RUNNING, State.PAUSED, State.DEAD})
