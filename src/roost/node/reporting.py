"""What is on this machine now, found by looking: files of the kernel and of the volume. No process is spawned."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping

from anyio import to_thread

from roost.domain.errors import RoostError
from roost.domain.ids import NodeId, SandboxId, SnapshotId
from roost.domain.node import NodeReport, Presence, Usage
from roost.domain.placement import headroom_bytes
from roost.node.engine.containers import Container, Containers
from roost.node.engine.dozing import Dozing
from roost.node.engine.meter import disk_space, memory_free_bytes, memory_total_bytes
from roost.node.holdings import Held, Holdings
from roost.node.inventory import HAS_PROCESS, Phase


class Reporting:
    def __init__(self, *, containers: Containers, holdings: Holdings, dozing: Dozing, now: Callable[[], float]) -> None:
        self._containers = containers
        self._holdings = holdings
        self._dozing = dozing
        self._now = now
        self._began_at = now()

    async def report(self, node: NodeId, warm: Mapping[SnapshotId, int]) -> NodeReport:
        present = [await self._presence(sandbox, held) for sandbox, held in list(self._holdings.items())]
        free, total = await to_thread.run_sync(disk_space, self._containers.volume.home)
        return NodeReport(
            node=node,
            present=tuple(entry for entry in present if entry is not None),
            snapshots=await to_thread.run_sync(self._manifests),
            surviving_disks=frozenset(sandbox for sandbox, held in self._holdings.items() if _survives(held)),
            memory_free_bytes=memory_free_bytes(),
            disk_free_bytes=free,
            disk_total_bytes=total,
            warm=warm,
            dozing=self._dozing.held_bytes,
            load=os.getloadavg(),
            cpus=os.cpu_count() or 1,
            memory_total_bytes=memory_total_bytes(),
            memory_reserve_bytes=headroom_bytes(memory_total_bytes()),
            slots=self._containers.slots.counts(),
            uptime_s=self._now() - self._began_at,
        )

    def _manifests(self) -> frozenset[SnapshotId]:
        volume = self._containers.volume
        with os.scandir(volume.snapshots) as entries:
            ids = [SnapshotId(entry.name) for entry in entries]
        return frozenset(id for id in ids if volume.snapshot(id).manifest.exists())

    async def _presence(self, sandbox: SandboxId, held: Held) -> Presence | None:
        container = held.container
        if container.journal.phase not in HAS_PROCESS or container.slot is None or held.dozing:
            return None
        usage = None
        if held.alive:
            with contextlib.suppress(RoostError):  # one broken link must not hide all the others
                usage = await self._usage(sandbox, container)
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


def _survives(held: Held) -> bool:
    return not held.alive and held.container.journal.phase is not Phase.ASLEEP and held.container.paths.root.exists()
