"""`roost events`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from roost.cli.connection import connect
from roost.cli.options import AsJson
from roost.cli.rendering import joined, moment, one_line, say_at_once, say_json, say_json_line

if TYPE_CHECKING:
    from roost.client.records import Event

Kinds = Annotated[str | None, typer.Option("--kind", "-k", help="Only those, such as sandbox.paused.")]


def events(
    sandbox: Annotated[str | None, typer.Option("--sandbox", "-s", help="Only those of it.")] = None,
    kind: Kinds = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what happens from now on.")] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many of the latest.")] = 50,
    as_json: AsJson = False,
) -> None:
    """Tell what happened, oldest first."""
    with connect() as roost:
        if sandbox is not None:
            sandbox = roost.get(sandbox).id
        found = roost.events(sandbox=sandbox, kind=kind, limit=limit, newest_first="true")
        found.reverse()
        if as_json and not follow:
            say_json([event.raw for event in found])
            return
        for event in found:
            tell(event, as_json)
        if not follow:
            return
        after = found[-1].sequence if found else 0
        for event in roost.follow_events(after=after, sandbox=sandbox, kind=kind):
            tell(event, as_json)


def tell(event: Event, as_json: bool) -> None:
    if as_json:
        say_json_line(event.raw)
    else:
        say_at_once(_line(event))


def _line(event: Event) -> str:
    about = f"  {event.sandbox}" if event.sandbox else ""
    facts = one_line(joined(event.facts))
    return f"{moment(event.at)}  {event.kind}{about}{'  ' + facts if facts else ''}"
