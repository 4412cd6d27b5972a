"""`roost kill`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from roost.cli.connection import connect
from roost.cli.options import AsJson
from roost.cli.progress import waiting
from roost.cli.rendering import note, say, say_json
from roost.client import calls
from roost.domain.errors import Invalid, RoostError


def kill(
    sandbox: Annotated[list[str] | None, typer.Argument(metavar="SANDBOX...", show_default=False)] = None,
    every: Annotated[bool, typer.Option("--all", help="Every sandbox there is.")] = False,
    now: Annotated[bool, typer.Option("--now", help="Keep nothing: it cannot be undeleted.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """End sandboxes: processes, memory and disk. `roost undelete` brings one back within a day. Snapshots stay."""
    if bool(sandbox) == every:
        raise Invalid("invalid", "Say which sandboxes, or --all.")
    with connect() as roost:
        refs = [record.id for record in roost.sandboxes()] if every else list(sandbox or ())
        if not _agreed(refs, yes, now):
            raise typer.Exit(1)
        killed: list[str] = []
        failures: list[RoostError] = []
        for ref in refs:
            try:
                with waiting(f"Killing {ref}"):
                    roost.run(calls.kill(ref, keep=not now))
            except RoostError as error:
                failures.append(error)
                continue
            killed.append(ref)
            if not as_json:
                say(ref)
    if as_json:
        say_json([{"id": ref, "state": "dead"} for ref in killed])
    for error in failures:
        note(f"roost: {error.message}")
    if failures:
        raise typer.Exit(1)


def _agreed(refs: list[str], yes: bool, now: bool) -> bool:
    if yes or not refs or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return True
    which = refs[0] if len(refs) == 1 else f"{len(refs)} sandboxes"
    lost = (
        "Nothing of it is kept."
        if now
        else "Its memory is gone then, unless it sleeps; `roost undelete` brings its disk back within a day."
    )
    return typer.confirm(f"Kill {which}? {lost}", err=True)
