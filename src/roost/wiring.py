"""Puts the house together, once, by plain constructors. `serving` serves it."""

from __future__ import annotations

import os
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import anyio
import anyio.to_thread

from roost.api.services import About, Services
from roost.api.session import SECRET_BYTES, Sessions
from roost.archive.keys import VolumePaths
from roost.control.compose import ControlOptions, Dependencies, compose
from roost.domain import ids
from roost.domain.ids import NodeId
from roost.drivers.clock import SystemClock
from roost.drivers.cluster.local import LocalCluster
from roost.drivers.guest.envd import Envd
from roost.drivers.runtime.gvisor import GVisor
from roost.drivers.store.sealing import KEY_BYTES, Seals
from roost.drivers.store.sql import SqlStore, sqlite_url
from roost.edge.app import Edge
from roost.edge.hosts import Hosts
from roost.edge.ledger import TrafficLedger
from roost.node.engine.bundle import Agent
from roost.node.engine.containers import Containers, Engines
from roost.node.engine.meter import Meter, cpu_features, memory_total_bytes
from roost.node.network.slots import Slots, SlotSettings
from roost.node.service import NodeService
from roost.node.steps import CrashPoint, never
from roost.node.storage.attachments import Attachments
from roost.settings import Settings
from roost.setup.artefacts import write_atomically
from roost.setup.installation import Installation

VERSION = version("roost")
FIRST_NODE = NodeId("local")
"""What records of a home of 0.1.0 call their machine."""


@dataclass(frozen=True, slots=True)
class House:
    """The rooms of a running server, for those who serve it."""

    services: Services
    edge: Edge
    node: NodeService
    store: SqlStore


@asynccontextmanager
async def open_house(
    settings: Settings, installation: Installation, port: int, crash_point: CrashPoint = never
) -> AsyncIterator[House]:
    """Store, node and control, opened and joined. Sandboxes outlive it."""
    clock = SystemClock()
    node_id = _node_id(settings)
    store = SqlStore(sqlite_url(settings.db), seals=Seals(_own_secret(settings.store_key, KEY_BYTES)))
    try:
        await store.migrate()
        async with anyio.create_task_group() as tasks:
            slot_settings = SlotSettings(
                network=settings.network,
                spare=settings.spare_slots,
                authority=settings.home / "egress",
                private_proxies=settings.private_proxies,
            )
            slots = Slots(instance=settings.instance, tasks=tasks, settings=slot_settings)
            engines = find_engines(settings, installation)
            volume = VolumePaths(installation.volume.path)
            meter = Meter(volume=volume.home)
            agent = installation.agent
            containers = Containers(
                volume=volume,
                engines=Engines(engines[f"gvisor {installation.engine.version}"], engines),
                slots=slots,
                agent=Agent(agent.version, agent.path, agent.argv, agent.env),
                meter=meter,
                cgroup_parent=f"roost-{settings.instance}",
                cpu_features=cpu_features(),
                attachments=Attachments(settings.run_dir / "volumes"),
            )
            guest = Envd(now=clock.now)
            node = NodeService(
                id=node_id,
                containers=containers,
                guest=guest,
                now=clock.now,
                tasks=tasks,
                crash_point=crash_point,
                roots={name: root.path for name, root in installation.rootfs.items()},
                doze_bytes=int(settings.doze_memory_share * memory_total_bytes()),
            )
            await node.open()
            about = About(
                version=VERSION,
                domain=settings.domain,
                port=settings.public_port or port,
                home=str(settings.home),
                pid=os.getpid(),
                engine=f"gvisor {installation.engine.version}",
                agent=agent.version,
                scheme="https" if settings.speaks_tls or settings.public_port else "http",
            )
            try:
                yield _join(store, node, clock, settings, about)
            finally:
                with anyio.CancelScope(shield=True):
                    if not await node.close():
                        for engine in engines.values():
                            engine.dispose()
                        meter.remove_cgroup(f"/roost-{settings.instance}")
                        with suppress(OSError):
                            settings.run_dir.rmdir()
                tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await store.close()


def _join(
    store: SqlStore,
    node: NodeService,
    clock: SystemClock,
    settings: Settings,
    about: About,
) -> House:
    cluster = LocalCluster(id=node.id, node=node, snapshots=node.snapshots)
    ledger = TrafficLedger(clock)
    control = compose(
        Dependencies(store=store, usage=store, cluster=cluster, ledger=ledger, clock=clock, random=random.SystemRandom()),
        ControlOptions(
            warm=settings.warm_pool,
            warm_desktops=settings.warm_desktops,
            trash_s=settings.trash_hours * 3600,
            event_s=settings.event_days * 86400,
            private_proxies=settings.private_proxies,
        ),
    )
    sessions = Sessions(
        secret=_own_secret(settings.session_secret, SECRET_BYTES), scheme=about.scheme, instance=settings.instance, now=clock.now
    )
    edge = Edge(control.directory, ledger, clock, Hosts(settings.domain, settings.own_names))
    return House(Services.of(control, about, sessions), edge, node, store)


def find_engines(settings: Settings, installation: Installation) -> Mapping[str, GVisor]:
    """A driver for every engine in the home: a snapshot restores only on the one that made it."""
    binaries = {folder.name: folder / "runsc" for folder in settings.engines.iterdir() if (folder / "runsc").exists()}
    binaries[installation.engine.version] = installation.engine.path
    return {
        f"gvisor {name}": GVisor(runsc=binary, version=name, state=settings.run_dir / "runsc")
        for name, binary in binaries.items()
    }


def _node_id(settings: Settings) -> NodeId:
    """What records call this machine: made once, before the first record. To be called before the database is made."""
    file = settings.home / "node"
    with suppress(FileNotFoundError):
        return NodeId(file.read_text().strip())
    id = FIRST_NODE if settings.db.exists() else ids.new_node_id(random.SystemRandom())
    write_atomically(file, f"{id}\n", 0o644)
    return id


def _own_secret(file: Path, size_bytes: int) -> bytes:
    """Made once; only root reads it. One that is too short to be whole (a crash while it was written) is made anew."""
    with suppress(FileNotFoundError):
        secret = file.read_bytes()
        if len(secret) == size_bytes:
            return secret
    secret = os.urandom(size_bytes)
    unfinished = file.with_suffix(".partial")
    unfinished.unlink(missing_ok=True)
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as content:
        content.write(secret)
        content.flush()
        os.fsync(content.fileno())
    unfinished.replace(file)
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # on disk, before anything is on disk that was sealed with it
    finally:
        os.close(folder)
    return secret
