from __future__ import annotations

import pytest

from roost.domain.errors import EngineFailed, Invalid, NameTaken, NodeFull, RoostError, SandboxDead
from roost.domain.events import EventKind
from roost.domain.lifecycle import State
from roost.domain.sandbox import Sandbox, SleepPolicy
from roost.domain.snapshot import Purpose
from tests.flows.test_meetings import Asked
from tests.flows.world import ME, Roost

pytestmark = pytest.mark.anyio


def living(results: list[Sandbox | RoostError]) -> list[Sandbox]:
    return [result for result in results if isinstance(result, Sandbox)]


async def test_children_go_on_from_the_same_moment_as_somebody_else(roost: Roost) -> None:
    parent = await roost.sandbox(name="root", metadata={"m": "1"}, env={"E": "2"}, policy=SleepPolicy(idle_s=900))
    roost.guest(parent).memory, roost.guest(parent).disk = "thought", "notes"
    children = living(await roost.forks.fork(ME, "root", 8, names=("left", "right")))
    assert len(children) == 8
    assert [child.name for child in children] == ["left", "right", *[None] * 6]
    assert len({child.id for child in children} | {parent.id}) == 9
    assert len({child.access_token for child in children} | {parent.access_token}) == 9
    for child in children:
        guest = roost.guest(child)
        assert (guest.memory, guest.disk, guest.identity.fresh) == ("thought", "notes", True)
        assert guest.identity.hostname == (child.name or child.id)
        assert (child.parent, child.metadata, child.env, child.policy) == (
            parent.id,
            parent.metadata,
            parent.env,
            parent.policy,
        )
        assert (child.state, child.incarnation, child.snapshot) == (State.RUNNING, 1, None)
    record = await roost.ground.record(parent.id)
    assert (record.state, record.snapshot) == (State.RUNNING, None), "the parent goes on as if nothing had been"
    [event] = await roost.ground.events(EventKind.FORKED)
    assert (event.sandbox, event.facts["count"]) == (parent.id, 8)
    assert not [entry for entry in await roost.ground.snapshots() if entry.purpose is Purpose.FORK]
    await roost.ground.check_invariants()


async def test_children_of_a_sleeper_come_from_the_snapshot_it_sleeps_in(roost: Roost) -> None:
    parent = await roost.sandbox()
    roost.guest(parent).memory = "dream"
    asleep = await roost.power.pause(ME, parent.id)
    children = living(await roost.forks.fork(ME, parent.id, 2))
    assert {roost.guest(child).memory for child in children} == {"dream"}
    assert {child.origin for child in children} == {asleep.snapshot}
    assert (await roost.ground.record(parent.id)).state is State.PAUSED
    await roost.flights.drain()
    await roost.ground.check_invariants()


async def test_children_of_a_sleeper_without_memory_boot(roost: Roost) -> None:
    parent = await roost.sandbox()
    await roost.power.pause(ME, parent.id, keep_memory=False)
    [child] = living(await roost.forks.fork(ME, parent.id, 1))
    assert child.state is State.RUNNING


async def test_a_child_that_fails_is_reported_and_the_others_live(roost: Roost) -> None:
    parent = await roost.sandbox()
    roost.ground.node.fail("create", EngineFailed("restore", "no luck"), times=2)
    results = await roost.forks.fork(ME, parent.id, 5)
    assert len(living(results)) == 3
    assert [type(result) for result in results if not isinstance(result, Sandbox)] == [EngineFailed] * 2
    await roost.flights.drain()
    await roost.ground.check_invariants()


async def test_a_fork_that_cannot_begin_makes_nothing(roost: Roost) -> None:
    parent = await roost.sandbox(name="root")
    for count in (0, 65, -1):
        with pytest.raises(Invalid, match=str(count)):
            await roost.forks.fork(ME, parent.id, count)
    with pytest.raises(Invalid, match="same name"):
        await roost.forks.fork(ME, parent.id, 2, names=("a", "a"))
    with pytest.raises(Invalid, match="names"):
        await roost.forks.fork(ME, parent.id, 1, names=("a", "b"))
    with pytest.raises(NameTaken):
        await roost.forks.fork(ME, parent.id, 2, names=("free", "root"))
    roost.ground.node.fail("snapshot", NodeFull("disk", "1 GB", "0 MB"))
    with pytest.raises(NodeFull):
        await roost.forks.fork(ME, parent.id, 2)
    await roost.flights.drain()
    assert [record.id for record in await roost.ground.records()] == [parent.id]
    assert await roost.ground.events(EventKind.FORKED) == []
    await roost.ground.check_invariants()
    await roost.sandboxes.kill(ME, parent.id)
    with pytest.raises(SandboxDead):
        await roost.forks.fork(ME, parent.id, 1)


async def test_two_forks_that_meet_share_a_snapshot_and_both_get_their_children(roost: Roost) -> None:
    parent = await roost.sandbox()
    gate = roost.ground.node.gate("snapshot")
    asked = [Asked(roost, lambda: roost.forks.fork(ME, parent.id, 3)) for _ in range(2)]
    await gate.reached.wait()
    gate.open()
    children = [child for each in asked for child in living((await each.done()).answer)]
    assert len({child.id for child in children}) == 6
    await roost.flights.drain()
    await roost.ground.check_invariants()


async def test_the_parent_may_sleep_again_while_children_are_made_from_its_last_sleep(roost: Roost) -> None:
    parent = await roost.sandbox()
    roost.guest(parent).memory = "dream"
    await roost.power.pause(ME, parent.id)
    await roost.flights.drain()
    gate = roost.ground.node.gate("create")
    forked = Asked(roost, lambda: roost.forks.fork(ME, parent.id, 2))
    await gate.reached.wait()
    await roost.power.resume(ME, parent.id)
    await roost.power.pause(ME, parent.id)
    for _ in range(40):
        await roost.ground.records()  # time enough to drop the older sleep, if anybody would
    gate.open()
    children = living((await forked.done()).answer)
    assert [roost.guest(child).memory for child in children] == ["dream", "dream"]
    await roost.flights.drain()
    roost.ground.clock.advance(601)

    async def collected() -> bool:
        return len([entry for entry in await roost.ground.snapshots() if entry.purpose is Purpose.SLEEP]) == 1

    await roost.ground.until(collected)
