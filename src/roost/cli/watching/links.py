"""`roost link`, `roost links`, `roost unlink`: a sandbox's screen and ports for people who have no key."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from roost.cli.connection import connect
from roost.cli.options import AsJson, SandboxRef
from roost.cli.rendering import age, note, say, say_json, say_table, span
from roost.cli.values import seconds
from roost.client import links as calls


def link(
    sandbox: SandboxRef,
    control: Annotated[bool, typer.Option("--control", "-c", help="Who has it may take over, not only watch.")] = False,
    port: Annotated[
        int | None,
        typer.Option("--port", "-p", min=1, max=65535, help="To this port, not to the screen.", show_default=False),
    ] = None,
    for_: Annotated[str, typer.Option("--for", metavar="TIME", help="How long it opens anything: 90s, 15m, 2h, 7d.")] = "1h",
    label: Annotated[str, typer.Option("--label", "-l", help="Whom it is for: shown when they drive.")] = "",
    as_json: AsJson = False,
) -> None:
    """Make a link to a sandbox's screen, or to a port of it, and print it, this once.

    A link to a port opens it in a browser, also when the sandbox's ports are not public."""
    with connect() as roost:
        made = roost.run(calls.make(sandbox, control=control, port=port, seconds=seconds(for_) or 0, label=label))
    if as_json:
        say_json(made.raw)
        return
    say(made.url or "")
    may = f"open port {port}" if port is not None else "watch and take over" if control else "watch"
    note(f"Whoever has it may {may} for {for_}. `roost unlink {sandbox} {made.id}` ends it.")


def links(sandbox: SandboxRef, as_json: AsJson = False) -> None:
    """List the links to a sandbox's screen and ports: never their secrets."""
    with connect() as roost:
        found = roost.run(calls.list_links(sandbox))
    if as_json:
        say_json([each.raw for each in found])
        return
    now = datetime.now(UTC)
    say_table(("ID", "OPENS", "FOR", "AGE", "ENDS IN"), (_cells(each, now) for each in found))


def unlink(
    sandbox: SandboxRef,
    link: Annotated[list[str], typer.Argument(metavar="LINK...", help="Ids.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Revoke links to a sandbox's screen or ports: what they opened is cut."""
    with connect() as roost:
        for id in link:
            roost.run(calls.revoke(sandbox, id))
            if not as_json:
                say(id)
    if as_json:
        say_json([{"id": id, "deleted": True} for id in link])


def _cells(link: calls.LinkRecord, now: datetime) -> tuple[str, ...]:
    opens = f"port {link.port}" if link.port is not None else "screen, to drive" if link.mode == "control" else "screen"
    return link.id, opens, link.label or "-", age(link.created_at), span((link.expires_at - now).total_seconds())
