"""The node's process: what carries out orders on this machine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import structlog

from roost.archive.keys import VolumePaths
from roost.domain.ids import NodeId
from roost.drivers.clock import SystemClock
from roost.drivers.guest.building import BuildAgent
from roost.drivers.guest.envd import Envd
from roost.drivers.runtime.gvisor import GVisor
from roost.node.engine.bundle import Agent
from roost.node.engine.containers import Containers, Engines
from roost.node.engine.meter import Meter, cpu_features, memory_total_bytes
from roost.node.network.slots import Slots, SlotSettings
from roost.node.service import NodeService
from roost.node.steps import CrashPoint, never
from roost.node.storage.attachments import Attachments
from roost.node.storage.pulled import ImageSources
from roost.node.storage.puller import Puller, PullSettings
from roost.settings import Settings
from roost.setup.commands import Commands
from roost.setup.installation import Installation
from roost.setup.puller import ensure_puller

log = structlog.get_logger(__name__)


@asynccontextmanager
async def open_node(
    settings: Settings, installation: Installation, id: NodeId, crash_point: CrashPoint = never
) -> AsyncIterator[NodeService]:
    """The node, with what it found adopted. Sandboxes outlive it."""
    clock = SystemClock()
    async with anyio.create_task_group() as tasks:
        engines = find_engines(settings, installation)
        meter = Meter(volume=VolumePaths(installation.volume.path).home)
        node = NodeService(
            id=id,
            containers=_containers(settings, installation, engines, meter, tasks),
            guest=Envd(now=clock.now),
            build_guest=BuildAgent(),
            now=clock.now,
            tasks=tasks,
            crash_point=crash_point,
            roots={name: root.path for name, root in installation.rootfs.items()},
            images=image_sources(settings),
            upload_limit_bytes=settings.upload_limit_mb << 20,
            doze_bytes=int(settings.doze_memory_share * memory_total_bytes()),
        )
        await node.open()
        try:
            yield node
        finally:
            with anyio.CancelScope(shield=True):
                if not await node.close():
                    for engine in engines.values():
                        engine.dispose()
                    meter.remove_cgroup(f"/roost-{settings.instance}")
            tasks.cancel_scope.cancel()


def image_sources(settings: Settings) -> ImageSources:
    mirrors: dict[str, tuple[str, ...]] = {}
    for entry in settings.registry_mirrors:
        registry, _, mirror = entry.partition("=")
        mirrors[registry] = (*mirrors.get(registry, ()), mirror)
    allowed = PullSettings(
        docker_config=str(settings.docker_config or ""),
        mirrors=mirrors,
        insecure=settings.insecure_registries,
        private=settings.private_registries,
        limit_bytes=settings.image_size_gb << 30,
        timeout_s=settings.image_timeout_s,
    )

    def find_program() -> Path:
        return ensure_puller(settings.cache, Commands(), lambda line: log.info("building the image puller", line=line))

    return ImageSources(Puller(find_program, allowed), keep_s=settings.image_days * 86400)


def _containers(
    settings: Settings,
    installation: Installation,
    engines: Mapping[str, GVisor],
    meter: Meter,
    tasks: anyio.abc.TaskGroup,
) -> Containers:
    slot_settings = SlotSettings(
        network=settings.network,
        spare=settings.spare_slots,
        authority=settings.home / "egress",
        private_proxies=settings.private_proxies,
    )
    agent = installation.agent
    return Containers(
        volume=VolumePaths(installation.volume.path),
        engines=Engines(engines[f"gvisor {installation.engine.version}"], engines),
        slots=Slots(instance=settings.instance, tasks=tasks, settings=slot_settings),
        agent=Agent(agent.version, agent.path, agent.argv, agent.env),
        meter=meter,
        cgroup_parent=f"roost-{settings.instance}",
        cpu_features=cpu_features(),
        attachments=Attachments(settings.run_dir / "volumes"),
    )


def find_engines(settings: Settings, installation: Installation) -> Mapping[str, GVisor]:
    """A driver for every engine in the home: a snapshot restores only on the one that made it."""
    binaries = {folder.name: folder / "runsc" for folder in settings.engines.iterdir() if (folder / "runsc").exists()}
    binaries[installation.engine.version] = installation.engine.path
    return {
        f"gvisor {name}": GVisor(runsc=binary, version=name, state=settings.run_dir / "runsc")
        for name, binary in binaries.items()
    }
