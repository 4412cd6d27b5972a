"""`roost ls`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from roost.cli.connection import connect
from roost.cli.options import AsJson
from roost.cli.rendering import age, note, say_json, say_table
from roost.cli.values import pairs

if TYPE_CHECKING:
    from roost.client import Roost
    from roost.client.records import SandboxRecord


def ls(
    state: Annotated[list[str] | None, typer.Option("--state", "-s", help="Only those (repeatable).")] = None,
    template: Annotated[str | None, typer.Option("--template", "-t", help="Only those made from it.")] = None,
    metadata: Annotated[list[str] | None, typer.Option("--metadata", "-m", metavar="KEY=VALUE")] = None,
    every: Annotated[bool, typer.Option("--all", "-a", help="The recently dead as well.")] = False,
    dead: Annotated[bool, typer.Option("--dead", help="The dead that can be undeleted.")] = False,
    as_json: AsJson = False,
) -> None:
    """List sandboxes, newest first."""
    from roost.domain.lifecycle import State

    states = [State.DEAD] if dead else list(State) if every else state
    with connect() as roost:
        records = list(roost.sandboxes(state=states, template=template, metadata=pairs(metadata, "metadata") or None))
        dozing = _dozing(roost) if any(record.state == "paused" for record in records) else set()
    if dead:
        records = [record for record in records if record.raw.get("undelete_until")]
    if as_json:
        say_json([{**record.raw, "dozing": record.id in dozing} for record in records])
    elif records and dead:
        say_table(("ID", "NAME", "TEMPLATE", "DIED", "KEPT FOR"), (_dead_row(record) for record in records))
    elif dead:
        note("No dead sandbox can be undeleted.")
    elif records:
        say_table(("ID", "NAME", "STATE", "TEMPLATE", "AGE", "SLEEPS"), (_row(record, record.id in dozing) for record in records))
    else:
        note("No sandboxes. `roost create` makes one.")


def _dozing(roost: Roost) -> set[str]:
    """Who of those that sleep is still in memory. A key that may not see the whole fleet does not learn it."""
    from roost.client import calls
    from roost.domain.errors import RoostError

    try:
        return roost.run(calls.dozing())
    except RoostError:
        return set()


def _dead_row(record: SandboxRecord) -> tuple[str, ...]:
    from datetime import UTC, datetime

    until = datetime.fromisoformat(record.raw["undelete_until"])
    return (record.id, record.name or "-", record.template, record.reason or "-", age(datetime.now(UTC), until))


def _row(record: SandboxRecord, dozing: bool) -> tuple[str, ...]:
    policy = record.raw.get("policy") or {}
    idle_s = policy.get("idle_s")
    sleeps = f"idle {idle_s:g}s" if idle_s else "-"
    if record.expires_at is not None and record.state == "running":
        from datetime import UTC, datetime

        sleeps = f"{policy.get('on_timeout', 'pause')} in {age(datetime.now(UTC), record.expires_at)}"
    if record.state == "dead":
        sleeps = record.reason or "-"
    state = f"{record.state} (dozing)" if dozing else record.state
    return (record.id, record.name or "-", state, record.template, age(record.created_at), sleeps)
