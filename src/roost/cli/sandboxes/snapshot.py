"""`roost snapshot`."""

from __future__ import annotations

from typing import Annotated

import typer

from roost.cli.connection import connect
from roost.cli.options import AsJson, SandboxRef
from roost.cli.progress import waiting
from roost.cli.rendering import note, say, say_json
from roost.client import calls


def snapshot(
    sandbox: SandboxRef,
    name: Annotated[str | None, typer.Option("--name", "-n", help="A name to create from later.")] = None,
    no_memory: Annotated[bool, typer.Option("--no-memory", help="Keep the disk only.")] = False,
    as_json: AsJson = False,
) -> None:
    """Keep this moment of a sandbox, which goes on running, and print the snapshot's id."""
    with connect() as roost, waiting(f"Taking a snapshot of {sandbox}"):
        record = roost.run(calls.snapshot(sandbox, name=name, memory=not no_memory))
    if as_json:
        say_json(record.raw)
        return
    say(record.id)
    note(f"Try: roost create --template {record.name or record.id}")
