"""`roost pause`."""

from __future__ import annotations

from typing import Annotated

import typer

from roost.cli.connection import connect
from roost.cli.options import AsJson, SandboxRef
from roost.cli.progress import waiting
from roost.cli.rendering import say, say_json
from roost.client import calls


def pause(
    sandbox: SandboxRef,
    no_memory: Annotated[bool, typer.Option("--no-memory", help="Keep the disk only; it boots again.")] = False,
    as_json: AsJson = False,
) -> None:
    """Let a sandbox sleep with its memory. `roost resume`, or traffic, wakes it where it left off."""
    with connect() as roost, waiting(f"Pausing {sandbox}"):
        record = roost.run(calls.pause(sandbox, memory=not no_memory))
    if as_json:
        say_json(record.raw)
    else:
        say(f"{record.id} {record.state}")
