"""`roost keys`: list API keys, make and revoke them."""

from __future__ import annotations

from typing import Annotated

import typer

from roost.cli.connection import connect
from roost.cli.options import AsJson
from roost.cli.rendering import note, say, say_json, say_table
from roost.client import calls

keys = typer.Typer(
    help="List API keys (`ls`, also without a word), make them (`create`), revoke them (`rm`).",
    invoke_without_command=True,
)


@keys.callback()
def _unless_said(context: typer.Context, as_json: AsJson = False) -> None:
    if context.invoked_subcommand is None:
        ls(as_json=as_json)


@keys.command()
def ls(as_json: AsJson = False) -> None:
    """List API keys: never their secrets."""
    with connect() as roost:
        records = roost.run(calls.list_keys())["keys"]
    if as_json:
        say_json(records)
    else:
        rows = ((record["id"], record["name"], record["scope"], f"…{record['hint']}", record["created_at"]) for record in records)
        say_table(("ID", "NAME", "SCOPE", "ENDS IN", "MADE"), rows)


@keys.command()
def create(
    name: Annotated[str, typer.Argument(help="What it is for.")],
    scope: Annotated[
        str, typer.Option("--scope", "-s", help="How far it reaches: operator, full, read-only, or sandbox:ID for one sandbox.")
    ] = "full",
    as_json: AsJson = False,
) -> None:
    """Make an API key and print its secret, this once."""
    with connect() as roost:
        record = roost.run(calls.create_key(name, scope))
    if as_json:
        say_json(record)
    else:
        say(record["secret"])
        note(f"Keep it: it is shown this once. `roost keys rm {record['id']}` revokes it.")


@keys.command()
def rm(
    key: Annotated[list[str], typer.Argument(metavar="KEY...", help="Ids.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Revoke API keys."""
    with connect() as roost:
        for id in key:
            roost.run(calls.revoke_key(id))
            if not as_json:
                say(id)
    if as_json:
        say_json([{"id": id, "deleted": True} for id in key])
