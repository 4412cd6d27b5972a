"""The node: carries out orders on this machine. `contracts.cluster.Node`.

Orders for one sandbox run one after the other, by its lock; each looks at what is there first, so a repeated order finishes what
a crash left, or returns what is already true. What a restart finds is in `open`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import structlog
from anyio import to_thread
from anyio.abc import TaskGroup

from roost.archive.keys import ContainerPaths
from roost.contracts.cluster import Warmth
from roost.contracts.guest import Guest
from roost.domain.errors import RoostError, SandboxLost, SnapshotNotFound
from roost.domain.ids import NodeId, SandboxId, SnapshotId
from roost.domain.node import (
    Captured,
    CaptureOrder,
    CreateOrder,
    Departure,
    EgressOrder,
    Identity,
    KillOrder,
    NodeReport,
    Placed,
    Presence,
    ResumeOrder,
    Usage,
)
from roost.domain.sandbox import Size
from roost.node import inventory, subvolumes
from roost.node.captures import Captures
from roost.node.containers import Clone, Container, Containers, discard_snapshot
from roost.node.imports import import_root
from roost.node.inventory import Journal, Phase
from roost.node.memory import MemoryGuard, alarm_for
from roost.node.meter import disk_space, memory_free_bytes
from roost.node.pool import Busy, Pool
from roost.node.slots import Slot
from roost.node.steps import CrashPoint, Steps, never

_BOOT_LIMIT_S = 60.0
ENDED_MARK = "var/lib/roost/ended"  # written by the agent when it ends in order
_HAS_PROCESS = frozenset({Phase.RUNNING, Phase.CAPTURING, Phase.FROZEN})
_DISCARDED_EARLY = frozenset({Phase.MAKING, Phase.WARM})

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Held:
    """A sandbox that this node holds something of."""

    container: Container
    alive: bool
    size: Size
    watch: anyio.CancelScope | None = None


class NodeService:
    def __init__(
        self, *, id: NodeId, containers: Containers, guest: Guest, now: Callable[[], float], tasks: TaskGroup,
        crash_point: CrashPoint = never,
    ) -> None:  # fmt: skip
        self._id = id
        self._containers = containers
        self._guest = guest
        self._now = now
        self._tasks = tasks
        self._crash_point = crash_point
        self._busy = Busy()
        self._pool = Pool(containers=containers, busy=self._busy)
        self._captures = Captures(containers=containers, guest=guest, now=now)
        self._held: dict[SandboxId, _Held] = {}
        self._locks: dict[SandboxId, anyio.Lock] = {}
        self._departures, self._departed = anyio.create_memory_object_stream[Departure](float("inf"))

    # Life of the node

    async def open(self) -> None:
        """Adopts what still runs, takes back what was half done, keeps the slots of those asleep."""
        volume = self._containers.volume
        for folder in (volume.sandboxes, volume.pool, volume.snapshots):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = list(inventory.scan(volume.sandboxes))
        warm = list(inventory.scan(volume.pool))
        kept = [journal.slot for _, journal in found if journal and journal.phase not in _DISCARDED_EARLY]
        await self._containers.slots.open(adopt=[slot for slot in kept if slot is not None])
        for paths, journal in warm:
            await self._containers.remove(paths, journal, keep_slot=True)
        for paths, journal in found:
            await self._adopt(paths, journal)
        await to_thread.run_sync(self._sweep_snapshots)
        self._tasks.start_soon(self._pool.run)

    async def close(self) -> bool:
        """Sandboxes that run live on, with their slots: True. When none runs, nothing of this instance is left on the machine but
        the volume: False."""
        await self._pool.close()
        for held in self._held.values():
            self._unwatch(held)
        lives_on = any(held.alive for held in self._held.values())
        await self._containers.slots.close(remove=not lives_on)
        await self._departures.aclose()
        await self._departed.aclose()
        return lives_on

    async def _adopt(self, paths: ContainerPaths, journal: Journal | None) -> None:
        if journal is None or journal.sandbox is None or journal.phase in _DISCARDED_EARLY:
            await self._containers.remove(paths, journal, keep_slot=True)
            return
        runtime = self._containers.engines.of(journal.engine)
        alive = runtime is not None and (await runtime.inspect(journal.container)).alive and journal.phase in _HAS_PROCESS
        slot = await self._slot_of(journal)
        container = Container(paths, journal, slot)
        if journal.phase is Phase.REVIVING:
            await self._containers.put_out(journal)
            container = await self._containers.note(container, phase=Phase.RUNNING)
        if alive and runtime is not None and journal.phase is Phase.CAPTURING and not self._exists(journal.snapshot):
            with contextlib.suppress(RoostError):  # the crash may have come before the freeze
                await runtime.thaw(journal.container)
            container = await self._containers.note(container, phase=Phase.RUNNING, snapshot=None)
        elif alive and journal.phase is Phase.CAPTURING:
            container = await self._containers.note(container, phase=Phase.FROZEN)
        self._hold(journal.sandbox, container, alive=alive, size=await self._size_at(journal))
        log.info("adopted", sandbox=journal.sandbox, phase=container.journal.phase, alive=alive)

    def _sweep_snapshots(self) -> None:
        """A snapshot directory without a manifest is none."""
        for home in self._containers.volume.snapshots.iterdir():
            paths = self._containers.volume.snapshot(SnapshotId(home.name))
            if not paths.manifest.exists():
                discard_snapshot(paths)

    # Orders

    async def create(self, order: CreateOrder) -> Placed:
        return await self._place(order, order.sandbox, "create")

    async def resume(self, order: ResumeOrder) -> Placed:
        return await self._place(order, order.sandbox, "resume")

    async def pause(self, order: CaptureOrder) -> Captured:
        async with self._order(order.sandbox, "pause"):
            if done := await self._already(order):
                return done
            held = await self._capturable(order)
            if not held.alive:
                return await self._captures.capture_disk(held.container, order, held.size)
            async with Steps("pause", self._crash_point) as steps:
                await steps.do("note", _nothing(), undo=lambda: self._note(held, phase=Phase.RUNNING, snapshot=None))
                captured = await self._captures.capture(steps, held.container, order, held.size, thaw=False)
                steps.keep()
            self._crash_point("pause.published")
            await self._note(held, phase=Phase.FROZEN, snapshot=order.snapshot)
            self._crash_point("pause.frozen")
            return captured

    async def snapshot(self, order: CaptureOrder) -> Captured:
        async with self._order(order.sandbox, "snapshot"):
            if done := await self._already(order):
                return done
            held = await self._capturable(order)
            if not held.alive:
                return await self._captures.capture_disk(held.container, order, held.size)
            async with Steps("snapshot", self._crash_point) as steps:
                await steps.do("note", _nothing(), undo=lambda: self._note(held, phase=Phase.RUNNING, snapshot=None))
                captured = await self._captures.capture(steps, held.container, order, held.size, thaw=True)
                steps.keep()
            self._crash_point("snapshot.published")
            await self._note(held, phase=Phase.RUNNING, snapshot=None)
            self._crash_point("snapshot.done")
            return captured

    async def kill(self, order: KillOrder) -> None:
        async with self._order(order.sandbox, "kill"):
            held = self._held.get(order.sandbox)
            if held is None or held.container.journal.incarnation > order.incarnation:
                return
            with anyio.CancelScope(shield=True):
                self._unwatch(held)
                held.alive = False
                if order.asleep and held.container.slot is not None:
                    await self._lay_down(order.sandbox, held)
                else:
                    await self._bury(order.sandbox, held)
            self._crash_point("kill.done")

    async def set_egress(self, order: EgressOrder) -> None:
        async with self._order(order.sandbox, "egress"):
            held = self._held.get(order.sandbox)
            if held is None or not held.alive or held.container.journal.incarnation != order.incarnation:
                return
            assert held.container.slot is not None
            await self._containers.slots.set_egress(held.container.slot, order.egress)

    async def import_disk(self, snapshot: SnapshotId, root: Path, template: str) -> Captured:
        paths = self._containers.volume.snapshot(snapshot)
        if not self._exists(snapshot):
            await to_thread.run_sync(import_root, paths, root, template, self._now())
        manifest = await to_thread.run_sync(self._containers.load, snapshot)
        return Captured(snapshot, manifest.kind, 0, manifest.created_at, 0.0)

    async def delete_snapshot(self, snapshot: SnapshotId) -> None:
        await to_thread.run_sync(discard_snapshot, self._containers.volume.snapshot(snapshot))

    async def keep_warm(self, wanted: Sequence[Warmth]) -> None:
        self._pool.want(wanted)

    # Looking

    async def report(self) -> NodeReport:
        present = [await self._presence(sandbox, held) for sandbox, held in list(self._held.items())]
        free, total = await to_thread.run_sync(disk_space, self._containers.volume.home)
        return NodeReport(
            node=self._id,
            present=tuple(entry for entry in present if entry is not None),
            snapshots=await to_thread.run_sync(self._manifests),
            surviving_disks=frozenset(
                sandbox
                for sandbox, held in self._held.items()
                if not held.alive and held.container.journal.phase is not Phase.ASLEEP and held.container.paths.root.exists()
            ),
            memory_free_bytes=memory_free_bytes(),
            disk_free_bytes=free,
            disk_total_bytes=total,
            warm=self._pool.counts(),
        )

    def departures(self) -> AsyncIterator[Departure]:
        return self._departed

    def _manifests(self) -> frozenset[SnapshotId]:
        return frozenset(SnapshotId(path.parent.name) for path in self._containers.volume.snapshots.glob("*/manifest.json"))

    async def _presence(self, sandbox: SandboxId, held: _Held) -> Presence | None:
        container = held.container
        if container.journal.phase not in _HAS_PROCESS or container.slot is None:
            return None
        usage = await self._usage(sandbox, container) if held.alive else None
        return Presence(sandbox, container.journal.incarnation, container.slot.address, held.alive, usage)

    async def _usage(self, sandbox: SandboxId, container: Container) -> Usage:
        cgroup = self._containers.cgroup(container.journal.container)
        meter = self._containers.meter
        assert container.slot is not None
        network = await self._containers.slots.counters(container.slot)
        return Usage(
            at=self._now(),
            cpu_s=meter.cpu_s(cgroup),
            memory_bytes=meter.memory_bytes(cgroup),
            disk_bytes=meter.disk_bytes(sandbox),
            received_bytes=network.received_bytes,
            sent_bytes=network.sent_bytes,
        )

    # Placing: create and resume are one thing to a node

    async def _place(self, order: CreateOrder | ResumeOrder, sandbox: SandboxId, work: str) -> Placed:
        async with self._order(sandbox, work):
            held = self._held.get(sandbox)
            if held is not None and held.alive:
                journal = held.container.journal
                if journal.phase is Phase.RUNNING and journal.incarnation == order.incarnation:
                    return self._placed(held.container, order)
                if journal.phase is Phase.FROZEN and journal.snapshot == order.source and not order.cold:
                    return await self._thaw_source(held, order)
            async with Steps(work, self._crash_point) as steps:
                container = await self._take_warm(steps, order) or await self._make(steps, order, held)
                assert container.slot is not None
                await self._introduce(container.slot, order)
                container = await self._containers.note(container, phase=Phase.RUNNING)
                steps.keep()
            self._hold(sandbox, container, alive=True, size=order.size)
            self._crash_point(f"{work}.done")
            return self._placed(container, order)

    async def _take_warm(self, steps: Steps, order: CreateOrder | ResumeOrder) -> Container | None:
        if order.cold or isinstance(order, ResumeOrder):
            return None
        while warm := self._pool.take(order.source, order.size):
            runtime = self._containers.engine_of(warm)
            if not (await runtime.inspect(warm.journal.container)).alive:
                await self._containers.remove(warm.paths, warm.journal, keep_slot=False)
                continue
            paths = self._containers.volume.sandbox(order.sandbox)

            async def unmake(paths: ContainerPaths = paths, warm: Container = warm) -> None:
                await self._containers.remove(warm.paths, warm.journal, keep_slot=False)
                await self._containers.remove(paths, warm.journal, keep_slot=True)

            return await steps.do("claim", self._claim(warm, paths, order), undo=unmake)
        return None

    async def _claim(self, warm: Container, paths: ContainerPaths, order: CreateOrder | ResumeOrder) -> Container:
        journal = replace(warm.journal, phase=Phase.MAKING, sandbox=order.sandbox, incarnation=order.incarnation)

        def rename() -> None:
            inventory.write(warm.paths, journal)
            warm.paths.home.rename(paths.home)
            group = subvolumes.quota_group(order.sandbox)
            subvolumes.make_group(self._containers.volume.home, group, (order.size.disk_mb << 20) or None)
            subvolumes.join_group(paths.root, group)

        await to_thread.run_sync(rename)
        assert warm.slot is not None
        await self._containers.slots.set_egress(warm.slot, order.egress)
        await self._containers.engine_of(warm).thaw(warm.journal.container)
        return Container(paths, journal, warm.slot)

    async def _make(self, steps: Steps, order: CreateOrder | ResumeOrder, held: _Held | None) -> Container:
        kept_slot: Slot | None = None
        in_place = isinstance(order, CreateOrder) and order.in_place and held is not None and held.container.paths.root.exists()
        if held is not None:
            kept_slot = await self._clear(order.sandbox, held, keep_root=in_place)
            if kept_slot is not None and (order.cold or isinstance(order, CreateOrder)):
                # A booted guest knows nothing of old connections: they must break, not meet a stranger.
                await self._containers.slots.release(kept_slot)
                kept_slot = None
        clone = Clone(
            paths=self._containers.volume.sandbox(order.sandbox),
            name=f"{order.sandbox}-{order.incarnation}",
            source=order.source,
            size=order.size,
            cold=order.cold,
            in_place=in_place,
            slot=kept_slot,
            sandbox=order.sandbox,
            incarnation=order.incarnation,
            egress=order.egress,
        )
        if kept_slot is not None:
            await steps.do("kept slot", _nothing(), undo=lambda: self._lay_down_again(order, kept_slot))
        return await self._containers.make(steps, clone)

    async def _clear(self, sandbox: SandboxId, held: _Held, *, keep_root: bool) -> Slot | None:
        """An older incarnation's remains are gone, but for a root that is still wanted; its slot is handed on."""
        self._unwatch(held)
        slot, journal = held.container.slot, held.container.journal
        if keep_root:
            await self._containers.put_out(journal)
            await self._note(held, slot=None)
            held.container = replace(held.container, slot=None)
        else:
            await self._containers.remove(held.container.paths, journal, keep_slot=True)
            self._held.pop(sandbox, None)
        return slot

    async def _thaw_source(self, held: _Held, order: CreateOrder | ResumeOrder) -> Placed:
        """The pause had only just been finished: the source still stands there, frozen at exactly this snapshot."""
        container = held.container
        assert container.slot is not None
        await self._containers.slots.set_egress(container.slot, order.egress)
        await self._containers.engine_of(container).thaw(container.journal.container)
        held.container = await self._containers.note(container, phase=Phase.RUNNING, incarnation=order.incarnation, snapshot=None)
        await self._introduce(container.slot, order)
        return self._placed(held.container, order)

    async def _introduce(self, slot: Slot, order: CreateOrder | ResumeOrder) -> None:
        identity: Identity = order.identity
        if order.cold:
            await self._guest.ready(slot.address, _BOOT_LIMIT_S)
            await self._guest.init(slot.address, identity)
        else:
            await self._guest.after_restore(slot.address, identity)

    def _placed(self, container: Container, order: CreateOrder | ResumeOrder) -> Placed:
        assert container.slot is not None
        lost: tuple[str, ...] = ()
        if order.cold:
            with contextlib.suppress(SnapshotNotFound):
                lost = self._containers.load(order.source).processes
        return Placed(container.slot.address, order.cold, lost)

    # Ends

    async def _lay_down(self, sandbox: SandboxId, held: _Held) -> None:
        """Asleep: only the slot and a journal that says so are left."""
        container = held.container
        runtime = self._containers.engine_of(container)
        await runtime.kill(container.journal.container)
        self._containers.meter.remove_cgroup(self._containers.cgroup(container.journal.container))
        held.container = await self._containers.note(container, phase=Phase.ASLEEP, snapshot=None)
        await to_thread.run_sync(subvolumes.delete, container.paths.root)

    async def _lay_down_again(self, order: CreateOrder | ResumeOrder, slot: Slot) -> None:
        """A resume failed: asleep as before, with its slot."""
        paths = self._containers.volume.sandbox(order.sandbox)
        journal = Journal(
            phase=Phase.ASLEEP, container=f"{order.sandbox}-{order.incarnation - 1}", engine="", slot=slot.index,
            source=order.source, sandbox=order.sandbox, incarnation=order.incarnation - 1,
        )  # fmt: skip

        def write() -> None:
            paths.home.mkdir(parents=True, exist_ok=True, mode=0o700)
            inventory.write(paths, journal)

        await to_thread.run_sync(write)
        self._hold(order.sandbox, Container(paths, journal, slot), alive=False, size=order.size)

    def _left_in_order(self, held: _Held) -> bool:
        """Whether PID 1 ended because it was told to, inside: it leaves a mark. Anything else is a loss."""
        return os.path.lexists(held.container.paths.root / ENDED_MARK)

    async def _bury(self, sandbox: SandboxId, held: _Held) -> None:
        await self._containers.remove(held.container.paths, held.container.journal, keep_slot=False)
        await to_thread.run_sync(subvolumes.drop_group, self._containers.volume.home, subvolumes.quota_group(sandbox))
        self._containers.meter.forget(sandbox)
        self._held.pop(sandbox, None)
        self._locks.pop(sandbox, None)

    # Small things

    @contextlib.asynccontextmanager
    async def _order(self, sandbox: SandboxId, work: str) -> AsyncIterator[None]:
        lock = self._locks.setdefault(sandbox, anyio.Lock())
        with self._busy:
            async with lock:
                self._crash_point(f"{work}.begin")
                yield

    async def _already(self, order: CaptureOrder) -> Captured | None:
        """The order was carried out before: its manifest is there."""
        if not self._exists(order.snapshot):
            return None
        manifest = await to_thread.run_sync(self._containers.load, order.snapshot)
        return Captured(order.snapshot, manifest.kind, manifest.memory_bytes, manifest.created_at, 0.0)

    async def _capturable(self, order: CaptureOrder) -> _Held:
        held = self._held.get(order.sandbox)
        if held is None:
            raise SandboxLost(order.sandbox, "this node holds nothing of it")
        if not held.alive and (order.keep_memory or not held.container.paths.root.exists()):
            raise SandboxLost(order.sandbox, "its process has ended")
        return held

    async def _note(self, held: _Held, **changes: object) -> None:
        held.container = await self._containers.note(held.container, **changes)

    async def _slot_of(self, journal: Journal) -> Slot | None:
        if journal.slot is None:
            return None
        try:
            return await self._containers.slots.get(journal.slot)
        except RoostError:
            return None

    async def _size_at(self, journal: Journal) -> Size:
        if journal.source is None:
            return Size()
        try:
            return (await to_thread.run_sync(self._containers.load, journal.source)).size
        except RoostError:
            return Size()

    def _exists(self, snapshot: SnapshotId | None) -> bool:
        return snapshot is not None and self._containers.volume.snapshot(snapshot).manifest.exists()

    def _hold(self, sandbox: SandboxId, container: Container, *, alive: bool, size: Size) -> None:
        held = _Held(container, alive, size)
        self._held[sandbox] = held
        if alive:
            held.watch = anyio.CancelScope()
            self._tasks.start_soon(self._watch, sandbox, held, held.watch)

    def _unwatch(self, held: _Held) -> None:
        if held.watch is not None:
            held.watch.cancel()
            held.watch = None

    async def _watch(self, sandbox: SandboxId, held: _Held, scope: anyio.CancelScope) -> None:
        with scope:
            await self._wait_for_end(held)
            held.alive = False
            journal = held.container.journal
            log.warning("a sandbox's process ended by itself", sandbox=sandbox, incarnation=journal.incarnation)
            with contextlib.suppress(anyio.ClosedResourceError):
                in_order = self._left_in_order(held)
                detail = "it was shut down from inside" if in_order else "its process ended unexpectedly"
                self._departures.send_nowait(Departure(sandbox, journal.incarnation, detail, in_order=in_order))

    async def _wait_for_end(self, held: _Held) -> None:
        """Returns when the container's process has ended; until then its memory is guarded."""
        runtime, name = self._containers.engine_of(held.container), held.container.journal.container
        async with anyio.create_task_group() as tasks:
            if alarm := alarm_for(self._containers.cgroup(name), held.size):
                tasks.start_soon(MemoryGuard(runtime=runtime, container=name, alarm=alarm).run)
            await runtime.wait(name)
            tasks.cancel_scope.cancel()


async def _nothing() -> None:
    """For undo steps that guard what follows rather than what was done."""
