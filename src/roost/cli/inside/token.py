"""`roost token`: what opens a sandbox, for programs that talk to it without Roost's own clients."""

from __future__ import annotations

import typer

from roost.cli.connection import connect
from roost.cli.options import AsJson, SandboxRef
from roost.cli.rendering import note, say, say_json
from roost.client import calls
from roost.client.records import Entered

token = typer.Typer(help="Show (`show`) or change (`rotate`) the token that opens a sandbox.", no_args_is_help=True)


@token.command()
def show(sandbox: SandboxRef, as_json: AsJson = False) -> None:
    """Print the access token of a sandbox: it opens the agent inside."""
    with connect() as roost:
        _say(roost.run(calls.enter(sandbox)), as_json)


@token.command()
def rotate(sandbox: SandboxRef, as_json: AsJson = False) -> None:
    """Change the tokens of a sandbox: the old ones, and URLs that were signed with them, open nothing any more."""
    with connect() as roost:
        entered = roost.run(calls.rotate_tokens(sandbox))
    if as_json:
        _say(entered, as_json)
    else:
        say(entered.record.id)
        note(f"Its tokens are new. `roost token show {sandbox}` prints the one that opens it.")


def _say(entered: Entered, as_json: bool) -> None:
    if as_json:
        say_json({"id": entered.record.id, "access_token": entered.access_token, "traffic_token": entered.traffic_token})
    else:
        say(entered.access_token)
