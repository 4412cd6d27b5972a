from __future__ import annotations

import pytest

from roost.domain.errors import Invalid, SnapshotInUse, SnapshotNameTaken, SnapshotNotFound
from roost.domain.events import EventKind
from roost.domain.lifecycle import State
from roost.domain.snapshot import SnapshotKind
from tests.flows.test_meetings import Asked
from tests.flows.world import ME, STRANGER, Roost

pytestmark = pytest.mark.anyio


async def test_snapshots_are_listed_newest_first_and_by_sandbox(roost: Roost) -> None:
    a, b = await roost.sandbox(name="a"), await roost.sandbox(name="b")
    taken = []
    for name in ("a", "b", "a"):
        roost.ground.clock.advance(1)
        taken.append((await roost.snapshots.take(ME, name)).id)
    first = await roost.snapshots.list(ME, limit=2)
    rest = await roost.snapshots.list(ME, limit=2, cursor=first.next_cursor)
    assert [entry.id for entry in first.items + rest.items] == taken[::-1], "templates' own are not for callers"
    assert [entry.id for entry in (await roost.snapshots.list(ME, sandbox="b")).items] == [taken[1]]
    assert (await roost.snapshots.list(STRANGER)).items == ()
    assert {entry.sandbox for entry in first.items} == {a.id, b.id}


async def test_names_mean_one_thing(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    await roost.snapshots.take(ME, sandbox.id, name="good")
    with pytest.raises(SnapshotNameTaken, match="good"):
        await roost.snapshots.take(ME, sandbox.id, name="good")
    with pytest.raises(SnapshotNameTaken, match="template"):
        await roost.snapshots.take(ME, sandbox.id, name="base")
    with pytest.raises(Invalid):
        await roost.snapshots.take(ME, sandbox.id, name="No Good")


async def test_a_snapshot_without_memory_boots_what_is_made_from_it(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    roost.guest(sandbox).memory, roost.guest(sandbox).disk = "thought", "notes"
    snapshot = await roost.snapshots.take(ME, sandbox.id, keep_memory=False)
    assert snapshot.kind is SnapshotKind.DISK
    child = await roost.sandbox(template=snapshot.id)
    assert (roost.guest(child).memory, roost.guest(child).disk) == ("", "notes")


async def test_a_deleted_snapshot_is_gone_from_disk_and_its_children_do_not_care(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    snapshot = await roost.snapshots.take(ME, sandbox.id, name="good")
    child = await roost.sandbox(template="good")
    await roost.snapshots.delete(ME, "good")
    assert snapshot.id not in roost.ground.node.images
    with pytest.raises(SnapshotNotFound):
        await roost.snapshots.get(ME, snapshot.id)
    assert (await roost.power.pause(ME, child.id)).state is State.PAUSED
    await roost.flights.drain()
    [event] = await roost.ground.events(EventKind.SNAPSHOT_DELETED)
    assert event.facts == {"snapshot": snapshot.id, "name": "good"}
    await roost.ground.check_invariants()


async def test_a_snapshot_that_is_needed_is_not_deleted(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    asleep = await roost.power.pause(ME, sandbox.id)
    assert asleep.snapshot is not None
    with pytest.raises(SnapshotInUse, match=sandbox.id):
        await roost.snapshots.delete(ME, asleep.snapshot)
    template = await roost.templates.get(ME, "base")
    with pytest.raises(SnapshotNotFound):
        await roost.snapshots.delete(ME, template.snapshot)
    await roost.power.resume(ME, sandbox.id)
    kept = await roost.snapshots.take(ME, sandbox.id)
    gate = roost.ground.node.gate("create")
    created = Asked(roost, lambda: roost.sandbox(template=kept.id))
    await gate.reached.wait()
    with pytest.raises(SnapshotInUse, match="being created"):
        await roost.snapshots.delete(ME, kept.id)
    gate.open()
    await created.done()
    await roost.snapshots.delete(ME, kept.id)


async def test_deleting_the_newest_makes_the_one_before_the_place_to_fall_back_to(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    older = await roost.snapshots.take(ME, sandbox.id)
    roost.ground.clock.advance(1)
    newer = await roost.snapshots.take(ME, sandbox.id)
    assert (await roost.ground.record(sandbox.id)).snapshot == newer.id
    await roost.snapshots.delete(ME, newer.id)
    assert (await roost.ground.record(sandbox.id)).snapshot == older.id
    await roost.snapshots.delete(ME, older.id)
    assert (await roost.ground.record(sandbox.id)).snapshot is None
    await roost.ground.check_invariants()


async def test_another_teams_snapshots_are_unknown(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    snapshot = await roost.snapshots.take(ME, sandbox.id, name="good")
    for ref in (snapshot.id, "good"):
        with pytest.raises(SnapshotNotFound):
            await roost.snapshots.get(STRANGER, ref)
        with pytest.raises(SnapshotNotFound):
            await roost.snapshots.delete(STRANGER, ref)
