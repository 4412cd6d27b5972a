"""A node on the real engine, a real volume and real slots, for tests to stand on."""

from __future__ import annotations

import os
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import anyio

from roost.archive.keys import VolumePaths
from roost.contracts.guest import Guest
from roost.domain.ids import NodeId, SandboxId, SnapshotId, new_sandbox_id, new_snapshot_id
from roost.domain.node import CaptureOrder, CreateOrder, Identity, KillOrder, ResumeOrder
from roost.domain.sandbox import Size
from roost.drivers.guest.building import BuildAgent
from roost.drivers.guest.envd import Envd
from roost.drivers.runtime.gvisor import GVisor
from roost.node.engine.bundle import Agent
from roost.node.engine.containers import Containers, Engines
from roost.node.engine.meter import Meter, cpu_features, memory_free_bytes
from roost.node.network.slots import Slots, SlotSettings
from roost.node.service import PARKED_LIMIT, NodeService
from roost.node.storage.attachments import Attachments
from roost.node.storage.pulled import ImageSources
from roost.node.storage.puller import Puller, PullSettings
from roost.settings import DEFAULT_CACHE, instance_of
from roost.setup.commands import Commands
from roost.setup.engine import Engine
from roost.setup.puller import ensure_puller

BASE = SnapshotId("s" + "0" * 19 + "b")
TEMPLATE = SnapshotId("s" + "0" * 19 + "t")
SIZE = Size(memory_mb=1024, disk_mb=256)
CHANCE = random.SystemRandom()


@dataclass(frozen=True, slots=True)
class Ground:
    home: Path
    engine: Engine
    agent: Agent
    root: Path  # archive of the root filesystem `base`

    @property
    def instance(self) -> str:
        return instance_of(self.home)

    @property
    def volume(self) -> VolumePaths:
        return VolumePaths(self.home / "volume")

    def runtime(self) -> GVisor:
        """The engine, as somebody sees it who knows nothing of what was done before."""
        return GVisor(runsc=self.engine.path, version=self.engine.version, state=Path(f"/run/roost/{self.instance}/runsc"))

    @asynccontextmanager
    async def opened(
        self,
        *,
        leave_running: bool = False,
        parked_limit: int = PARKED_LIMIT,
        guest: Guest | None = None,
        doze_bytes: int = 0,
        free_bytes: Callable[[], int] = memory_free_bytes,
        images: ImageSources | None = None,
    ) -> AsyncIterator[NodeService]:
        """The node, as a server would have it. Afterwards nothing of it is left on the machine, unless asked for."""
        runtime = self.runtime()
        name = runtime.capabilities.engine
        meter = Meter(volume=self.volume.home)
        async with anyio.create_task_group() as tasks:
            slots = Slots(instance=self.instance, tasks=tasks, settings=SlotSettings(spare=2))
            containers = Containers(
                volume=self.volume,
                engines=Engines(runtime, {name: runtime}),
                slots=slots,
                agent=self.agent,
                meter=meter,
                cgroup_parent=f"roost-{self.instance}",
                cpu_features=cpu_features(),
                attachments=Attachments(Path(f"/run/roost/{self.instance}/volumes")),
            )
            node = NodeService(
                id=NodeId("n1"), containers=containers, guest=guest or Envd(now=time.time), build_guest=BuildAgent(),
                now=time.time, tasks=tasks, parked_limit=parked_limit, doze_bytes=doze_bytes, free_bytes=free_bytes,
                roots={"base": self.root}, images=images or image_sources(),
            )  # fmt: skip
            await node.open()
            try:
                yield node
            finally:
                with anyio.CancelScope(shield=True):
                    if not leave_running:
                        for presence in (await node.report()).present:
                            await node.kill(KillOrder(presence.sandbox, presence.incarnation))
                    if not await node.close():
                        runtime.dispose()
                        with suppress(OSError):
                            Path(f"/run/roost/{self.instance}").rmdir()
                        meter.remove_cgroup(f"/roost-{self.instance}")
                tasks.cancel_scope.cancel()

    async def build(self) -> None:
        async with self.opened() as node:
            await node.snapshots.import_disk(BASE, "base", "base")
            builder = create_order(cold=True, source=BASE)
            await node.create(builder)
            await node.snapshot(CaptureOrder(builder.sandbox, 1, TEMPLATE, BASE, "base"))


def image_sources(allowed: PullSettings | None = None, *, keep_s: float = 86400.0) -> ImageSources:
    def find_program() -> Path:
        return ensure_puller(Path(os.environ.get("ROOST_CACHE", DEFAULT_CACHE)), Commands())

    return ImageSources(Puller(find_program, allowed or PullSettings()), keep_s)


def create_order(*, source: SnapshotId = TEMPLATE, cold: bool = False, size: Size = SIZE) -> CreateOrder:
    sandbox = new_sandbox_id(CHANCE)
    return CreateOrder(sandbox, 1, source, size, identity(sandbox, fresh=True), cold=cold)


def resume_order(created: CreateOrder, source: SnapshotId, incarnation: int, *, cold: bool = False) -> ResumeOrder:
    return ResumeOrder(created.sandbox, incarnation, source, created.size, identity(created.sandbox, fresh=False), cold=cold)


def capture_order(created: CreateOrder, incarnation: int = 1, *, keep_memory: bool = True) -> CaptureOrder:
    return CaptureOrder(created.sandbox, incarnation, new_snapshot_id(CHANCE), TEMPLATE, "base", keep_memory=keep_memory)


def identity(sandbox: SandboxId, *, fresh: bool) -> Identity:
    return Identity(sandbox, sandbox, "base", "", fresh=fresh)
