"""Roost as a service of systemd: the unit, and what `roost install-service` does with it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from roost.domain.errors import Fault, Invalid, Unsupported
from roost.setup.artefacts import write_atomically
from roost.setup.commands import CommandFailed, Commands, find_program

UNITS = Path("/etc/systemd/system")
RUNNING = Path("/run/systemd/system")  # there while systemd is the machine's init

UNIT = """\
# Written by `roost install-service`. `systemctl edit {name}` changes it in a way that a newer Roost leaves alone.
[Unit]
Description=Roost: computers for AI agents
Wants=network-online.target
After=network-online.target
RequiresMountsFor={mounts}

[Service]
# It says when it serves. The first start makes the templates, which takes minutes.
Type=notify
TimeoutStartSec=30min
ExecStart={roost} up --home {home}
{environment}\
# When the machine goes down, sandboxes sleep first, with their memory. In any other case they live on, and the next server
# takes them up: only the server itself is told to end.
ExecStop=/bin/sh -c 'if [ "$$(systemctl is-system-running)" = stopping ]; then exec {roost} down --all --home {home}; fi'
KillMode=process
TimeoutStopSec=10min
Restart=on-failure
RestartSec=2s
# A sandbox is a few dozen files and threads of the server's and the engine's.
LimitNOFILE=1048576
TasksMax=infinity
# A sandbox that is killed for its memory is no reason to end the others.
OOMPolicy=continue

[Install]
WantedBy=multi-user.target
"""


@dataclass(frozen=True, slots=True)
class Service:
    name: str
    roost: Path  # the command, at a path that outlives an update
    home: Path
    environment: Mapping[str, str]

    @property
    def unit_file(self) -> str:
        return f"{self.name}.service"


def render_unit(service: Service) -> str:
    """The unit's text. Raises Invalid for a path that systemd would read as something else."""
    for path in (str(service.roost), str(service.home), *service.environment.values()):
        if set(path) & set(" \t\n\"'\\%$;"):
            raise Invalid("path_unfit", f"{path!r} cannot be written into a unit of systemd: it has a blank, a quote, % or $.")
    lines = "".join(f"Environment={name}={value}\n" for name, value in service.environment.items())
    mounts = " ".join(dict.fromkeys([str(service.home), *service.environment.values()]))
    return UNIT.format(name=service.name, roost=service.roost, home=service.home, environment=lines, mounts=mounts)


def find_command() -> Path:
    """How the service starts Roost: by the name on the PATH if that leads here, since an update moves it; else by this
    environment's own."""
    own = Path(sys.prefix) / "bin" / "roost"
    found = find_program("roost")
    return Path(found) if found and Path(found).resolve() == own.resolve() else own


def check_systemd(running: Path = RUNNING) -> None:
    """Raises Unsupported where systemd does not run."""
    if not running.is_dir() or shutil.which("systemctl") is None:
        raise Unsupported(
            "systemd_missing",
            "systemd does not run on this machine. Let its own service manager run `roost up`; `roost install-service --dry-run`"
            " prints the unit, which says what matters.",
        )


def install_service(service: Service, commands: Commands, *, start: bool, units: Path = UNITS) -> None:
    """The unit is written and starts with the machine; it runs now if asked for. May be called twice."""
    write_atomically(units / service.unit_file, render_unit(service))
    try:
        commands.run(["systemctl", "daemon-reload"])
        commands.run(["systemctl", "enable", service.unit_file])
        if start:
            commands.run(["systemctl", "start", service.unit_file])
    except CommandFailed as error:
        raise Fault(
            "service_failed",
            f"systemd did not take up {units / service.unit_file}. {error.message}\n"
            f"`journalctl -u {service.name} -e` tells more.",
            unit=service.unit_file,
        ) from error
