"""A killed sandbox can come back, for a while."""

from __future__ import annotations

import pytest

from roost.domain.errors import Conflict, NodeFull, NotDead, NothingKept, SandboxNotFound, SnapshotDamaged, SnapshotNotFound
from roost.domain.events import EventKind
from roost.domain.lifecycle import State
from roost.domain.sandbox import OnTimeout, Sandbox, SleepPolicy
from roost.domain.snapshot import Purpose, Snapshot
from tests.flows.world import ME, Ground, Roost

pytestmark = pytest.mark.anyio

DAY_S = 24 * 3600.0


async def killed(roost: Roost, *, disk: str = "weeks of work", **request: object) -> Sandbox:
    sandbox = await roost.sandbox(**request)
    roost.guest(sandbox).disk = disk
    return await roost.sandboxes.kill(ME, sandbox.id)


async def trash(ground: Ground) -> list[Snapshot]:
    return [entry for entry in await ground.snapshots() if entry.purpose is Purpose.TRASH]


async def collect(roost: Roost, after_s: float) -> None:
    roost.ground.clock.advance(after_s)
    await roost.quiet()


async def test_a_killed_one_comes_back_with_its_disk_as_a_new_sandbox(roost: Roost, ground: Ground) -> None:
    policy = SleepPolicy(idle_s=300)
    dead = await killed(roost, name="web", metadata={"a": "1"}, env={"KEY": "value"}, policy=policy)
    assert dead.state is State.DEAD and dead.undelete_until == ground.clock.now() + DAY_S
    back = await roost.undeletes.undelete(ME, dead.id)
    assert back.id != dead.id and back.state is State.RUNNING
    assert (back.name, back.metadata, back.env, back.policy) == ("web", {"a": "1"}, {"KEY": "value"}, policy)
    assert back.access_token != dead.access_token
    assert roost.guest(back).disk == "weeks of work"
    assert roost.guest(back).identity.fresh, "it is somebody else now, as a fork is"
    (event,) = await ground.events(EventKind.UNDELETED)
    assert (event.sandbox, event.facts["from"], event.facts["memory"]) == (back.id, dead.id, False)
    assert not await trash(ground), "once is enough"
    await ground.check_invariants()
    with pytest.raises(NothingKept):
        await roost.undeletes.undelete(ME, dead.id)


async def test_one_that_was_killed_in_its_sleep_comes_back_with_its_memory(roost: Roost) -> None:
    sandbox = await roost.sandbox(name="dreamer")
    roost.guest(sandbox).memory = "half a thought"
    await roost.power.pause(ME, sandbox.id)
    dead = await roost.sandboxes.kill(ME, sandbox.id)
    assert dead.trash is not None
    back = await roost.undeletes.undelete(ME, dead.id)
    assert roost.guest(back).memory == "half a thought"


async def test_by_name_it_is_the_one_that_died_last(roost: Roost, ground: Ground) -> None:
    await killed(roost, name="web", disk="first")
    ground.clock.advance(1)
    await killed(roost, name="web", disk="second")
    assert roost.guest(await roost.undeletes.undelete(ME, "web")).disk == "second"
    back = await roost.undeletes.undelete(ME, "web")
    assert (roost.guest(back).disk, back.name) == ("first", None), "the name is taken by now"
    with pytest.raises(NotDead):
        await roost.undeletes.undelete(ME, "web")
    with pytest.raises(SandboxNotFound):
        await roost.undeletes.undelete(ME, "nobody")


async def test_a_name_that_is_taken_by_then_is_left_to_its_holder(roost: Roost) -> None:
    dead = await killed(roost, name="web")
    await roost.sandbox(name="web")
    assert (await roost.undeletes.undelete(ME, dead.id)).name is None


async def test_a_timeout_keeps_what_it_kills(roost: Roost, ground: Ground) -> None:
    sandbox = await roost.sandbox(policy=SleepPolicy(timeout_s=60, on_timeout=OnTimeout.KILL))
    ground.clock.advance(60)
    dead = await ground.until_state(sandbox.id, State.DEAD)
    assert dead.trash is not None
    assert (await roost.undeletes.undelete(ME, dead.id)).state is State.RUNNING


async def test_only_the_dead_come_back(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    with pytest.raises(NotDead):
        await roost.undeletes.undelete(ME, sandbox.id)


async def test_at_once_means_at_once_also_later(roost: Roost, ground: Ground) -> None:
    sandbox = await roost.sandbox()
    await roost.sandboxes.kill(ME, sandbox.id, keep=False)
    assert not await trash(ground)
    dead = await killed(roost)
    purged = await roost.sandboxes.kill(ME, dead.id, keep=False)
    assert (purged.trash, purged.undelete_until) == (None, None)
    assert not await trash(ground)
    await ground.check_invariants()
    with pytest.raises(NothingKept):
        await roost.undeletes.undelete(ME, dead.id)


async def test_after_a_day_it_is_gone_and_then_its_record(roost: Roost, ground: Ground) -> None:
    dead = await killed(roost)
    await collect(roost, DAY_S - 1)
    assert len(await trash(ground)) == 1 and dead.id in {record.id for record in await ground.records()}
    await collect(roost, 601)
    assert not await trash(ground)
    await collect(roost, 601)
    assert dead.id not in {record.id for record in await ground.records()}
    await ground.check_invariants()


async def test_a_failed_comeback_leaves_what_was_kept(roost: Roost, ground: Ground) -> None:
    dead = await killed(roost)
    assert dead.trash is not None
    ground.node.fail("create", SnapshotDamaged(dead.trash, "spec.json", "is gone"))
    with pytest.raises(SnapshotDamaged):
        await roost.undeletes.undelete(ME, dead.id)
    assert roost.guest(await roost.undeletes.undelete(ME, dead.id)).disk == "weeks of work"


async def test_two_at_once_make_one(roost: Roost, ground: Ground) -> None:
    dead = await killed(roost)
    gate = ground.node.gate("create")
    roost.group.start_soon(roost.undeletes.undelete, ME, dead.id)
    await gate.reached.wait()
    with pytest.raises(Conflict, match="coming back right now"):
        await roost.undeletes.undelete(ME, dead.id)
    gate.open()
    await roost.quiet()
    assert [record.state for record in await ground.records()].count(State.RUNNING) == 1


async def test_a_tight_volume_drops_what_died_first(roost: Roost, ground: Ground) -> None:
    dead: list[Sandbox] = []
    for _ in range(6):
        dead.append(await killed(roost))
        ground.clock.advance(0.1)
    ground.node.disk_free_bytes = 9 * 1024**3  # of 100
    ground.clock.advance(5)
    await roost.quiet()
    kept = {entry.sandbox for entry in await trash(ground)}
    assert kept == {record.id for record in dead[4:]}, "four at a look, the oldest first"
    ground.node.disk_free_bytes = 50 * 1024**3
    await collect(roost, 5)
    assert len(await trash(ground)) == 2, "and no more than is needed"
    await ground.check_invariants()


@pytest.mark.parametrize("action", ["create", "pause"])
async def test_a_full_node_loses_its_trash_before_it_refuses(roost: Roost, ground: Ground, action: str) -> None:
    sandbox = await roost.sandbox(name="awake")
    await killed(roost)
    ground.node.fail(action, NodeFull("disk space", "some", "none"))
    if action == "create":
        assert (await roost.sandbox()).state is State.RUNNING
    else:
        assert (await roost.power.pause(ME, sandbox.id)).state is State.PAUSED
    assert not await trash(ground)
    ground.node.fail("create", NodeFull("disk space", "some", "none"))
    with pytest.raises(NodeFull):
        await roost.sandbox()


async def test_a_kill_never_fails_for_what_it_was_to_keep(roost: Roost, ground: Ground) -> None:
    sandbox = await roost.sandbox()
    ground.node.disk_free_bytes = 0
    dead = await roost.sandboxes.kill(ME, sandbox.id)
    assert (dead.state, dead.trash, dead.undelete_until) == (State.DEAD, None, None)
    await ground.check_invariants()


async def test_a_snapshot_that_a_caller_keeps_stays_the_callers(roost: Roost, ground: Ground) -> None:
    sandbox = await roost.sandbox()
    await roost.power.pause(ME, sandbox.id)
    kept = await roost.snapshots.take(ME, sandbox.id, name="mine")
    dead = await roost.sandboxes.kill(ME, sandbox.id)
    assert dead.trash == kept.id
    await roost.undeletes.undelete(ME, dead.id)
    assert (await roost.snapshots.get(ME, "mine")).purpose is Purpose.KEPT
    await roost.snapshots.delete(ME, "mine")


async def test_trash_is_nobodys_snapshot(roost: Roost) -> None:
    dead = await killed(roost)
    assert dead.trash is not None
    assert not (await roost.snapshots.list(ME)).items
    with pytest.raises(SnapshotNotFound):
        await roost.snapshots.get(ME, dead.trash)
