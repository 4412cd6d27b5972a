"""`roost doctor`: every requirement, how it stands and what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from roost.settings import Settings
from roost.setup.doctor import Requirement, Status, examine, worst

MARKS = {Status.OK: ("ok", "green"), Status.WARNING: ("warning", "yellow"), Status.FAILURE: ("failure", "red")}


def doctor(
    home: Annotated[
        Path | None,
        typer.Option("--home", help="The directory that holds everything of this Roost.", show_default=False),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a list of objects instead of lines.")] = False,
) -> None:
    """Look at every requirement of Roost and say what to do about the ones that are not met. Fails if one is not."""
    checks = examine(Settings.load(home=home))
    console = Console(highlight=False)
    if as_json:
        typer.echo(json.dumps([check.as_json() for check in checks], indent=2))
    else:
        _print(console, checks)
    if worst(checks) is Status.FAILURE:
        raise typer.Exit(1)


def _print(console: Console, checks: tuple[Requirement, ...]) -> None:
    width = max(len(check.name) for check in checks)
    for check in checks:
        word, colour = MARKS[check.status]
        console.print(f"[{colour}]{word:<8}[/]", end=" ")
        console.print(f"{check.name:<{width}}  {check.detail}", markup=False, soft_wrap=True)
        if check.remedy:
            console.print(f"{'':<8} {'':<{width}}  → {check.remedy}", markup=False, soft_wrap=True)
