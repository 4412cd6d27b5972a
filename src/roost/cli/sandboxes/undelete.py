"""`roost undelete`."""

from __future__ import annotations

from typing import Annotated

import typer

from roost.cli.connection import connect
from roost.cli.options import AsJson
from roost.cli.progress import waiting
from roost.cli.rendering import note, say, say_json
from roost.client import calls


def undelete(
    sandbox: Annotated[
        str, typer.Argument(metavar="SANDBOX", help="A dead one, by id or name: `roost ls --dead`.", show_default=False)
    ],
    as_json: AsJson = False,
) -> None:
    """Bring a dead sandbox back as a new one, made of what was kept of it, and print the new id."""
    with connect() as roost, waiting(f"Bringing {sandbox} back"):
        record = roost.run(calls.undelete(sandbox)).record
    if as_json:
        say_json(record.raw)
        return
    say(record.id)
    if record.name:
        note(f"It is called {record.name} again.")
