"""A sleeper that dozes is a sleeper: whatever is asked of it goes by its record, and its process is only a shortcut."""

from __future__ import annotations

import pytest

from roost.domain.errors import RoostError
from roost.domain.lifecycle import State
from tests.flows.world import ME, Ground, Roost, serving

pytestmark = pytest.mark.anyio


def dozers(ground: Ground) -> set[str]:
    return {guest.sandbox for guest in ground.node.guests.values() if guest.dozing}


async def test_it_wakes_in_the_same_process(roost: Roost, ground: Ground) -> None:
    sandbox = await roost.sandbox()
    guest = roost.guest(sandbox)
    guest.memory = "thoughts"
    await roost.power.pause(ME, sandbox.id)
    await roost.flights.drain()
    assert dozers(ground) == {sandbox.id}
    assert (await ground.record(sandbox.id)).state is State.PAUSED
    await roost.power.resume(ME, sandbox.id)
    assert roost.guest(sandbox) is guest and not guest.dozing
    await ground.check_invariants()


async def test_a_dropped_one_wakes_from_its_snapshot(roost: Roost, ground: Ground) -> None:
    sandbox = await roost.sandbox()
    roost.guest(sandbox).memory = "thoughts"
    await roost.power.pause(ME, sandbox.id)
    await roost.flights.drain()
    ground.node.drop_dozers()
    await roost.power.resume(ME, sandbox.id)
    assert roost.guest(sandbox).memory == "thoughts"
    await ground.check_invariants()


async def test_a_rollback_wakes_it_at_the_other_moment(roost: Roost, ground: Ground) -> None:
    sandbox = await roost.sandbox()
    roost.guest(sandbox).memory = "then"
    kept = await roost.snapshots.take(ME, sandbox.id)
    roost.guest(sandbox).memory = "now"
    await roost.power.pause(ME, sandbox.id)
    await roost.flights.drain()
    assert dozers(ground) == {sandbox.id}
    back = await roost.rollbacks.roll_back(ME, sandbox.id, kept.id)
    assert roost.guest(back).memory == "then"
    await roost.flights.drain()
    await ground.check_invariants()


async def test_a_fork_of_it_leaves_it_as_it_is(roost: Roost, ground: Ground) -> None:
    sandbox = await roost.sandbox()
    roost.guest(sandbox).memory = "thoughts"
    await roost.power.pause(ME, sandbox.id)
    await roost.flights.drain()
    (child,) = await roost.forks.fork(ME, sandbox.id, 1)
    assert not isinstance(child, RoostError) and roost.guest(child).memory == "thoughts"
    assert dozers(ground) == {sandbox.id}


async def test_killed_in_its_doze_it_can_come_back_with_its_memory(roost: Roost, ground: Ground) -> None:
    sandbox = await roost.sandbox()
    roost.guest(sandbox).memory = "thoughts"
    await roost.power.pause(ME, sandbox.id)
    await roost.flights.drain()
    await roost.sandboxes.kill(ME, sandbox.id)
    await roost.flights.drain()
    assert not dozers(ground)
    back = await roost.undeletes.undelete(ME, sandbox.id)
    assert roost.guest(back).memory == "thoughts"


async def test_what_it_is_told_in_its_doze_holds_when_it_wakes(roost: Roost, ground: Ground) -> None:
    """A token, or who drives: it is told when it wakes, as after any sleep."""
    sandbox = await roost.sandbox()
    await roost.power.pause(ME, sandbox.id)
    await roost.flights.drain()
    asked = len(ground.node.orders)
    await roost.power.resume(ME, sandbox.id)
    assert [order[0] for order in ground.node.orders[asked:]] == ["resume"]
    assert roost.guest(sandbox).identity.access_token == (await ground.record(sandbox.id)).access_token


async def test_a_server_that_comes_back_leaves_it_dozing_and_sweeps_one_that_is_nobodys(ground: Ground) -> None:
    async with serving(ground) as roost:
        ground.node.dozers = 2
        kept, lost = await roost.sandbox(), await roost.sandbox()
        for sandbox in (kept, lost):
            await roost.power.pause(ME, sandbox.id)
        await roost.flights.drain()
        assert dozers(ground) == {kept.id, lost.id}
    async with ground.store.transaction() as transaction:
        record = await transaction.get(type(lost), lost.id)
        assert record is not None
        await transaction.delete(type(lost), lost.id)
    async with serving(ground):
        assert dozers(ground) == {kept.id}
