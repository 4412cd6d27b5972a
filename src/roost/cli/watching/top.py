"""`roost top`."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roost.cli.connection import connect
from roost.cli.options import AsJson
from roost.cli.rendering import note, say_json, say_json_line, say_table, volume
from roost.cli.values import seconds
from roost.client import calls

if TYPE_CHECKING:
    from roost.client.blocking.roost import Roost
    from roost.client.records import Metric

HEADINGS = ("ID", "NAME", "CPU", "MEMORY", "DISK", "RECEIVED", "SENT")
WINDOW_S = 30.0


def top(
    once: Annotated[bool, typer.Option("--once", help="Print the table once and end.")] = False,
    every: Annotated[str, typer.Option("--every", help="How often to look again.")] = "2s",
    as_json: AsJson = False,
) -> None:
    """Show what running sandboxes use, until Ctrl-C."""
    with connect() as roost:
        if once or as_json or not sys.stdout.isatty():
            rows = measure(roost)
            if as_json:
                say_json(rows) if once else say_json_line(rows)
            elif rows:
                say_table(HEADINGS, (_cells(row) for row in rows))
            else:
                note("Nothing runs.")
            return
        _watch(roost, seconds(every) or 2.0)


def _watch(roost: Roost, interval_s: float) -> None:
    from rich.live import Live
    from rich.table import Table

    def drawn() -> Table:
        table = Table(*HEADINGS, box=None, pad_edge=False)
        for row in measure(roost):
            table.add_row(*_cells(row))
        return table

    with Live(drawn(), screen=True, auto_refresh=False) as live:
        while True:
            time.sleep(interval_s)
            live.update(drawn(), refresh=True)


def measure(roost: Roost) -> list[dict[str, Any]]:
    """One row for each running sandbox, busiest first. The CPU share is that of the last two samples; 1.0 is one
    core."""
    now = time.time()
    rows: list[dict[str, Any]] = []
    for record in roost.sandboxes(state="running"):
        samples = roost.run(calls.metrics(record.id, now - WINDOW_S, now))
        last = samples[-1] if samples else None
        rows.append(
            {
                "id": record.id,
                "name": record.name,
                "cpu_share": _cpu_share(samples),
                **({name: value for name, value in last.raw.items() if name != "at"} if last else {}),
            }
        )
    return sorted(rows, key=lambda row: row["cpu_share"] or 0.0, reverse=True)


def _cpu_share(samples: list[Metric]) -> float | None:
    if len(samples) < 2:
        return None
    before, last = samples[-2:]
    elapsed_s = (last.at - before.at).total_seconds()
    return max(0.0, last.cpu_s - before.cpu_s) / elapsed_s if elapsed_s > 0 else None


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    def amount(name: str) -> str:
        return volume(row[name]) if name in row else "-"

    share = row["cpu_share"]
    return (
        row["id"],
        row["name"] or "-",
        "-" if share is None else f"{share:.0%}",
        amount("memory_bytes"),
        amount("disk_bytes"),
        amount("received_bytes"),
        amount("sent_bytes"),
    )
