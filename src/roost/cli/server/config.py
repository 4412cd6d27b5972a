"""`roost config show`: every setting, its value and where that came from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from roost.settings import Settings


def show(
    home: Annotated[
        Path | None,
        typer.Option("--home", help="The directory that holds everything of this Roost.", show_default=False),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print an object per setting instead of lines.")] = False,
) -> None:
    """Print every setting with its value and its origin: default, roost.toml, a ROOST_* variable, or an option."""
    rows = Settings.load(home=home).rows()
    if as_json:
        values = {name: {"value": _plain(value), "origin": origin} for name, value, origin in rows}
        typer.echo(json.dumps(values, indent=2))
        return
    console = Console(highlight=False)
    names = max(len(name) for name, _, _ in rows)
    values = max(len(_text(value)) for _, value, _ in rows)
    for name, value, origin in rows:
        console.print(f"{name:<{names}}  {_text(value):<{values}}  {origin}", markup=False, soft_wrap=True)


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return list(value)
    return value if isinstance(value, bool | int | float) or value is None else str(value)


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(value)  # as in a variable
    return "-" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
