"""Makes containers from snapshots and takes them away: root, slot, spec, engine, in that order and back.

Knows nothing of orders. The pool and the service both build on it.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
from anyio import to_thread

from roost.archive import manifest as manifests
from roost.archive.keys import ContainerPaths, SnapshotPaths, VolumePaths
from roost.archive.manifest import Manifest
from roost.contracts.runtime import Runtime
from roost.domain.egress import OPEN, Egress
from roost.domain.errors import SnapshotForeign, SnapshotHasNoMemory
from roost.domain.ids import SandboxId, SnapshotId
from roost.domain.sandbox import Size
from roost.domain.snapshot import SnapshotKind
from roost.node import inventory
from roost.node.engine.alarms import raise_wall
from roost.node.engine.bundle import Agent, ContainerPlace, boot_spec, relocate
from roost.node.engine.meter import Meter
from roost.node.engine.removals import ENDING_LIMIT_S, FIRST_LOOK_S, LAST_LOOK_S, Remains, Removals, clear
from roost.node.inventory import Journal, Phase
from roost.node.network.slots import Slot, Slots
from roost.node.steps import Steps, nothing, together
from roost.node.storage import subvolumes
from roost.node.storage.attachments import Attachments
from roost.node.storage.images import Images

_TIGHT_SHARE = 0.6  # of a sandbox's memory: an image beyond it may need more than that to be loaded


@dataclass(frozen=True, slots=True)
class Engines:
    """One driver for each engine version that a snapshot here was made with, and the one that boots new ones."""

    current: Runtime
    by_name: Mapping[str, Runtime]

    def of(self, name: str) -> Runtime | None:
        return self.by_name.get(name)


@dataclass(frozen=True, slots=True)
class Container:
    """A container of this node, with or without a process behind it."""

    paths: ContainerPaths
    journal: Journal
    slot: Slot | None

    def at(self, *, phase: Phase, snapshot: SnapshotId | None = None) -> Container:
        """The same, further on. Not written down."""
        return replace(self, journal=replace(self.journal, phase=phase, snapshot=snapshot))


@dataclass(frozen=True, slots=True)
class Clone:
    """What to make: a container of `source` in `paths`."""

    paths: ContainerPaths
    name: str
    source: SnapshotId
    size: Size
    cold: bool
    in_place: bool = False  # the root that is in `paths` already, not a clone; it outlives a failure
    continues: bool = False  # the sandbox that was saved wakes, and is not to have a twin
    slot: Slot | None = None  # one that was kept for it
    sandbox: SandboxId | None = None
    incarnation: int = 0
    egress: Egress = OPEN
    proves: bool = False  # the image is hashed also if that was done before


@dataclass(frozen=True, slots=True)
class Laid:
    """What is there before the engine is started."""

    journal: Journal
    manifest: Manifest | None  # None: a root that is booted where it is
    runtime: Runtime
    is_proven: bool


class Containers:
    def __init__(
        self, *, volume: VolumePaths, engines: Engines, slots: Slots, agent: Agent, meter: Meter, cgroup_parent: str,
        cpu_features: frozenset[str], attachments: Attachments,
    ) -> None:  # fmt: skip
        self.volume = volume
        self.engines = engines
        self.slots = slots
        self.meter = meter
        self.cpu_features = cpu_features
        self.images = Images(volume)
        self.attachments = attachments
        self.removals = Removals(volume=volume, meter=meter, attachments=attachments)
        self._agent = agent
        self._cgroup_parent = cgroup_parent

    def cgroup(self, container: str) -> str:
        return f"/{self._cgroup_parent}/{container}"

    def sweep_cgroups(self, keep: Collection[str]) -> None:
        """Cgroups of this node that belong to none of these containers are gone. Blocks for a moment."""
        self.meter.sweep_cgroups(self._cgroup_parent, keep)

    def engine_of(self, container: Container) -> Runtime:
        found = self.engines.of(container.journal.engine)
        assert found is not None, "a container runs only on an engine that is here"
        return found

    def load(self, snapshot: SnapshotId) -> Manifest:
        """Blocks on the disk. Raises SnapshotNotFound, SnapshotDamaged, SnapshotForeign."""
        return self.images.manifest(snapshot)

    def runtime_for(self, manifest: Manifest, *, cold: bool) -> Runtime:
        """The engine that can run it. Raises SnapshotHasNoMemory, SnapshotForeign."""
        if cold:
            return self.engines.current
        if manifest.kind is SnapshotKind.DISK:
            raise SnapshotHasNoMemory(manifest.snapshot)
        runtime = self.engines.of(manifest.engine)
        if runtime is None and manifest.engine:
            raise SnapshotForeign(manifest.snapshot, "engine", manifest.engine, self.engines.current.capabilities.engine)
        capabilities = (runtime or self.engines.current).capabilities
        manifests.check_usable(manifest, capabilities.engine, capabilities.flags, self.cpu_features)
        return runtime or self.engines.current

    async def make(self, steps: Steps, clone: Clone) -> Container:
        """A container that runs, proven, not yet told who it is. What it made is taken back by `steps`."""
        await self.removals.wait_for(self.cgroup(clone.name))
        slot = clone.slot
        if slot is None:
            slot = await self.slots.claim()
            await steps.do("slot", nothing(), undo=lambda: self.slots.release(slot))
        laid: list[Laid] = []

        async def unmake() -> None:
            journal = laid[0].journal if laid else None
            if not clone.in_place:
                await self.remove(clone.paths, journal)
            elif journal is not None:
                await self.end_processes(journal)

        async def lay_out() -> None:
            laid.append(await to_thread.run_sync(self._lay_out, clone, slot))

        await steps.do("clone", together(lay_out(), self._ready_slot(slot, clone.egress)), undo=unmake)
        manifest, runtime = laid[0].manifest, laid[0].runtime
        if clone.cold or manifest is None:
            await steps.do("boot", runtime.start(clone.name, clone.paths.bundle))
        else:
            # Proof runs beside the engine. Its word comes first: what a damaged image does to the engine explains nothing.
            restored = self._restore(runtime, clone, self.volume.snapshot(clone.source), manifest)
            if clone.proves or not laid[0].is_proven:
                restored = together(self.images.prove(manifest, again=clone.proves), restored)
            await steps.do("restore", restored)
        return Container(clone.paths, laid[0].journal, slot)

    async def _restore(self, runtime: Runtime, clone: Clone, source: SnapshotPaths, manifest: Manifest) -> None:
        beside = anyio.CancelScope()

        async def load() -> None:
            try:
                await runtime.restore(clone.name, clone.paths.bundle, source.memory)
            finally:
                beside.cancel()

        async def make_room() -> None:
            if manifest.memory_bytes > (clone.size.memory_mb << 20) * _TIGHT_SHARE > 0:
                with beside:
                    await raise_wall(self.cgroup(clone.name), clone.size)

        await together(load(), make_room())

    async def _ready_slot(self, slot: Slot, egress: Egress) -> None:
        await self.slots.set_egress(slot, egress)
        await self.slots.prepare(slot)

    async def note(self, container: Container, **changes: object) -> Container:
        """The container with its journal brought up to date, on disk too."""
        journal = replace(container.journal, **changes)  # type: ignore[arg-type]
        await to_thread.run_sync(inventory.write, container.paths, journal)
        return replace(container, journal=journal)

    async def remove(self, paths: ContainerPaths, journal: Journal | None, *, release: Slot | None = None) -> None:
        """The process is gone, and nobody finds anything of the container any more; what it leaves goes soon after. May be called
        twice."""
        if journal is not None:
            await self.end(journal)
        await self.clear_away(paths, journal, release=release)

    async def clear_away(
        self, paths: ContainerPaths, journal: Journal | None, *, release: Slot | None = None, quota_group: int | None = None,
        was_kept: bool = False,
    ) -> None:  # fmt: skip
        """As `remove`, of a container that has no process any more. With the quota group, if it is given; without the directory,
        if that became a snapshot."""
        gone = await to_thread.run_sync(self._set_aside, paths) if not was_kept else None
        # Not before: as long as a journal names its number, nobody else may be given it.
        if release is not None:
            await self.slots.release(release)
        name = journal.container if journal is not None else None
        cgroup = self.cgroup(name) if name is not None else None
        self.removals.put(Remains(gone, name, cgroup, quota_group))

    async def end(self, journal: Journal) -> None:
        """The process is gone; the disk stays. May be called twice."""
        runtime = self.engines.of(journal.engine)
        if runtime is not None and journal.phase is not Phase.ASLEEP:
            # Of a sleeper it went when it fell asleep: looking for strays would take longer the more sandboxes there are.
            await runtime.kill(journal.container)

    def _set_aside(self, paths: ContainerPaths) -> ContainerPaths | None:
        try:
            return self.removals.set_aside(paths.home)
        except FileNotFoundError:
            return None

    async def end_processes(self, journal: Journal) -> None:
        """Process and cgroup are gone; the disk stays. May be called twice."""
        if journal.phase is Phase.ASLEEP:
            return
        await self.end(journal)
        cgroup, pause_s = self.cgroup(journal.container), FIRST_LOOK_S
        with anyio.move_on_after(ENDING_LIMIT_S if self.engines.of(journal.engine) is not None else 0.0):
            # One that outlived this would be taken for one that somebody prepared: without limits of its own, and never removed.
            while not self.meter.remove_cgroup(cgroup):
                await anyio.sleep(pause_s)
                pause_s = min(2 * pause_s, LAST_LOOK_S)
        self.attachments.remove(journal.container)

    def _lay_out(self, clone: Clone, slot: Slot) -> Laid:
        """Journal, root and spec are there. Blocks on the disk."""
        manifest = None if clone.in_place else self.load(clone.source)
        runtime = self.engines.current if manifest is None else self.runtime_for(manifest, cold=clone.cold)
        spec = None if manifest is None or clone.cold else self.images.spec(manifest)
        journal = Journal(
            phase=Phase.REVIVING if clone.in_place else Phase.MAKING, container=clone.name,
            engine=runtime.capabilities.engine, slot=slot.index, source=clone.source,
            sandbox=clone.sandbox, incarnation=clone.incarnation, size=clone.size,
        )  # fmt: skip
        place = ContainerPlace(
            clone.paths.root,
            slot.guest_netns,
            self.cgroup(clone.name),
            clone.size,
            volumes=self.attachments.make(clone.name),
            continues=clone.continues,
        )
        if clone.paths.home.exists() and not clone.in_place:
            clear(clone.paths)
        clone.paths.bundle.mkdir(parents=True, exist_ok=True, mode=0o700)
        inventory.write(clone.paths, journal)
        group = subvolumes.quota_group(clone.sandbox) if clone.sandbox else None
        if group is not None:
            subvolumes.make_group(self.volume.home, group, (clone.size.disk_mb << 20) or None)
        if not clone.in_place:
            subvolumes.snapshot(self.volume.snapshot(clone.source).root, clone.paths.root, read_only=False, group=group)
        if spec is None:  # an image whose makers left files in /tmp meant them to be seen
            spec = boot_spec(self._agent, place, keeps_tmp=_has_files(clone.paths.root / "tmp"))
        else:
            spec = relocate(spec, place)
        clone.paths.spec.write_text(json.dumps(spec))
        return Laid(journal, manifest, runtime, is_proven=manifest is not None and not self.images.unproven(manifest))


def _has_files(directory: Path) -> bool:
    """Whether a directory of a guest's has anything in it. A link is none: it could lead anywhere."""
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        with os.scandir(descriptor) as entries:
            return next(entries, None) is not None
    finally:
        os.close(descriptor)


def discard_snapshot(paths: SnapshotPaths) -> None:
    """Manifest first: from then on there is no snapshot, whatever else is still there. May be called twice. Blocks."""
    paths.manifest.unlink(missing_ok=True)
    subvolumes.delete(paths.root)
    shutil.rmtree(paths.home, ignore_errors=True)


def spec_agent(spec: Path) -> str:
    """The version of the agent that a spec mounts."""
    mounts = json.loads(spec.read_bytes())["mounts"]
    return next((Path(mount["source"]).name for mount in mounts if mount["destination"] == "/.roost"), "")
