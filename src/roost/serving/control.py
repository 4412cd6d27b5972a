"""The role of the control plane: `python -m roost.serving.control`. Not started by hand: see `role`.

It recovers, makes templates, and serves the edge (routes and the API) and the guests' API until told to stop.
"""

from __future__ import annotations

import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
import structlog
import uvicorn
from anyio.abc import TaskStatus

from roost.api.app import create_app
from roost.api.guest import create_guest_app
from roost.api.services import About
from roost.control.access.keys import Keys
from roost.domain.errors import Fault, RoostError, Unavailable
from roost.domain.template import Recipe
from roost.drivers.routes.remote import serve_routes
from roost.listening import listening
from roost.rpc.server import Service, serve
from roost.serving.recipes import recipes
from roost.serving.role import Assignment, Duty, run_role
from roost.settings import Settings
from roost.setup.artefacts import write_atomically
from roost.setup.web import Web
from roost.wiring.control import House, open_control
from roost.wiring.identity import VERSION

SOCKET = "control"  # where the edge calls it
API = "api"  # where the edge passes requests on to

_PATIENCE_S = 10  # for open requests, at the end
_KEEP_ALIVE_S = 3600  # the edge gives its idle connections up before

log = structlog.get_logger("roost.serving.control")  # also when it is run as the main module


async def serve_control(duty: Duty) -> None:
    """Until SIGTERM; a second one ends open requests too."""
    settings, told = duty.settings, duty.assignment
    async with open_control(settings, _about(settings, told), told.node) as house, anyio.create_task_group() as tasks:
        await tasks.start(house.services.flights.run)
        await tasks.start(house.services.keeper.run)
        await tasks.start(house.services.build_queue.run)
        await tasks.start(_serve_edges, house, duty.sockets[SOCKET])  # now that all routes are known
        await tasks.start(_serve_guests, house)
        first, *others = recipes(told.installation)
        house.services.templates.expect(*(recipe.name for recipe in others))
        await house.services.templates.ensure(first, partial(_on_progress, first))
        await house.services.templates.keep_warm()
        tasks.start_soon(house.services.templates.ensure_all, others, _on_progress, _on_failure)
        key = await _first_key(house.services.keys, settings.key_file)
        server = _Server(_uvicorn(house, told.installation.web, on_started=lambda: duty.tell_ready(key=key)))
        tasks.start_soon(_stop_on_signal, server)
        try:
            await server.serve(sockets=[duty.sockets[API]])
        finally:
            tasks.cancel_scope.cancel()


def _about(settings: Settings, told: Assignment) -> About:
    return About(
        version=VERSION,
        domain=settings.domain,
        port=settings.public_port or told.port,
        home=str(settings.home),
        pid=told.server_pid,
        engine=f"gvisor {told.installation.engine.version}",
        agent=told.installation.agent.version,
        scheme="https" if settings.speaks_tls or settings.public_port else "http",
    )


class _Server(uvicorn.Server):
    """uvicorn without its signal handling: signals are ours."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _uvicorn(house: House, web: Web, on_started: Callable[[], None]) -> uvicorn.Config:
    app = create_app(house.services, web.path)

    @asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[None]:
        on_started()
        yield

    app.router.lifespan_context = lifespan
    return uvicorn.Config(
        app,
        lifespan="on",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=_PATIENCE_S,
        server_header=False,
        forwarded_allow_ips="*",  # only root connects to this socket, and the edge says who the client is
        timeout_keep_alive=_KEEP_ALIVE_S,
    )


async def _serve_edges(house: House, listener: socket.socket, *, task_status: TaskStatus[None]) -> None:
    service = Service(build=VERSION)
    serve_routes(service, house.services.served_routes)
    await serve(service, listener, task_status=task_status)


async def _serve_guests(house: House, *, task_status: TaskStatus[None]) -> None:
    """The API for programs inside sandboxes, until cancelled: where the node says, also when its next process says another."""
    async with anyio.create_task_group() as tasks:
        served_at: tuple[str, int] | None = None
        serving = anyio.CancelScope()
        while True:
            with suppress(Unavailable):  # the node's process ended: the next one is asked
                async with aclosing(house.guests.addresses()) as addresses:
                    async for address in addresses:
                        if address != served_at:
                            serving.cancel()
                            serving, served_at = anyio.CancelScope(), address
                            await tasks.start(_serve_guests_at, house, address, serving)
                            task_status.started()


async def _serve_guests_at(
    house: House, address: tuple[str, int], scope: anyio.CancelScope, *, task_status: TaskStatus[None]
) -> None:  # fmt: skip
    with scope, listening(*address) as listener:
        server = _Server(
            uvicorn.Config(
                create_guest_app(house.services, house.guests.who),
                lifespan="off",
                log_config=None,
                access_log=False,
                timeout_graceful_shutdown=1,
                server_header=False,
            )
        )
        task_status.started()
        try:
            await server.serve(sockets=[listener])
        finally:
            with anyio.CancelScope(shield=True):
                if server.started:
                    await server.shutdown([listener])


async def _stop_on_signal(server: uvicorn.Server) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM) as signals:
        async for _ in signals:
            if server.should_exit:
                server.force_exit = True  # asked twice: do not wait for open requests
            server.should_exit = True


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


def _on_progress(recipe: Recipe, step: str) -> None:
    log.info("building template", template=recipe.name, step=step)


def _on_failure(recipe: Recipe, error: RoostError, wait_s: float) -> None:
    log.error("the template could not be made", template=recipe.name, code=error.code, error=error.message, again_in_s=wait_s)


if __name__ == "__main__":
    run_role(serve_control)
