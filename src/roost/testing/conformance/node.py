"""What every Node must do: each promise of `contracts.cluster.Node`, tried.

A test module subclasses `NodeConformance` and provides the fixture `rig`: a node with nothing on it but two snapshots to create
from. Every test leaves the node as it found it, or the fixture throws it away.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

import anyio
import anyio.lowlevel
import pytest

from roost.contracts.cluster import Node
from roost.contracts.node_builds import NodeBuilds
from roost.contracts.snapshots import NodeSnapshots, WarmTarget
from roost.domain.errors import SandboxLost, SnapshotHasNoMemory, SnapshotNotFound
from roost.domain.ids import LinkId, SandboxId, SnapshotId
from roost.domain.node import CaptureOrder, CreateOrder, Identity, InformOrder, KillOrder, Presence, ResumeOrder, RunOrder
from roost.domain.sandbox import Driver, Size
from roost.domain.snapshot import SnapshotKind


@dataclass(frozen=True, slots=True)
class NodeRig:
    """A node, what it needs to be given orders, and a way to hurt it."""

    node: Node
    snapshots: NodeSnapshots
    builds: NodeBuilds
    source: SnapshotId  # with memory
    disk: SnapshotId  # without
    root: str  # a root filesystem to import
    size: Size
    end: Callable[[SandboxId], Awaitable[None]]  # the sandbox's process ends unasked
    image: str = ""  # the reference of an image that can be had, with the working directory /work

    def create_order(self, number: int = 1, incarnation: int = 1) -> CreateOrder:
        sandbox = SandboxId(f"i{number:020d}")
        return CreateOrder(sandbox, incarnation, self.source, self.size, identity(sandbox, fresh=True))

    async def create(self, number: int = 1) -> SandboxId:
        order = self.create_order(number)
        await self.node.create(order)
        return order.sandbox

    async def presence(self, sandbox: SandboxId) -> Presence | None:
        found = [each for each in (await self.node.report()).present if each.sandbox == sandbox]
        return found[0] if found else None

    async def has(self, snapshot: SnapshotId) -> bool:
        return snapshot in (await self.node.report()).snapshots


def identity(sandbox: SandboxId, *, fresh: bool = False) -> Identity:
    return Identity(sandbox, hostname=sandbox, template="base", access_token="0" * 64, fresh=fresh)


def snapshot_id(number: int) -> SnapshotId:
    return SnapshotId(f"s{number:020d}")


def capture(sandbox: SandboxId, number: int, *, incarnation: int = 1, keep_memory: bool = True) -> CaptureOrder:
    return CaptureOrder(sandbox, incarnation, snapshot_id(number), None, "base", keep_memory)


class DozeConformance:
    """For nodes that keep the processes of at least two sleepers."""

    def resume_order(self, rig: NodeRig, sandbox: SandboxId, source: SnapshotId, incarnation: int = 2) -> ResumeOrder:
        return ResumeOrder(sandbox, incarnation, source, rig.size, identity(sandbox))

    async def doze(self, rig: NodeRig, number: int = 1) -> SandboxId:
        """A sandbox that dozes at the snapshot of its number."""
        sandbox = await rig.create(number)
        await rig.node.pause(capture(sandbox, number))
        await rig.node.kill(KillOrder(sandbox, 1, asleep=True))
        return sandbox

    async def test_who_falls_asleep_dozes_and_is_no_process_to_anybody(self, rig: NodeRig) -> None:
        sandbox = await self.doze(rig)
        for _ in range(2):
            report = await rig.node.report()
            assert report.dozing[sandbox] > 0
            assert await rig.presence(sandbox) is None and sandbox not in report.surviving_disks
            assert report.memory_room_bytes >= report.memory_free_bytes - report.memory_reserve_bytes
            await rig.node.kill(KillOrder(sandbox, 1, asleep=True))  # repeated after a crash

    async def test_a_dozer_wakes_and_dozes_again(self, rig: NodeRig) -> None:
        sandbox = await self.doze(rig)
        for incarnation in (2, 3):
            source = snapshot_id(incarnation - 1)
            placed = await rig.node.resume(self.resume_order(rig, sandbox, source, incarnation))
            presence = await rig.presence(sandbox)
            assert presence is not None and (presence.incarnation, presence.endpoint) == (incarnation, placed.endpoint)
            assert sandbox not in (await rig.node.report()).dozing
            await rig.node.kill(KillOrder(sandbox, incarnation - 1, asleep=True))  # late: of the sleep before
            assert (await rig.presence(sandbox)) is not None
            await rig.node.pause(capture(sandbox, incarnation, incarnation=incarnation))
            await rig.node.kill(KillOrder(sandbox, incarnation, asleep=True))
            assert sandbox in (await rig.node.report()).dozing

    async def test_another_snapshot_than_the_one_it_dozes_at_is_restored(self, rig: NodeRig) -> None:
        sandbox = await rig.create()
        await rig.node.snapshot(capture(sandbox, 1))
        await rig.node.pause(capture(sandbox, 2))
        await rig.node.kill(KillOrder(sandbox, 1, asleep=True))
        await rig.node.resume(self.resume_order(rig, sandbox, snapshot_id(1)))
        presence = await rig.presence(sandbox)
        assert presence is not None and presence.incarnation == 2
        assert not (await rig.node.report()).dozing

    async def test_a_dozer_boots_if_it_is_told_to(self, rig: NodeRig) -> None:
        sandbox = await self.doze(rig)
        placed = await rig.node.resume(replace(self.resume_order(rig, sandbox, snapshot_id(1)), cold=True))
        assert placed.cold and not (await rig.node.report()).dozing

    async def test_a_fork_of_a_dozer_leaves_it_dozing(self, rig: NodeRig) -> None:
        sandbox = await self.doze(rig)
        await rig.node.create(replace(rig.create_order(2), source=snapshot_id(1)))
        assert set((await rig.node.report()).dozing) == {sandbox}

    async def test_a_kill_leaves_nothing_of_a_dozer(self, rig: NodeRig) -> None:
        sandbox = await self.doze(rig)
        for _ in range(2):
            await rig.node.kill(KillOrder(sandbox, 1))
            report = await rig.node.report()
            assert not report.dozing and sandbox not in report.surviving_disks
        with pytest.raises(SandboxLost):
            await rig.node.pause(capture(sandbox, 7))

    async def test_a_dozer_cannot_be_captured(self, rig: NodeRig) -> None:
        sandbox = await self.doze(rig)
        with pytest.raises(SandboxLost):
            await rig.node.snapshot(capture(sandbox, 7))
        assert not await rig.has(snapshot_id(7))

    async def test_a_sleep_without_memory_is_no_doze(self, rig: NodeRig) -> None:
        sandbox = await rig.create()
        await rig.node.pause(capture(sandbox, 1, keep_memory=False))
        await rig.node.kill(KillOrder(sandbox, 1, asleep=True))
        assert sandbox not in (await rig.node.report()).dozing


class NodeConformance:
    def resume_order(self, rig: NodeRig, sandbox: SandboxId, source: SnapshotId, incarnation: int = 2) -> ResumeOrder:
        return ResumeOrder(sandbox, incarnation, source, rig.size, identity(sandbox))

    # drivers

    async def test_who_drives_may_be_told_twice_and_to_nobody(self, rig: NodeRig) -> None:
        sandbox, anna = await rig.create(), Driver(LinkId("l" + "0" * 20), "anna", 1.0)
        for driver, token in ((anna, "1" * 64), (anna, "1" * 64), (None, "2" * 64), (None, "0" * 64)):
            assert await rig.node.inform(InformOrder(sandbox, 1, driver, token))
        assert not await rig.node.inform(InformOrder(sandbox, 7, anna, "0" * 64))
        assert not await rig.node.inform(InformOrder(SandboxId("i" + "9" * 20), 1, anna, "0" * 64))
        await rig.node.pause(capture(sandbox, 1))
        assert not await rig.node.inform(InformOrder(sandbox, 1, anna, "0" * 64))

    # create

    async def test_a_created_sandbox_is_reported_at_its_endpoint(self, rig: NodeRig) -> None:
        order = rig.create_order()
        placed = await rig.node.create(order)
        presence = await rig.presence(order.sandbox)
        assert presence is not None and presence.alive
        assert (presence.incarnation, presence.endpoint) == (1, placed.endpoint)
        assert not placed.cold

    async def test_create_twice_is_create_once(self, rig: NodeRig) -> None:
        first, second = await rig.node.create(rig.create_order()), await rig.node.create(rig.create_order())
        assert first.endpoint == second.endpoint
        assert len((await rig.node.report()).present) == 1

    async def test_addresses_are_not_shared(self, rig: NodeRig) -> None:
        placed = [await rig.node.create(rig.create_order(number)) for number in (1, 2)]
        assert placed[0].endpoint != placed[1].endpoint

    async def test_create_from_nothing_is_refused_and_leaves_nothing(self, rig: NodeRig) -> None:
        before = await rig.node.report()
        with pytest.raises(SnapshotNotFound):
            await rig.node.create(replace(rig.create_order(), source=snapshot_id(404)))
        after = await rig.node.report()
        assert (after.present, after.surviving_disks) == (before.present, before.surviving_disks)

    async def test_a_disk_needs_a_cold_boot_to_be_asked_for(self, rig: NodeRig) -> None:
        with pytest.raises(SnapshotHasNoMemory):
            await rig.node.create(replace(rig.create_order(), source=rig.disk))
        placed = await rig.node.create(replace(rig.create_order(), source=rig.disk, cold=True))
        assert placed.cold

    # pause, kill, resume

    async def test_a_pause_leaves_a_snapshot_and_a_source_that_stands_still(self, rig: NodeRig) -> None:
        sandbox = await rig.create()
        captured = await rig.node.pause(capture(sandbox, 1))
        assert (captured.snapshot, captured.kind) == (snapshot_id(1), SnapshotKind.MEMORY)
        assert await rig.has(snapshot_id(1))
        assert await rig.presence(sandbox) is not None, "killed only when control says so"

    async def test_a_pause_repeated_returns_the_same_snapshot(self, rig: NodeRig) -> None:
        sandbox = await rig.create()
        first, second = await rig.node.pause(capture(sandbox, 1)), await rig.node.pause(capture(sandbox, 1))
        assert (first.snapshot, first.kind, first.created_at) == (second.snapshot, second.kind, second.created_at)

    async def test_a_pause_of_nobody_is_a_loss(self, rig: NodeRig) -> None:
        with pytest.raises(SandboxLost):
            await rig.node.pause(capture(SandboxId("i" + "9" * 20), 1))
        assert not await rig.has(snapshot_id(1))

    async def test_a_cancelled_pause_leaves_it_running_or_done(self, rig: NodeRig) -> None:
        sandbox = await rig.create()
        with anyio.CancelScope() as scope:
            scope.cancel()
            await rig.node.pause(capture(sandbox, 1))
        presence = await rig.presence(sandbox)
        assert presence is not None and presence.alive
        assert (await rig.node.snapshot(capture(sandbox, 2))).snapshot == snapshot_id(2), "it can still be captured"

    async def test_sleep_and_wake(self, rig: NodeRig) -> None:
        sandbox = await rig.create()
        await rig.node.pause(capture(sandbox, 1))
        await rig.node.kill(KillOrder(sandbox, 1, asleep=True))
        report = await rig.node.report()
        assert await rig.presence(sandbox) is None and sandbox not in report.surviving_disks
        placed = await rig.node.resume(self.resume_order(rig, sandbox, snapshot_id(1)))
        presence = await rig.presence(sandbox)
        assert presence is not None and (presence.incarnation, presence.endpoint) == (2, placed.endpoint)
        assert not placed.cold
        assert await rig.has(snapshot_id(1)), "waking leaves the snapshot"

    async def test_a_frozen_source_is_thawed_and_a_late_kill_leaves_it_alone(self, rig: NodeRig) -> None:
        sandbox = await rig.create()
        await rig.node.pause(capture(sandbox, 1))
        await rig.node.resume(self.resume_order(rig, sandbox, snapshot_id(1)))
        await rig.node.kill(KillOrder(sandbox, 1, asleep=True))
        presence = await rig.presence(sandbox)
        assert presence is not None and presence.alive and presence.incarnation == 2

    async def test_sleep_without_memory_boots(self, rig: NodeRig) -> None:
        sandbox = await rig.create()
        assert (await rig.node.pause(capture(sandbox, 1, keep_memory=False))).kind is SnapshotKind.DISK
        await rig.node.kill(KillOrder(sandbox, 1, asleep=True))
        with pytest.raises(SnapshotHasNoMemory):
            await rig.node.resume(self.resume_order(rig, sandbox, snapshot_id(1)))
        placed = await rig.node.resume(replace(self.resume_order(rig, sandbox, snapshot_id(1), 3), cold=True))
        assert placed.cold

    async def test_resume_twice_is_resume_once(self, rig: NodeRig) -> None:
        sandbox = await rig.create()
        await rig.node.pause(capture(sandbox, 1))
        await rig.node.kill(KillOrder(sandbox, 1, asleep=True))
        order = self.resume_order(rig, sandbox, snapshot_id(1))
        assert (await rig.node.resume(order)).endpoint == (await rig.node.resume(order)).endpoint

    # snapshot

    async def test_a_snapshot_leaves_its_source_running_and_makes_others(self, rig: NodeRig) -> None:
        sandbox = await rig.create()
        await rig.node.snapshot(capture(sandbox, 1))
        presence = await rig.presence(sandbox)
        assert presence is not None and presence.alive
        await rig.node.create(replace(rig.create_order(2), source=snapshot_id(1)))
        assert len((await rig.node.report()).present) == 2

    async def test_a_snapshot_outlives_its_sandbox_and_is_deleted_at_once_or_twice(self, rig: NodeRig) -> None:
        sandbox = await rig.create()
        await rig.node.snapshot(capture(sandbox, 1))
        await rig.node.kill(KillOrder(sandbox, 1))
        assert await rig.has(snapshot_id(1))
        for _ in range(2):
            await rig.snapshots.delete_snapshot(snapshot_id(1))
            assert not await rig.has(snapshot_id(1))

    # kill

    async def test_a_kill_leaves_nothing_and_may_be_repeated(self, rig: NodeRig) -> None:
        sandbox = await rig.create()
        for _ in range(2):
            await rig.node.kill(KillOrder(sandbox, 1))
            report = await rig.node.report()
            assert await rig.presence(sandbox) is None and sandbox not in report.surviving_disks
        await rig.node.kill(KillOrder(SandboxId("i" + "9" * 20), 1))

    async def test_a_kill_keeps_the_disk_if_told_and_may_be_repeated(self, rig: NodeRig) -> None:
        sandbox = await rig.create()
        order = KillOrder(sandbox, 1, keep=capture(sandbox, 1, keep_memory=False))
        kept = [await rig.node.kill(order) for _ in range(2)]
        for each in kept:
            assert each is not None and (each.snapshot, each.kind) == (snapshot_id(1), SnapshotKind.DISK)
        report = await rig.node.report()
        assert await rig.presence(sandbox) is None and sandbox not in report.surviving_disks
        assert await rig.has(snapshot_id(1))
        placed = await rig.node.create(replace(rig.create_order(2), source=snapshot_id(1), cold=True))
        assert placed.cold, "another goes on from it"

    async def test_a_disk_is_kept_of_one_whose_process_had_ended_and_of_nobody_none(self, rig: NodeRig) -> None:
        sandbox = await rig.create()
        await rig.end(sandbox)
        kept = await rig.node.kill(KillOrder(sandbox, 1, keep=capture(sandbox, 1, keep_memory=False)))
        assert kept is not None and await rig.has(snapshot_id(1))
        nobody = SandboxId("i" + "9" * 20)
        assert await rig.node.kill(KillOrder(nobody, 1, keep=capture(nobody, 2, keep_memory=False))) is None
        assert not await rig.has(snapshot_id(2))

    async def test_two_orders_for_one_sandbox_do_not_mix(self, rig: NodeRig) -> None:
        sandbox = await rig.create()
        async with anyio.create_task_group() as group:
            group.start_soon(rig.node.snapshot, capture(sandbox, 1))
            await anyio.lowlevel.checkpoint()
            group.start_soon(rig.node.kill, KillOrder(sandbox, 1))
        assert await rig.presence(sandbox) is None
        assert await rig.has(snapshot_id(1))

    # the rest

    async def test_a_command_runs_inside_to_its_end(self, rig: NodeRig) -> None:
        order = rig.create_order()
        sandbox = order.sandbox
        await rig.node.create(replace(order, identity=replace(order.identity, access_token="")))
        assert (await rig.node.run(RunOrder(sandbox, 1, "true"))).exit_code == 0
        for gone in (RunOrder(sandbox, 2, "true"), RunOrder(SandboxId("i" + "9" * 20), 1, "true")):
            with pytest.raises(SandboxLost):
                await rig.node.run(gone)

    async def test_an_end_that_nobody_ordered_is_told(self, rig: NodeRig) -> None:
        sandbox = await rig.create()
        departures = rig.node.watch()
        await rig.end(sandbox)
        with anyio.fail_after(60):
            departure = await anext(departures)
        assert (departure.sandbox, departure.incarnation) == (sandbox, 1)
        with pytest.raises(SandboxLost):
            await rig.node.pause(capture(sandbox, 1))

    async def test_a_disk_is_imported_once_and_boots(self, rig: NodeRig) -> None:
        for _ in range(2):
            captured = await rig.snapshots.import_disk(snapshot_id(1), rig.root, "base")
            assert (captured.snapshot, captured.kind) == (snapshot_id(1), SnapshotKind.DISK)
        await rig.node.create(replace(rig.create_order(), source=snapshot_id(1), cold=True))

    async def test_a_report_tells_what_room_there_is(self, rig: NodeRig) -> None:
        report = await rig.node.report()
        assert 0 < report.disk_free_bytes <= report.disk_total_bytes
        assert report.memory_free_bytes > 0
        assert {rig.source, rig.disk} <= report.snapshots

    async def test_warmth_may_be_wished_for_and_let_go(self, rig: NodeRig) -> None:
        await rig.snapshots.keep_warm([WarmTarget(rig.source, 1)])
        await rig.node.create(rig.create_order())
        await rig.snapshots.keep_warm([])
