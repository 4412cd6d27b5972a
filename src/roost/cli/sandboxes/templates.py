"""`roost templates`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from roost.cli.connection import connect
from roost.cli.options import AsJson
from roost.cli.rendering import age, note, one_line, say_json, say_table, span


def templates(as_json: AsJson = False) -> None:
    """List what sandboxes can be made from."""
    with connect() as roost:
        records = roost.templates()
        builds = roost.templates_being_made()
    if as_json:
        say_json([record.raw for record in records])
    elif records:
        say_table(
            ("NAME", "ID", "AGE", "DESCRIPTION"),
            ((record.name, record.id, age(record.created_at), record.description) for record in records),
        )
    else:
        note("No templates. `roost setup` builds the built-in ones.")
    for build in builds:
        note(f"{build['name']} {_progress(build)}")


def _progress(build: dict[str, Any]) -> str:
    if build["failure"] is None:
        return f"is being made: {build['step']}."
    wait_s = max(0.0, (datetime.fromisoformat(build["again_at"]) - datetime.now(UTC)).total_seconds())
    return f"could not be made and is tried again in {span(wait_s)}: {one_line(build['failure'])}"
