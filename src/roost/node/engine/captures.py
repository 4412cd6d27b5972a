"""Takes the memory and the disk of a container into a snapshot. Manifest last.

While it stands still: the agent is told, the engine writes the memory, the subvolume is snapshotted (in that order: the engine
flushes what it holds of files). One that is to sleep stands still as a whole from then on, its network stack too. What takes long
besides (sync, hashing) runs beside the disk's snapshot for a pause, since the guest is about to sleep anyway, and with the guest
running again for a snapshot.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import structlog
from anyio import CancelScope, to_thread

from roost.archive import manifest as manifests
from roost.archive.keys import MEMORY, SPEC, ContainerPaths, SnapshotPaths
from roost.archive.manifest import DiskProof, FileProof, Manifest
from roost.contracts.guest import Guest
from roost.contracts.runtime import Runtime
from roost.domain.errors import EngineFailed, GuestUnreachable, NodeFull
from roost.domain.node import Captured, CaptureOrder
from roost.domain.sandbox import Size
from roost.domain.snapshot import SnapshotKind
from roost.node.engine.containers import Container, Containers, discard_snapshot, spec_agent
from roost.node.engine.freezing import FreezeHold, FreezeLock
from roost.node.engine.meter import disk_space, is_full
from roost.node.inventory import Phase
from roost.node.steps import CrashPoint, Steps, both, together
from roost.node.storage import subvolumes

_DISK_RESERVE_BYTES = 256 << 20

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class CaptureSource:
    """What is captured."""

    container: Container
    size: Size
    freeze_lock: FreezeLock


@dataclass(frozen=True, slots=True)
class CapturedParts:
    """What was gathered of a container, besides its memory."""

    disk: subvolumes.SubvolumeInfo
    files: dict[str, FileProof]
    processes: tuple[str, ...]
    frozen_at: float


class Captures:
    def __init__(self, *, containers: Containers, guest: Guest, now: Callable[[], float]) -> None:
        self._containers = containers
        self._guest = guest
        self._now = now

    async def capture(self, steps: Steps, source: CaptureSource, order: CaptureOrder, *, thaw: bool) -> Captured:
        """The manifest is on disk. With `thaw` the container runs again long before that; without, it is still frozen."""
        container = source.container
        paths = self._containers.volume.snapshot(order.snapshot)
        await self._make_room(container, keep_memory=order.keep_memory)
        await steps.do(
            "directory",
            to_thread.run_sync(_fresh, paths, container, order.keep_memory),
            undo=lambda: to_thread.run_sync(discard_snapshot, paths),
        )
        processes: list[str] = []
        await together(
            self._tell_guest(container, keep_memory=order.keep_memory),
            self._list_processes(container, order, processes),
        )
        container = await self._containers.note(container, phase=Phase.CAPTURING, snapshot=order.snapshot)
        hold = FreezeHold(source.freeze_lock)
        await steps.do("freeze", hold.take(), undo=hold.let_go)
        frozen_at = self._now()
        if order.keep_memory:
            await self._take_memory(steps, container, paths, goes_on=thaw)
        if thaw:
            disk = await self._take_disk(steps, container, paths)
            await steps.do("thaw", hold.let_go())
            frozen_s = self._now() - frozen_at
            # Said at once: a server that finds it capturing and the manifest there takes it for a sleeper.
            container = await self._containers.note(container, phase=Phase.RUNNING, snapshot=None)
            files = await self._prove(steps, paths, order)
        else:
            disk, files = await both(self._take_disk(steps, container, paths), self._prove(steps, paths, order))
            frozen_s = self._now() - frozen_at

        manifest = self._manifest(container, order, source.size, CapturedParts(disk, files, tuple(processes), frozen_at))
        with CancelScope(shield=True):  # once it is being published it is no longer taken back
            await to_thread.run_sync(manifests.publish, paths, manifest)
        return Captured(order.snapshot, manifest.kind, manifest.memory_bytes, manifest.created_at, frozen_s)

    async def find(self, order: CaptureOrder) -> Captured | None:
        """What the order made when it was carried out before: its manifest is there."""
        paths = self._containers.volume.snapshot(order.snapshot)
        if not await to_thread.run_sync(paths.manifest.exists):
            return None
        return self._captured(await to_thread.run_sync(self._containers.load, order.snapshot))

    async def capture_disk(self, steps: Steps, source: CaptureSource, order: CaptureOrder) -> Captured:
        """A disk snapshot of a container that has no process any more."""
        container = source.container
        paths = self._containers.volume.snapshot(order.snapshot)
        await steps.do(
            "directory",
            to_thread.run_sync(_fresh, paths, container, False),
            undo=lambda: to_thread.run_sync(discard_snapshot, paths),
        )
        disk, files = await both(self._take_disk(steps, container, paths), self._prove(steps, paths, order))
        manifest = self._manifest(container, order, source.size, CapturedParts(disk, files, (), self._now()))
        with CancelScope(shield=True):
            await to_thread.run_sync(manifests.publish, paths, manifest)
        return Captured(order.snapshot, manifest.kind, 0, manifest.created_at, 0.0)

    def turn_into_snapshot(self, source: CaptureSource, order: CaptureOrder, crash_point: CrashPoint) -> Captured | None:
        """The directory of a container that has no process any more becomes the snapshot of its disk: nothing is copied, nothing
        deleted. It moves in one step, whole: at any moment the disk is in one place, which says what it is. None when there is no
        disk. Blocks on the disk. Raises RoostError, OSError; then the disk is where it was. The root stays
        writable, which nobody uses: to make it read-only btrfs would write out the whole volume."""
        container = source.container
        paths = self._containers.volume.snapshot(order.snapshot)
        if paths.manifest.exists():  # an attempt before this one ended in a crash
            return self._captured(self._containers.load(order.snapshot))
        home = SnapshotPaths(container.paths.home)
        if container.journal.phase is Phase.ASLEEP or not home.root.exists():
            return None
        subvolumes.leave_group(home.root, subvolumes.quota_group(order.sandbox))
        taken = CapturedParts(subvolumes.info(home.root), {}, (), self._now())
        manifest = self._manifest(container, order, source.size, taken)
        manifests.write(home.manifest, manifest)  # it says nothing until the directory is where snapshots are
        crash_point("kill.written")
        discard_snapshot(paths)
        home.home.rename(paths.home)
        manifests.sync_directory(paths.home.parent)
        left = ContainerPaths(paths.home)
        shutil.rmtree(left.bundle, ignore_errors=True)
        left.journal.unlink(missing_ok=True)
        return self._captured(manifest)

    def _captured(self, manifest: Manifest) -> Captured:
        return Captured(manifest.snapshot, manifest.kind, manifest.memory_bytes, manifest.created_at, 0.0)

    async def _take_memory(self, steps: Steps, container: Container, paths: SnapshotPaths, *, goes_on: bool) -> None:
        """One that does not go on acknowledges nothing that its memory, as it was written, does not know of: what arrives is held
        off until its network stack has stopped too. Whoever sent it would never send it again."""
        runtime, name, slot = self._containers.engine_of(container), container.journal.container, container.slot
        if goes_on or slot is None:
            await steps.do("memory", self._checkpoint(runtime, name, paths.memory))
            return
        slots = self._containers.slots
        await steps.do("hold", slots.hold(slot), undo=lambda: slots.let_in(slot))
        await steps.do("memory", self._checkpoint(runtime, name, paths.memory))
        await steps.do("stop", runtime.freeze(name, deep=True), undo=lambda: runtime.freeze(name))
        await slots.let_in(slot)

    async def _list_processes(self, container: Container, order: CaptureOrder, into: list[str]) -> None:
        if order.keep_memory:
            listed = await self._containers.engine_of(container).processes(container.journal.container)
            into += [process.command for process in listed if process.pid != 1]  # the agent is back after any start

    async def _take_disk(self, steps: Steps, container: Container, paths: SnapshotPaths) -> subvolumes.SubvolumeInfo:
        def take() -> subvolumes.SubvolumeInfo:
            subvolumes.snapshot(container.paths.root, paths.root, read_only=True)
            return subvolumes.info(paths.root)

        return await steps.do("disk", to_thread.run_sync(take))

    async def _checkpoint(self, runtime: Runtime, name: str, into: Path) -> None:
        try:
            await runtime.checkpoint(name, into)
        except EngineFailed as error:
            if await to_thread.run_sync(is_full, self._containers.volume.home, into):
                raise NodeFull("disk space", "room for its memory", "less") from error
            raise

    async def _tell_guest(self, container: Container, *, keep_memory: bool) -> None:
        """A guest that does not answer is captured all the same: its memory is what it is."""
        if container.slot is None:
            return
        address = container.slot.address
        try:
            if keep_memory:
                await self._guest.before_checkpoint(address)
            else:
                await self._guest.flush(address)  # files the guest's kernel still holds back
        except GuestUnreachable as error:
            if not keep_memory:
                raise
            log.warning("capturing a guest that does not answer", container=container.journal.container, error=error.message)

    async def _make_room(self, container: Container, *, keep_memory: bool) -> None:
        needed = _DISK_RESERVE_BYTES
        if keep_memory:
            needed += self._containers.meter.memory_bytes(self._containers.cgroup(container.journal.container))
        free, _ = await to_thread.run_sync(disk_space, self._containers.volume.home)
        if free < needed:
            raise NodeFull("disk space", f"{needed >> 20} MB", f"{free >> 20} MB")

    async def _prove(self, steps: Steps, paths: SnapshotPaths, order: CaptureOrder) -> dict[str, FileProof]:
        """On the disk and hashed, both at once: proof costs no time of its own."""
        names = [SPEC]
        if order.keep_memory:
            names += [f"{MEMORY}/{path.name}" for path in await to_thread.run_sync(lambda: sorted(paths.memory.iterdir()))]
        files = [paths.home / name for name in names]
        proofs: dict[str, FileProof] = {}

        def sync() -> None:
            for file in files:  # all are under way before the first is waited for
                manifests.start_writing(file)
            for file in files:
                manifests.sync_file(file)

        def prove() -> None:
            proofs.update({name: manifests.prove(file) for name, file in zip(names, files, strict=True)})

        await steps.do("prove", together(to_thread.run_sync(sync), to_thread.run_sync(prove)))
        return proofs

    def _manifest(self, container: Container, order: CaptureOrder, size: Size, taken: CapturedParts) -> Manifest:
        engines = self._containers.engines
        capabilities = (engines.of(container.journal.engine) or engines.current).capabilities
        return Manifest(
            snapshot=order.snapshot,
            kind=SnapshotKind.MEMORY if order.keep_memory else SnapshotKind.DISK,
            template=order.template,
            created_at=taken.frozen_at,
            engine=capabilities.engine,
            engine_flags=capabilities.flags,
            agent=spec_agent(container.paths.spec),
            cpu_features=tuple(sorted(self._containers.cpu_features)),
            size=size,
            disk=DiskProof(taken.disk.uuid, taken.disk.generation),
            sandbox=order.sandbox,
            parent=order.parent,
            files=taken.files,
            processes=taken.processes,
        )


def _fresh(paths: SnapshotPaths, container: Container, with_memory: bool) -> None:
    """A snapshot directory with nothing in it but the spec; what an interrupted attempt left is thrown away."""
    discard_snapshot(paths)
    (paths.memory if with_memory else paths.home).mkdir(parents=True, mode=0o700)
    shutil.copyfile(container.paths.spec, paths.spec)
