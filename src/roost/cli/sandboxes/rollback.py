"""`roost rollback`."""

from __future__ import annotations

from typing import Annotated

import typer

from roost.cli.connection import connect
from roost.cli.options import AsJson, SandboxRef
from roost.cli.progress import waiting
from roost.cli.rendering import note, say, say_json
from roost.client import calls


def rollback(
    sandbox: SandboxRef,
    snapshot: Annotated[str, typer.Argument(metavar="SNAPSHOT", help="One of its own: `roost snapshots`.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Take a sandbox back to one of its own snapshots. Where it was is kept in another, `before-rollback-…`."""
    with connect() as roost, waiting(f"Taking {sandbox} back to {snapshot}"):
        record = roost.run(calls.roll_back(sandbox, snapshot))
    if as_json:
        say_json(record.raw)
        return
    say(record.id)
    note(f"It runs on from {snapshot}. `roost snapshots ls --sandbox {sandbox}` shows where it was before.")
