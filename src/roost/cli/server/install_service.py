"""`roost install-service`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from roost.cli.options import AsJson
from roost.cli.progress import waiting
from roost.cli.rendering import note, say, say_json
from roost.cli.server.up import Home

if TYPE_CHECKING:
    from roost.settings import Settings


def install_service(
    home: Home = None,
    name: Annotated[str, typer.Option(help="What systemd calls it.")] = "roost",
    start: Annotated[bool, typer.Option("--start/--no-start", help="Start it now, too.")] = True,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the unit and change nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Let systemd run the server: it starts with the machine, and its sandboxes outlive its restarts."""
    from roost.settings import DEFAULT_CACHE, Settings
    from roost.setup.commands import Commands
    from roost.setup.packages import check_root
    from roost.setup.running import find_running, is_locked
    from roost.setup.service import Service, check_systemd, find_command, install_service, render_unit

    settings = Settings.load(home=home)
    environment = {} if settings.cache == DEFAULT_CACHE else {"ROOST_CACHE": str(settings.cache)}
    service = Service(name, find_command(), settings.home, environment)
    if dry_run:
        text = render_unit(service)
        if as_json:
            say_json({"unit": service.unit_file, "text": text})
        else:
            say(text.rstrip())
        return
    check_root()
    check_systemd()
    _warn_of_variables(settings)
    busy = is_locked(settings.home)
    with waiting(f"Starting {service.unit_file}" if start and not busy else f"Installing {service.unit_file}"):
        install_service(service, Commands(), start=start and not busy)
    if busy:
        running = find_running(settings.home)
        note(f"A server runs on {settings.home} already{f' (pid {running.pid})' if running else ''}.")
        note(f"`roost down && systemctl start {name}` hands over to systemd; sandboxes live on.")
    if as_json:
        say_json({"unit": service.unit_file, "started": start and not busy})
        return
    say(f"{service.unit_file} starts with the machine. `systemctl status {name}`, `journalctl -u {name}` tell of it.")


def _warn_of_variables(settings: Settings) -> None:
    given = [origin for setting, _, origin in settings.rows() if origin.startswith("ROOST_") and setting not in ("home", "cache")]
    if given:
        note(f"The service does not see {', '.join(given)}: what it should use belongs into {settings.file}.")
