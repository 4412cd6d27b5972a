"""`roost history`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from roost.cli.connection import connect
from roost.cli.options import AsJson, SandboxRef
from roost.cli.rendering import moment, note, one_line, say_json, say_table, span

if TYPE_CHECKING:
    from roost.client.status import PastCommand


def history(
    sandbox: SandboxRef,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=500, help="How many at most.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List the commands that were run inside a sandbox, newest first. It does not wake one that sleeps."""
    with connect() as roost:
        found = roost.enter(sandbox).status.history(limit)
    if as_json:
        say_json([command.raw for command in found])
    elif found:
        say_table(("STARTED", "TOOK", "EXIT", "USER", "COMMAND"), (_cells(command) for command in found))
    else:
        note(f"Nothing was run in {sandbox} yet.")


def _cells(command: PastCommand) -> tuple[str, ...]:
    took = "runs" if command.ended_at is None else span((command.ended_at - command.started_at).total_seconds())
    code = "-" if command.exit_code is None else str(command.exit_code)
    return (moment(command.started_at), took, code, command.user, one_line(command.command))
