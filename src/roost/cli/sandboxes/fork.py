"""`roost fork`."""

from __future__ import annotations

from typing import Annotated

import typer

from roost.cli.connection import connect
from roost.cli.options import AsJson, SandboxRef
from roost.cli.progress import waiting
from roost.cli.rendering import note, say, say_json
from roost.client import calls


def fork(
    sandbox: SandboxRef,
    count: Annotated[int, typer.Option("--count", "-n", help="How many.")] = 1,
    name: Annotated[list[str] | None, typer.Option("--name", help="A name for each (repeatable).")] = None,
    as_json: AsJson = False,
) -> None:
    """Make sandboxes that go on from here as this one does, each with an identity of its own, and print their ids."""
    with connect() as roost, waiting(f"Forking {sandbox}"):
        forked = roost.run(calls.fork(sandbox, count, name))
    if as_json:
        say_json([child.record.raw for child in forked.children])
    else:
        for child in forked.children:
            say(child.record.id)
    for failure in forked.failures:
        note(f"roost: fork {failure.index + 1} of {count} failed: {failure.error.message}")
    if forked.failures:
        raise typer.Exit(1)
