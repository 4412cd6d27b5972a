"""`roost snapshots`: list them, and `rm`."""

from __future__ import annotations

from typing import Annotated

import typer

from roost.cli.connection import connect
from roost.cli.options import AsJson
from roost.cli.rendering import age, note, say, say_json, say_table, volume

snapshots = typer.Typer(help="List snapshots (`ls`, also without a word) and delete them (`rm`).", invoke_without_command=True)


@snapshots.callback()
def _unless_said(context: typer.Context, as_json: AsJson = False) -> None:
    if context.invoked_subcommand is None:
        ls(as_json=as_json)


@snapshots.command()
def ls(
    sandbox: Annotated[str | None, typer.Option("--sandbox", "-s", help="Only those of it.")] = None,
    as_json: AsJson = False,
) -> None:
    """List snapshots, newest first."""
    with connect() as roost:
        records = list(roost.snapshots(sandbox=sandbox))
    if as_json:
        say_json([record.raw for record in records])
        return
    if not records:
        note("No snapshots. `roost snapshot SANDBOX` takes one.")
        return
    say_table(
        ("ID", "NAME", "KIND", "KEPT AS", "SANDBOX", "MEMORY", "AGE"),
        (
            (
                record.id,
                record.name or "-",
                record.kind,
                record.purpose,
                record.sandbox or "-",
                volume(record.memory_bytes),
                age(record.created_at),
            )
            for record in records
        ),
    )


@snapshots.command()
def rm(
    snapshot: Annotated[list[str], typer.Argument(metavar="SNAPSHOT...", help="Ids.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Delete snapshots."""
    with connect() as roost:
        for ref in snapshot:
            roost.delete_snapshot(ref)
            if not as_json:
                say(ref)
    if as_json:
        say_json([{"id": ref, "deleted": True} for ref in snapshot])
