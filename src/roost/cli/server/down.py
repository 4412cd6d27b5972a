"""`roost down`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from roost.cli.progress import waiting
from roost.cli.rendering import note, say, say_json
from roost.cli.server.up import Home
from roost.domain.errors import Conflict, Unavailable

if TYPE_CHECKING:
    from roost.settings import Settings
    from roost.setup.running import Running


def down(
    home: Home = None,
    every: Annotated[bool, typer.Option("--all", help="Let every sandbox sleep first, then unmount the volume.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was ended as JSON.")] = False,
) -> None:
    """End the server. Sandboxes live on and are taken up by the next `roost up`; with --all they sleep first."""
    from roost.cli.server.machine import stop
    from roost.settings import Settings
    from roost.setup.running import find_running, is_locked

    settings = Settings.load(home=home)
    running = find_running(settings.home)
    if running is None and is_locked(settings.home):
        raise Unavailable(
            "server_not_ready",
            f"A server on {settings.home} is just starting, or just ending. Run this again when it is done.",
            home=str(settings.home),
        )
    if every:
        ending = _down_with_everything(settings, running)
    elif running is None:
        ending = DownResult(f"No server runs on {settings.home}.", ended=False)
    else:
        with waiting("Ending the server"):
            stop(running)
        ending = DownResult(f"The server on {settings.home} has ended; its sandboxes live on. `roost up` takes them up again.")
    if as_json:
        facts = {"ended": ending.ended, "unmounted": ending.unmounted, "asleep": list(ending.asleep)}
        say_json({"home": str(settings.home), **facts})
    else:
        (say if ending.ended else note)(ending.sentence)


@dataclass(frozen=True, slots=True)
class DownResult:
    sentence: str
    ended: bool = True  # False: there was nothing to end
    unmounted: bool = False
    asleep: tuple[str, ...] = ()  # what was put to sleep


def _down_with_everything(settings: Settings, running: Running | None) -> DownResult:
    from roost.cli.server.machine import stop
    from roost.node.storage.attachments import Attachments
    from roost.setup.commands import Commands
    from roost.setup.volume import unmount_volume

    if running is None:
        if settings.volume.is_mount() and not any(settings.run_dir.glob("runsc/*.state")):
            unmount_volume(settings.home, Commands())
            Attachments(settings.run_dir / "volumes").close()
            return DownResult(f"No server and no sandbox runs on {settings.home}; its volume is unmounted.", unmounted=True)
        if settings.volume.is_mount():
            raise Conflict(
                "no_server",
                f"No server runs on {settings.home}, so nobody can let its sandboxes sleep."
                " Start one with `roost up --detach`, then run this again.",
                home=str(settings.home),
            )
        return DownResult(f"Nothing runs on {settings.home}.", ended=False)
    asleep = _sleep_all(running, settings)
    with waiting("Ending the server"):
        stop(running)
    with waiting("Unmounting the volume"):
        unmount_volume(settings.home, Commands())
    sentence = f"The server on {settings.home} has ended and its volume is unmounted. `roost up` brings everything back."
    return DownResult(sentence, unmounted=True, asleep=asleep)


def _sleep_all(running: Running, settings: Settings) -> tuple[str, ...]:
    from roost.client import calls
    from roost.client.blocking.roost import Roost

    with Roost(running.url, settings.key_file.read_text().strip()) as roost:
        with waiting("Letting every sandbox sleep"):
            slept = roost.run(calls.sleep_all())
        for sandbox in slept["sandboxes"]:
            note(f"{sandbox} sleeps")
        failures = slept["errors"]
    for failure in failures:
        note(f"roost: {failure['message']}")
    if failures:
        raise Conflict(
            "not_all_asleep",
            f"{len(failures)} sandboxes could not be put to sleep, so the server goes on. Kill them, or use `roost down`.",
        )
    return tuple(slept["sandboxes"])
