"""`roost down`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from roost.cli.progress import waiting
from roost.cli.rendering import note, say
from roost.cli.up import Home
from roost.domain.errors import Conflict

if TYPE_CHECKING:
    from roost.cli.machine import Running
    from roost.settings import Settings


def down(
    home: Home = None,
    every: Annotated[bool, typer.Option("--all", help="Let every sandbox sleep first, then unmount the volume.")] = False,
) -> None:
    """End the server. Sandboxes live on and are taken up by the next `roost up`; with --all they sleep first."""
    from roost.cli.machine import find_running, stop
    from roost.settings import Settings

    settings = Settings.load(home=home)
    running = find_running(settings.home)
    if running is None and not every:
        note(f"No server runs on {settings.home}.")
        return
    if every:
        _down_with_everything(settings, running)
        return
    assert running is not None
    with waiting("Ending the server"):
        stop(running)
    say(f"The server on {settings.home} has ended; its sandboxes live on. `roost up` takes them up again.")


def _down_with_everything(settings: Settings, running: Running | None) -> None:
    from roost.cli.machine import stop
    from roost.setup.commands import Commands
    from roost.setup.volume import unmount_volume

    if running is None:
        if settings.volume.is_mount() and not any(settings.run_dir.glob("runsc/*.state")):
            unmount_volume(settings.home, Commands())
            say(f"No server and no sandbox runs on {settings.home}; its volume is unmounted.")
            return
        if settings.volume.is_mount():
            raise Conflict(
                "no_server",
                f"No server runs on {settings.home}, so nobody can let its sandboxes sleep."
                " Start one with `roost up --detach`, then run this again.",
                home=str(settings.home),
            )
        note(f"Nothing runs on {settings.home}.")
        return
    _sleep_all(running, settings)
    with waiting("Ending the server"):
        stop(running)
    with waiting("Unmounting the volume"):
        unmount_volume(settings.home, Commands())
    say(f"The server on {settings.home} has ended and its volume is unmounted. `roost up` brings everything back.")


def _sleep_all(running: Running, settings: Settings) -> None:
    from roost.client import calls
    from roost.client.roost import Roost

    with Roost(running.url, settings.key_file.read_text().strip()) as roost:
        with waiting("Letting every sandbox sleep"):
            slept = roost.run(calls.sleep_all())
        for record in slept["sandboxes"]:
            note(f"{record['id']} sleeps")
        failures = slept["errors"]
    for failure in failures:
        note(f"roost: {failure['message']}")
    if failures:
        raise Conflict(
            "not_all_asleep",
            f"{len(failures)} sandboxes could not be put to sleep, so the server goes on. Kill them, or use `roost down`.",
        )
