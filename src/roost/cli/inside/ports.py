"""`roost ports`."""

from __future__ import annotations

from typing import Any

from roost.cli.connection import connect
from roost.cli.options import AsJson, SandboxRef
from roost.cli.rendering import note, one_line, say_json, say_table


def ports(sandbox: SandboxRef, as_json: AsJson = False) -> None:
    """List who listens inside a sandbox, and the address that reaches it. It does not wake one that sleeps."""
    with connect() as roost:
        asked = roost.enter(sandbox)
        found = asked.status.ports()
        address = str(asked.record.raw.get("url", ""))
        is_public = (asked.record.raw.get("network") or {}).get("public", True)
    rows: list[dict[str, Any]] = [{**each.raw, "url": address.replace("{port}", str(each.port))} for each in found]
    if as_json:
        say_json(rows)
    elif rows:
        say_table(("PORT", "LISTENS ON", "PID", "COMMAND", "ADDRESS"), (_cells(row) for row in rows))
        if not is_public:
            note(f"They are not public. `roost link {sandbox} --port {rows[0]['port']}` opens one in a browser.")
    else:
        note(f"Nothing listens in {sandbox}.")


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    return (
        str(row["port"]),
        row["address"],
        "-" if row["pid"] is None else str(row["pid"]),
        one_line(row["command"] or "-"),
        row["url"],
    )
