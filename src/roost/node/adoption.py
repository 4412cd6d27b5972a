"""What a server that starts makes of what the one before it left: adopts what still runs, takes back what was half done.

The one before may have been killed between any two lines. So nothing here trusts a journal further than it must: whether a
process lives is looked up, whether it is frozen too, and a disk is thrown away only when the journal says that nobody misses it.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace

import anyio
import structlog
from anyio import to_thread

from roost.archive.keys import ContainerPaths
from roost.domain.errors import RoostError
from roost.domain.ids import SandboxId, SnapshotId
from roost.domain.sandbox import Size
from roost.node import inventory
from roost.node.engine.containers import Container, Containers, discard_snapshot
from roost.node.engine.removals import clear
from roost.node.inventory import HAS_PROCESS, Journal, Phase
from roost.node.network.slots import Slot
from roost.node.storage import subvolumes

_AT_ONCE = 8
_HALF_MADE = frozenset({Phase.MAKING, Phase.WARM})

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Adopted:
    sandbox: SandboxId
    container: Container
    alive: bool
    size: Size


class Adoption:
    def __init__(self, containers: Containers) -> None:
        self._containers = containers
        self._adopted: list[Adopted] = []

    async def run(self) -> list[Adopted]:
        """What this node holds now. The slots are open afterwards, and nothing is there that nobody holds. One thing that cannot
        be sorted out is told in the log, and keeps nobody from the rest."""
        volume = self._containers.volume
        for folder in (volume.sandboxes, volume.pool, volume.snapshots, volume.gone):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = list(inventory.scan(volume.sandboxes))
        warm = list(inventory.scan(volume.pool))
        kept = [journal.slot for _, journal in found if journal and journal.phase not in _HALF_MADE]
        await to_thread.run_sync(self._containers.attachments.open)
        await self._containers.slots.open(adopt=[slot for slot in kept if slot is not None])
        turn = anyio.CapacityLimiter(_AT_ONCE)
        async with anyio.create_task_group() as tasks:
            for paths, journal in warm:
                tasks.start_soon(self._take_back, turn, paths, journal)
            for paths, journal in found:
                tasks.start_soon(self._adopt, turn, paths, journal)
        await to_thread.run_sync(self._sweep)
        return sorted(self._adopted, key=lambda each: each.sandbox)

    async def _take_back(self, turn: anyio.CapacityLimiter, paths: ContainerPaths, journal: Journal | None) -> None:
        try:
            async with turn:
                await self._containers.remove(paths, journal)
        except (RoostError, OSError) as error:
            log.error("what a server left half made could not be taken back", path=str(paths.home), error=str(error))

    async def _adopt(self, turn: anyio.CapacityLimiter, paths: ContainerPaths, journal: Journal | None) -> None:
        if journal is None and paths.root.exists():
            # A machine that lost power may leave a journal without its bytes. Control knows what the disk is worth.
            sandbox = SandboxId(paths.home.name)
            journal = Journal(Phase.RUNNING, container=f"{sandbox}-0", engine="", slot=None, source=None, sandbox=sandbox)
        if journal is None or journal.sandbox is None or journal.phase in _HALF_MADE:
            await self._take_back(turn, paths, journal)
            return
        sandbox, slot = journal.sandbox, await self._slot_of(journal)
        if slot is None and journal.slot is not None:
            journal = await self._without_slot(paths, journal)
        container = Container(paths, journal, slot)
        if journal.phase is Phase.ASLEEP and slot is None:
            await self._take_back(turn, paths, journal)
            return
        try:
            async with turn:
                container, alive = await self._look(container)
        except (RoostError, OSError) as error:
            log.error("a sandbox could not be adopted", sandbox=sandbox, error=str(error))
            return
        size = journal.size or await self._size_of_source(journal)
        self._adopted.append(Adopted(sandbox, container, alive, size))
        log.info("adopted", sandbox=sandbox, phase=container.journal.phase, alive=alive)

    async def _without_slot(self, paths: ContainerPaths, journal: Journal) -> Journal:
        """Its slot is gone (the machine was restarted), and the number will be somebody else's. Written down before anybody has
        it: to the next server both would be in one slot."""
        journal = replace(journal, slot=None)
        try:
            await to_thread.run_sync(inventory.write, paths, journal)
        except OSError as error:
            log.error("that a sandbox has lost its slot could not be written down", sandbox=journal.sandbox, error=str(error))
        return journal

    async def _look(self, container: Container) -> tuple[Container, bool]:
        """The container as it really is, and whether its process lives."""
        journal = container.journal
        runtime = self._containers.engines.of(journal.engine)
        if runtime is None or journal.phase not in HAS_PROCESS or not (await runtime.inspect(journal.container)).alive:
            if journal.phase is Phase.REVIVING:
                await self._containers.end_processes(journal)
                return container.at(phase=Phase.RUNNING), False
            return container, False
        if container.slot is None:
            await self._containers.end_processes(journal)  # a process that nobody can reach
            return container, False
        if journal.phase is Phase.FROZEN and not self._has_manifest(journal.snapshot):
            return await self._lay_down(container), False
        if journal.phase is Phase.CAPTURING and self._has_manifest(journal.snapshot):
            return container.at(phase=Phase.FROZEN, snapshot=journal.snapshot), True
        if journal.phase is not Phase.FROZEN:
            # Whoever froze it is gone, be it a capture or the memory guard.
            with contextlib.suppress(RoostError):
                await runtime.thaw(journal.container)
            if journal.phase is Phase.THAWING:
                return container, True  # it runs, and was not told who it is: whoever orders it again tells it
            container = container.at(phase=Phase.RUNNING)
            if journal.phase is not Phase.RUNNING:
                with contextlib.suppress(OSError):  # a full disk: the next server looks again
                    await to_thread.run_sync(inventory.write, container.paths, container.journal)
        return container, True

    async def _lay_down(self, container: Container) -> Container:
        """It dozed, and the snapshot that it was equal to is gone: its sandbox sleeps in another one by now."""
        await self._containers.end_processes(container.journal)
        await to_thread.run_sync(subvolumes.delete, container.paths.root)
        return await self._containers.note(container, phase=Phase.ASLEEP, snapshot=None)

    def _sweep(self) -> None:
        """What was on its way out is gone. A snapshot without a manifest is none; a cgroup without a container is nobody's."""
        volume = self._containers.volume
        for home in volume.gone.iterdir():
            try:
                clear(ContainerPaths(home))
            except (RoostError, OSError) as error:
                log.error("what a container left could not be thrown away", path=str(home), error=str(error))
        for home in volume.snapshots.iterdir():
            paths = volume.snapshot(SnapshotId(home.name))
            if not paths.manifest.exists():
                try:
                    discard_snapshot(paths)
                except (RoostError, OSError) as error:
                    log.error("half a snapshot could not be thrown away", path=str(home), error=str(error))
        alive = {each.container.journal.container for each in self._adopted if each.alive}
        self._containers.sweep_cgroups(alive)
        self._containers.attachments.sweep(alive)

    def _has_manifest(self, snapshot: SnapshotId | None) -> bool:
        return snapshot is not None and self._containers.volume.snapshot(snapshot).manifest.exists()

    async def _slot_of(self, journal: Journal) -> Slot | None:
        if journal.slot is None:
            return None
        try:
            return await self._containers.slots.get(journal.slot)
        except RoostError:
            return None

    async def _size_of_source(self, journal: Journal) -> Size:
        if journal.source is None:
            return Size()
        try:
            return (await to_thread.run_sync(self._containers.load, journal.source)).size
        except RoostError:
            return Size()
