"""What `roost up` runs: it takes the home, holds the volume and the sockets, and keeps the processes that serve."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from roost.listening import listening
from roost.rpc.sockets import listening_unix
from roost.serving.role import Assignment
from roost.serving.supervisor import Role, Supervisor
from roost.settings import Settings
from roost.setup import volume as volumes
from roost.setup.installation import Installation
from roost.setup.running import hold_home
from roost.telemetry import log as logs
from roost.wiring.identity import VERSION, node_id

NODE = "roost.serving.node"
CONTROL = "roost.serving.control"
EDGE = "roost.serving.edge"


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
    node_module: str = NODE,
) -> None:
    """Serves until SIGTERM or SIGINT. Raises Conflict when the home or the port is taken, or what a role cannot start for."""
    logs.configure(logs.Format.CONSOLE, logs.Level(settings.log_level))
    with (
        hold_home(settings.home) as lock,
        volumes.held(installation.volume),
        listening(settings.host, settings.port) as listener,
        _run_dir(settings),
        listening_unix(settings.node_socket) as node_socket,
        listening_unix(settings.control_socket) as control_socket,
        listening_unix(settings.api_socket) as api_socket,
    ):
        assignment = Assignment(
            settings=settings.model_dump(mode="json"),
            installation=installation,
            node=node_id(settings),
            port=listener.getsockname()[1],
            server_pid=os.getpid(),
        )
        told: dict[str, Any] = {}
        roles = (
            Role("node", (sys.executable, "-m", node_module), {"node": node_socket}),
            Role("control", (sys.executable, "-m", CONTROL), {"control": control_socket, "api": api_socket}),
            Role("edge", (sys.executable, "-m", EDGE), {"clients": listener}),
        )

        def on_change() -> None:
            if told:  # else a role was replaced before all served: nobody has been told of any yet
                _write_record(settings, supervisor, told)

        supervisor = Supervisor(roles, assignment, lock, on_change)

        def announce(facts: Mapping[str, Any]) -> None:
            told.update(facts)
            _write_record(settings, supervisor, told)
            ca = Path(told["ca"]) if told["ca"] else None
            on_ready(ServerInfo(told["url"], os.getpid(), told["key"], settings.home, ca))

        try:
            await supervisor.run(announce)
        finally:
            (settings.home / "server.json").unlink(missing_ok=True)


@contextmanager
def _run_dir(settings: Settings) -> Iterator[None]:
    """Gone afterwards, unless a sandbox runs: its engine's state is there."""
    try:
        yield
    finally:
        with suppress(OSError):
            settings.run_dir.rmdir()


def _write_record(settings: Settings, supervisor: Supervisor, told: Mapping[str, Any]) -> None:
    record = {"url": told["url"], "pid": os.getpid(), "version": VERSION, "roles": [asdict(role) for role in supervisor.roles]}
    file = settings.home / "server.json"
    unfinished = file.with_suffix(".partial")
    unfinished.write_text(json.dumps(record if told["ca"] is None else {**record, "ca": told["ca"]}))
    unfinished.replace(file)
