"""The whole life of a server: it takes its home, opens the house, makes templates, and serves until told to stop.

What it leaves behind when it ends, or is killed, is what the next one adopts.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
import structlog
import uvicorn
from anyio.abc import TaskStatus

from roost.api.app import create_app
from roost.api.guest import create_guest_app
from roost.control.access.keys import Keys
from roost.domain.errors import Conflict, Fault, RoostError
from roost.domain.template import Recipe
from roost.edge.app import protocol_factory
from roost.listening import listening
from roost.node.engine.bundle import SPEC_VERSION
from roost.node.steps import CrashPoint, never
from roost.settings import Settings
from roost.setup import volume as volumes
from roost.setup.artefacts import write_atomically
from roost.setup.installation import Installation
from roost.setup.tls import Certificate, ensure_certificate, load, make_context, own_certificate
from roost.setup.web import Web
from roost.telemetry import log as logs
from roost.wiring import VERSION, House, open_house

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


async def serve(
    settings: Settings,
    installation: Installation,
    *,
    on_ready: Callable[[ServerInfo], None],
    crash_point: CrashPoint = never,
) -> None:
    """Serves until SIGTERM or SIGINT. Raises Conflict when the home or the port is taken."""
    logs.configure(logs.Format.CONSOLE, logs.Level(settings.log_level))
    with hold_home(settings.home), volumes.held(installation.volume), listening(settings.host, settings.port) as door:
        port = door.getsockname()[1]
        certificate = _certificate(settings) if settings.speaks_tls else None
        async with open_house(settings, installation, port, crash_point) as house, anyio.create_task_group() as tasks:
            await tasks.start(house.services.flights.run)
            await tasks.start(house.edge.run)
            await tasks.start(house.services.keeper.run)
            await tasks.start(_serve_guests, house)
            first, *others = recipes(installation)
            house.services.templates.expect(*(recipe.name for recipe in others))
            await house.services.templates.ensure(first, partial(_on_progress, first))
            await house.services.templates.keep_warm()
            tasks.start_soon(house.services.templates.ensure_all, others, _on_progress, _on_failure)
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


@contextmanager
def hold_home(home: Path) -> Iterator[None]:
    """One server per home, for as long as it lives: the kernel lets go of the lock even when it is killed."""
    with (home / "lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            message = f"A server runs on {home} already. `roost status` tells where."
            raise Conflict("already_running", message, home=str(home)) from error
        # What one that was killed said of itself would be taken for ours: its process number may be anybody's by now.
        (home / "server.json").unlink(missing_ok=True)
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
    if settings.is_exposed:
        log.warning("listening for others than this machine, without TLS", host=settings.host, port=port)
    record = settings.home / "server.json"
    unfinished = record.with_suffix(".partial")
    told = {"url": url, "pid": os.getpid(), "version": VERSION}
    unfinished.write_text(json.dumps(told if ca is None else {**told, "ca": str(ca)}))
    unfinished.replace(record)
    on_ready(ServerInfo(url, os.getpid(), key, settings.home, ca))


def _url(settings: Settings, port: int, certificate: Certificate | None) -> str:
    """An address that needs no name server; but an owner's certificate is for names only."""
    if certificate is not None and certificate.ca is None:
        return f"https://api.{settings.domain}:{port}"
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http{'s' if certificate else ''}://{'127.0.0.1' if host in ('0.0.0.0', '[::]') else host}:{port}"


async def _first_key(keys: Keys, file: Path) -> str:
    """The key for the people at this machine. Only root reads its file."""
    await keys.ensure_operator(_kept_key(file), keep=lambda secret: write_atomically(file, secret + "\n", 0o600))
    return _read_key(file)


def _kept_key(file: Path) -> str | None:
    with suppress(FileNotFoundError):
        return file.read_text().strip()
    return None


def _read_key(file: Path) -> str:
    try:
        return file.read_text().strip()
    except FileNotFoundError as error:
        raise Fault(
            "key_file_missing",
            f"{file} is gone, and keys are kept nowhere in the clear. Put a key of yours there, or start with a new home.",
            file=str(file),
        ) from error


def recipes(installation: Installation) -> list[Recipe]:
    """What the templates are made of."""
    return [_recipe(installation, name) for name in installation.definitions]


def _recipe(installation: Installation, name: str) -> Recipe:
    definition, rootfs = installation.definitions[name], installation.rootfs[name]
    return Recipe(
        name=name,
        digest=f"{definition.digest}-{rootfs.digest}-{installation.agent.version}-{installation.engine.version}-{SPEC_VERSION}",
        size=definition.size,
        description=definition.description,
        user=definition.user,
        workdir=definition.workdir,
        env={**rootfs.env, **definition.env},
        run=definition.run,
        start=definition.start,
        ready=definition.ready,
        has_desktop=definition.has_desktop,
        packages=tuple(sorted({*definition.packages, *(definition.parent.packages if definition.parent else ())})),
    )


def _on_progress(recipe: Recipe, step: str) -> None:
    log.info("building template", template=recipe.name, step=step)


def _on_failure(recipe: Recipe, error: RoostError, wait_s: float) -> None:
    log.error("the template could not be made", template=recipe.name, code=error.code, error=error.message, again_in_s=wait_s)
