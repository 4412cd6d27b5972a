"""Puts the house together, once, by plain constructors, and serves it until told to stop.

`serve` is the whole life of a server. What it leaves behind when it ends, or is killed, is what the next one adopts.
"""

from __future__ import annotations

import fcntl
import json
import os
import random
import signal
import ssl
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import anyio
import anyio.to_thread
import structlog
import uvicorn
from anyio.abc import TaskStatus

from roost.api.app import create_app
from roost.api.guest import create_guest_app
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
from roost.domain.errors import Conflict, Fault, RoostError
from roost.domain.ids import NodeId
from roost.domain.template import Recipe
from roost.drivers.clock import SystemClock
from roost.drivers.cluster.local import LocalCluster
from roost.drivers.guest.envd import Envd
from roost.drivers.runtime.gvisor import GVisor
from roost.drivers.store.sql import SqlStore, sqlite_url
from roost.edge.app import Edge, protocol_factory
from roost.edge.ledger import TrafficLedger
from roost.listening import listening
from roost.node.bundle import Agent
from roost.node.containers import Containers, Engines
from roost.node.meter import Meter, cpu_features
from roost.node.reader import Reader
from roost.node.service import NodeService
from roost.node.slots import Slots, SlotSettings
from roost.node.steps import CrashPoint, never
from roost.settings import Settings
from roost.setup.installation import Installation
from roost.setup.tls import Certificate, ensure_certificate, load, make_context, own_certificate
from roost.setup.web import Web
from roost.telemetry import log as logs

VERSION = version("roost")
LOCAL_NODE = NodeId("local")
_PATIENCE_S = 10  # for open requests, at the end
_CERTIFICATE_S = 12 * 3600  # between two looks at the certificate

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ServerInfo:
    url: str
    pid: int
    key: str
    home: Path
    ca: Path | None = None  # what clients must trust to speak https with it


@dataclass(frozen=True, slots=True)
class House:
    """The rooms of a running server, for those who serve it."""

    services: Services
    edge: Edge
    flights: Flights
    keeper: Keeper
    node: NodeService
    store: SqlStore


async def serve(
    settings: Settings,
    installation: Installation,
    *,
    on_ready: Callable[[ServerInfo], None],
    crash_point: CrashPoint = never,
) -> None:
    """Serves until SIGTERM or SIGINT. Raises Conflict when the home or the port is taken."""
    logs.configure(logs.Format.CONSOLE, logs.Level(settings.log_level))
    with hold_home(settings.home), listening(settings.host, settings.port) as door:
        port = door.getsockname()[1]
        certificate = _certificate(settings) if settings.speaks_tls else None
        async with open_house(settings, installation, port, crash_point) as house, anyio.create_task_group() as tasks:
            await tasks.start(house.flights.run)
            await tasks.start(house.edge.run)
            await tasks.start(house.keeper.run)
            await tasks.start(_serve_guests, house)
            first, *others = recipes(installation)
            house.services.templates.expect(*(recipe.name for recipe, _ in others))
            await _ensure_template(house, *first)
            await house.services.templates.keep_warm()
            tasks.start_soon(_ensure_others, house, others)
            key = await _first_key(house.services.keys, settings.key_file)
            tls = make_context(certificate) if certificate is not None else None
            server = _Server(
                _uvicorn(house, installation.web, tls, on_started=lambda: _announce(settings, port, key, certificate, on_ready))
            )
            tasks.start_soon(_stop_on_signal, server)
            if tls is not None:
                tasks.start_soon(_keep_certificate, settings, tls)
            try:
                await server.serve(sockets=[door])
            finally:
                (settings.home / "server.json").unlink(missing_ok=True)
                tasks.cancel_scope.cancel()


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
    routes = RouteTable(on_record=live.changed)
    moves = Moves(store=store, clock=clock, random=chance, limits=Limits(trash_s=settings.trash_hours * 3600))
    trash = Trash(store=store, cluster=cluster, clock=clock, routes=routes)
    flights = Flights(store=store, cluster=cluster, clock=clock, moves=moves, routes=routes, alarm=alarm, trash=trash)
    nodes = Nodes(cluster=cluster)
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
    drivers = Drivers(store=store, clock=clock, routes=routes, alarm=alarm, ledger=ledger)
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


@contextmanager
def hold_home(home: Path) -> Iterator[None]:
    """One server per home, for as long as it lives: the kernel lets go of the lock even when it is killed."""
    with (home / "lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            message = f"A server runs on {home} already. `roost status` tells where."
            raise Conflict("already_running", message, home=str(home)) from error
        yield


class _Server(uvicorn.Server):
    """uvicorn without its signal handling: signals are ours."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _uvicorn(house: House, web: Web, tls: ssl.SSLContext | None, on_started: Callable[[], None]) -> uvicorn.Config:
    app = create_app(house.services, web.path)

    @asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[None]:
        on_started()
        yield

    app.router.lifespan_context = lifespan
    return uvicorn.Config(
        app,
        http=protocol_factory(house.edge),
        lifespan="on",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=_PATIENCE_S,
        server_header=False,
        ssl_context_factory=(lambda *_: tls) if tls is not None else None,
    )


async def _serve_guests(house: House, *, task_status: TaskStatus[None]) -> None:
    """The door for programs inside sandboxes, until cancelled."""
    with listening(*house.node.door.listens_at) as door:
        app = create_guest_app(house.services, house.node.door.who)
        server = _Server(
            uvicorn.Config(
                app, lifespan="off", log_config=None, access_log=False, timeout_graceful_shutdown=1, server_header=False
            )
        )
        task_status.started()
        try:
            await server.serve(sockets=[door])
        finally:
            with anyio.CancelScope(shield=True):
                if server.started:
                    await server.shutdown([door])


def _certificate(settings: Settings) -> Certificate:
    if settings.tls_cert is not None or settings.tls_key is not None:
        return own_certificate(settings.tls_cert, settings.tls_key)
    return ensure_certificate(settings.tls_dir, settings.domain, settings.host, datetime.now(UTC))


async def _keep_certificate(settings: Settings, tls: ssl.SSLContext) -> None:
    """Servers run for longer than certificates last. Roost's own is renewed in time, the owner's read again."""
    while True:
        await anyio.sleep(_CERTIFICATE_S)
        try:
            certificate = await anyio.to_thread.run_sync(_certificate, settings)
            load(tls, certificate)
        except (RoostError, OSError) as error:
            log.warning("the certificate stays as it was", error=str(error))


async def _stop_on_signal(server: uvicorn.Server) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for number in signals:
            log.info("stopping; sandboxes live on", signal=signal.Signals(number).name)
            if server.should_exit:
                server.force_exit = True  # asked twice: do not wait for open requests
            server.should_exit = True


def _announce(
    settings: Settings, port: int, key: str, certificate: Certificate | None, on_ready: Callable[[ServerInfo], None]
) -> None:
    url, ca = _url(settings, port, certificate), certificate.ca if certificate is not None else None
    record = settings.home / "server.json"
    unborn = record.with_suffix(".partial")
    told = {"url": url, "pid": os.getpid(), "version": VERSION}
    unborn.write_text(json.dumps(told if ca is None else {**told, "ca": str(ca)}))
    unborn.replace(record)
    on_ready(ServerInfo(url, os.getpid(), key, settings.home, ca))


def _url(settings: Settings, port: int, certificate: Certificate | None) -> str:
    """An address that needs no name server; but an owner's certificate is for names only."""
    if certificate is not None and certificate.ca is None:
        return f"https://api.{settings.domain}:{port}"
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http{'s' if certificate else ''}://{'127.0.0.1' if host in ('0.0.0.0', '[::]') else host}:{port}"


async def _first_key(keys: Keys, file: Path) -> str:
    """The key for the people at this machine."""
    secret = await keys.ensure_first()
    if secret is None:
        return _read_key(file)
    _write_key(file, secret)
    return secret


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


def _write_key(file: Path, secret: str) -> None:
    """Only root reads it."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as content:
        content.write(secret + "\n")


def _read_key(file: Path) -> str:
    try:
        return file.read_text().strip()
    except FileNotFoundError as error:
        raise Fault(
            "key_file_missing",
            f"{file} is gone, and keys are kept nowhere in the clear. Put a key of yours there, or start with a new home.",
            file=str(file),
        ) from error


def recipes(installation: Installation) -> list[tuple[Recipe, Path]]:
    """What the templates are made of, with the root filesystem of each."""
    return [(_recipe(installation, name), installation.rootfs[name].path) for name in installation.definitions]


def _recipe(installation: Installation, name: str) -> Recipe:
    definition, rootfs = installation.definitions[name], installation.rootfs[name]
    return Recipe(
        name=name,
        digest=f"{definition.digest}-{rootfs.digest}-{installation.agent.version}-{installation.engine.version}",
        size=definition.size,
        description=definition.description,
        user=definition.user,
        workdir=definition.workdir,
        env={**rootfs.env, **definition.env},
        run=tuple(step.command for step in definition.run),
        start=definition.start.command if definition.start else None,
        ready=definition.ready.command if definition.ready else None,
        has_desktop=definition.has_desktop,
        packages=tuple(sorted({*definition.packages, *(definition.parent.packages if definition.parent else ())})),
    )


async def _ensure_template(house: House, recipe: Recipe, root: Path) -> None:
    await house.services.templates.ensure(
        recipe, root, lambda step: log.info("building template", template=recipe.name, step=step)
    )


async def _ensure_others(house: House, others: Sequence[tuple[Recipe, Path]]) -> None:
    """One after the other, while the server serves. One that cannot be made keeps nobody from the rest."""
    for recipe, root in others:
        try:
            await _ensure_template(house, recipe, root)
        except RoostError as error:
            log.error("the template could not be made", template=recipe.name, code=error.code, error=error.message)
