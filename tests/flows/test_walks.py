"""Every walk of a sandbox's life, start to end, with nothing going wrong."""

from __future__ import annotations

import pytest

from roost.domain.errors import SandboxDead, SandboxNotFound
from roost.domain.events import EventKind
from roost.domain.lifecycle import State
from roost.domain.snapshot import Purpose, SnapshotKind
from tests.flows.world import ME, STRANGER, Roost

pytestmark = pytest.mark.anyio


async def test_a_created_sandbox_is_a_running_clone_of_its_template(roost: Roost) -> None:
    sandbox = await roost.sandbox(name="web", metadata={"a": "b"}, env={"X": "1"})
    assert sandbox.state is State.RUNNING and sandbox.incarnation == 1
    guest = roost.guest(sandbox)
    assert guest.disk == "root of base"
    assert (guest.identity.hostname, guest.identity.fresh, guest.identity.env) == ("web", True, {"X": "1"})
    assert guest.identity.access_token == sandbox.access_token
    route = roost.directory.locate(sandbox.id)
    assert route is not None and route.address == guest.address
    assert await roost.sandboxes.get(ME, "web") == await roost.sandboxes.get(ME, sandbox.id) == sandbox
    await roost.ground.check_invariants()


async def test_sleep_keeps_memory_and_frees_the_node(roost: Roost) -> None:
    roost.ground.node.dozers = 0
    sandbox = await roost.sandbox()
    roost.guest(sandbox).memory = "counting: 41"
    asleep = await roost.power.pause(ME, sandbox.id)
    await roost.flights.drain()
    assert asleep.state is State.PAUSED and asleep.snapshot is not None
    assert sandbox.id not in roost.ground.node.guests
    route = roost.directory.locate(sandbox.id)
    assert route is not None and route.address is None and route.wakes
    await roost.ground.check_invariants()

    awake = await roost.power.resume(ME, sandbox.id)
    assert (awake.sandbox.state, awake.sandbox.incarnation, awake.cold, awake.lost) == (State.RUNNING, 2, False, ())
    assert roost.guest(sandbox).memory == "counting: 41"
    assert not roost.guest(sandbox).identity.fresh
    assert awake.sandbox.access_token == sandbox.access_token


async def test_the_snapshot_of_an_earlier_sleep_is_dropped_when_a_newer_one_is_there(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    for _ in range(3):
        await roost.power.pause(ME, sandbox.id)
        await roost.power.resume(ME, sandbox.id)
    await roost.flights.drain()
    sleeps = [entry for entry in await roost.ground.snapshots() if entry.purpose is Purpose.SLEEP]
    assert len(sleeps) == 1
    await roost.ground.check_invariants()


async def test_sleep_without_memory_wakes_with_a_boot_that_nobody_has_to_agree_to(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    roost.guest(sandbox).memory, roost.guest(sandbox).disk = "gone", "kept"
    await roost.power.pause(ME, sandbox.id, keep_memory=False)
    awake = await roost.power.resume(ME, sandbox.id)
    assert awake.cold
    assert (roost.guest(sandbox).memory, roost.guest(sandbox).disk) == ("", "kept")


async def test_a_snapshot_leaves_its_source_running_and_can_be_created_from(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    roost.guest(sandbox).memory = "warm"
    snapshot = await roost.snapshots.take(ME, sandbox.id, name="good")
    assert (snapshot.purpose, snapshot.kind, snapshot.name) == (Purpose.KEPT, SnapshotKind.MEMORY, "good")
    assert (await roost.sandboxes.get(ME, sandbox.id)).state is State.RUNNING
    for ref in ("good", snapshot.id):
        child = await roost.sandbox(template=ref)
        assert roost.guest(child).memory == "warm"
        assert (child.template, child.origin) == (snapshot.id, snapshot.id)
    await roost.ground.check_invariants()


async def test_a_snapshot_of_a_sleeping_sandbox_is_the_one_it_sleeps_in_now_kept(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    asleep = await roost.power.pause(ME, sandbox.id)
    snapshot = await roost.snapshots.take(ME, sandbox.id, name="night")
    assert (snapshot.id, snapshot.purpose, snapshot.name) == (asleep.snapshot, Purpose.KEPT, "night")
    await roost.sandboxes.kill(ME, sandbox.id)
    await roost.flights.drain()
    assert await roost.snapshots.get(ME, "night") == snapshot, "a kept snapshot outlives its sandbox"


async def test_kill_ends_it_and_its_sleeps(roost: Roost) -> None:
    sandbox = await roost.sandbox(name="web")
    await roost.power.pause(ME, sandbox.id)
    dead = await roost.sandboxes.kill(ME, "web")
    await roost.flights.drain()
    assert (dead.state, dead.reason) == (State.DEAD, "killed")
    assert roost.directory.locate(sandbox.id) is None
    assert (await roost.sandboxes.kill(ME, sandbox.id)).state is State.DEAD
    with pytest.raises(SandboxDead, match="killed"):
        await roost.power.resume(ME, sandbox.id)
    with pytest.raises(SandboxNotFound):
        await roost.sandboxes.get(ME, "web")
    assert (await roost.sandbox(name="web")).id != sandbox.id, "the name is free again"
    await roost.ground.check_invariants()


async def test_another_team_knows_nothing_of_it(roost: Roost) -> None:
    sandbox = await roost.sandbox(name="web")
    for ref in (sandbox.id, "web"):
        with pytest.raises(SandboxNotFound):
            await roost.sandboxes.get(STRANGER, ref)
        with pytest.raises(SandboxNotFound):
            await roost.sandboxes.kill(STRANGER, ref)


async def test_a_life_leaves_its_events(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    await roost.power.pause(ME, sandbox.id)
    await roost.power.ensure_running(sandbox.id, "traffic")
    await roost.snapshots.take(ME, sandbox.id)
    await roost.sandboxes.kill(ME, sandbox.id)
    events = await roost.ground.events(sandbox=sandbox.id)
    assert [event.kind for event in events] == [
        EventKind.CREATED,
        EventKind.PAUSED,
        EventKind.WOKE,
        EventKind.SNAPSHOTTED,
        EventKind.DIED,
    ]
    assert events[2].facts["why"] == "traffic"


async def test_waking_by_traffic_gives_the_new_address(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    await roost.power.pause(ME, sandbox.id)
    await roost.flights.drain()
    route = await roost.directory.wake(sandbox.id, "traffic")
    assert route.address == roost.guest(sandbox).address
    assert route.incarnation == 2
    assert route == roost.directory.locate(sandbox.id)
