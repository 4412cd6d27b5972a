"""`roost templates`."""

from __future__ import annotations

from roost.cli.connection import connect
from roost.cli.options import AsJson
from roost.cli.rendering import age, note, say_json, say_table


def templates(as_json: AsJson = False) -> None:
    """List what sandboxes can be made from."""
    with connect() as roost:
        records = roost.templates()
    if as_json:
        say_json([record.raw for record in records])
    elif records:
        say_table(
            ("NAME", "ID", "AGE", "DESCRIPTION"),
            ((record.name, record.id, age(record.created_at), record.description) for record in records),
        )
    else:
        note("No templates. `roost setup` builds the built-in ones.")
