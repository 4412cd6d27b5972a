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
from roost.control.alarm import Alarm
from roost.control.builds import Builds
from roost.control.collector import Collector
from roost.control.directory import Directory, RouteTable
from roost.control.drivers import Drivers
from roost.control.feed import Feed
from roost.control.fleet import Fleet
from roost.control.flights import Flights
from roost.control.forks import Forks
from roost.control.keeper import Keeper
from roost.control.keys import Keys
from roost.control.links import Links
from roost.control.live import Live
from roost.control.moves import Limits, Moves
from roost.control.nodes import Nodes
from roost.control.notices import DriverNotices
from roost.control.power import Power
from roost.control.pulses import Pulses
from roost.control.questions import Questions
from roost.control.repairs import Repairs
from roost.control.rollbacks import Rollbacks
from roost.control.sandboxes import Sandboxes
from roost.control.snapshots import Snapshots
from roost.control.templates import Templates
from roost.control.trash import Trash
from roost.control.undeletes import Undeletes
from roost.domain.ids import NodeId
from roost.drivers.clock import SystemClock
from roost.drivers.cluster.local import LocalCluster
from roost.drivers.guest.envd import Envd
from roost.drivers.runtime.gvisor import GVisor
from roost.drivers.store.sql import SqlStore, sqlite_url
from roost.edge.app import Edge
from roost.edge.ledger import TrafficLedger
from roost.node.bundle import Agent
from roost.node.containers import Containers, Engines
from roost.node.meter import Meter, cpu_features
from roost.node.reader import Reader
from roost.node.service import NodeService
from roost.node.slots import Slots, SlotSettings
from roost.node.steps import CrashPoint, never
from roost.settings import Settings
from roost.setup.installation import Installation

VERSION = version("roost")
LOCAL_NODE = NodeId("local")


@dataclass(frozen=True, slots=True)
class House:
    """The rooms of a running server, for those who serve it."""

    services: Services
    edge: Edge
    flights: Flights
    keeper: Keeper
    node: NodeService
    store: SqlStore


@asynccontextmanager
async def open_house(
    settings: Settings, installation: Installation, port: int, crash_point: CrashPoint = never
) -> AsyncIterator[House]:
    """Store, node and control, opened and joined. Sandboxes outlive it."""
    clock, chance = SystemClock(), random.SystemRandom()
    store = SqlStore(sqlite_url(settings.db))
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
            )
            guest = Envd(now=clock.now)
            node = NodeService(
                id=LOCAL_NODE, containers=containers, guest=guest, now=clock.now, tasks=tasks, crash_point=crash_point
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
                yield _join(store, node, guest, clock, chance, settings, about)
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
    guest: Envd,
    clock: SystemClock,
    chance: random.SystemRandom,
    settings: Settings,
    about: About,
) -> House:
    cluster = LocalCluster(id=LOCAL_NODE, node=node, reader=Reader(VolumePaths(settings.volume)))
    alarm, ledger, feed = Alarm(clock=clock), TrafficLedger(clock), Feed(store=store)
    pulses = Pulses(clock=clock, ledger=ledger)
    live = Live(clock=clock, pulses=pulses)
    nodes = Nodes(cluster=cluster)
    notices = DriverNotices(nodes=nodes, clock=clock, alarm=alarm)
    routes = RouteTable(live.changed, notices.hear)
    moves = Moves(store=store, clock=clock, random=chance, limits=Limits(trash_s=settings.trash_hours * 3600))
    trash = Trash(store=store, cluster=cluster, clock=clock, routes=routes)
    flights = Flights(store=store, cluster=cluster, clock=clock, moves=moves, routes=routes, alarm=alarm, trash=trash)
    power = Power(store=store, flights=flights)
    builds = Builds(clock=clock)
    templates = Templates(
        store=store,
        cluster=cluster,
        guest=guest,
        clock=clock,
        random=chance,
        nodes=nodes,
        builds=builds,
        warm=settings.warm_pool,
        warm_desktops=settings.warm_desktops,
    )
    links = Links(store=store, clock=clock, random=chance, routes=routes, alarm=alarm)
    drivers = Drivers(store=store, clock=clock, routes=routes, alarm=alarm, ledger=ledger, notices=notices)
    keys = Keys(store=store, clock=clock, random=chance)
    questions = Questions(store=store, feed=feed, flights=flights, keys=keys, alarm=alarm, clock=clock, random=chance)
    services = Services(
        about=about,
        sessions=Sessions(secret=_session_secret(settings.session_secret), scheme=about.scheme, now=clock.now),
        keys=keys,
        sandboxes=Sandboxes(
            store=store,
            flights=flights,
            nodes=nodes,
            routes=routes,
            pulses=pulses,
            alarm=alarm,
            clock=clock,
            random=chance,
            builds=builds,
            trash=trash,
            private_proxies=settings.private_proxies,
        ),
        power=power,
        snapshots=Snapshots(store=store, cluster=cluster, clock=clock, flights=flights),
        forks=Forks(store=store, cluster=cluster, clock=clock, random=chance, flights=flights, nodes=nodes),
        undeletes=Undeletes(store=store, clock=clock, random=chance, flights=flights, nodes=nodes, trash=trash),
        rollbacks=Rollbacks(store=store, cluster=cluster, clock=clock, moves=moves, flights=flights, routes=routes),
        templates=templates,
        feed=feed,
        fleet=Fleet(store=store, feed=feed, pulses=pulses, live=live, clock=clock),
        questions=questions,
        nodes=nodes,
        links=links,
        drivers=drivers,
    )
    keeper = Keeper(
        store=store,
        cluster=cluster,
        clock=clock,
        flights=flights,
        nodes=nodes,
        routes=routes,
        pulses=pulses,
        alarm=alarm,
        templates=templates,
        repairs=Repairs(store=store, cluster=cluster, flights=flights, templates=templates),
        collector=Collector(
            store=store, cluster=cluster, clock=clock, routes=routes, trash=trash, event_s=settings.event_days * 86400
        ),
        links=links,
        drivers=drivers,
        notices=notices,
        live=live,
        questions=questions,
        trash=trash,
    )
    edge = Edge(Directory(table=routes, waker=power, clock=clock), ledger, clock, settings.domain)
    return House(services, edge, flights, keeper, node, store)


def find_engines(settings: Settings, installation: Installation) -> Mapping[str, GVisor]:
    """A driver for every engine in the home: a snapshot restores only on the one that made it."""
    binaries = {folder.name: folder / "runsc" for folder in settings.engines.iterdir() if (folder / "runsc").exists()}
    binaries[installation.engine.version] = installation.engine.path
    return {
        f"gvisor {name}": GVisor(runsc=binary, version=name, state=settings.run_dir / "runsc")
        for name, binary in binaries.items()
    }


def _session_secret(file: Path) -> bytes:
    """Made once; only root reads it. One that is too short to be whole (a crash while it was written) is made anew."""
    with suppress(FileNotFoundError):
        secret = file.read_bytes()
        if len(secret) == SECRET_BYTES:
            return secret
    secret = os.urandom(SECRET_BYTES)
    unborn = file.with_suffix(".partial")
    unborn.unlink(missing_ok=True)
    with os.fdopen(os.open(unborn, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as content:
        content.write(secret)
    unborn.replace(file)
    return secret
