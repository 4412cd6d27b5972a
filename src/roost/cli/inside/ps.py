"""`roost ps`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roost.cli.connection import connect
from roost.cli.options import AsJson, SandboxRef
from roost.cli.rendering import age, one_line, say_json, say_table, volume

if TYPE_CHECKING:
    from roost.client.status import RunningProcess

HEADINGS = ("PID", "PARENT", "USER", "CPU", "MEMORY", "AGE", "COMMAND")


def ps(sandbox: SandboxRef, as_json: AsJson = False) -> None:
    """List what runs inside a sandbox, busiest first. It does not wake one that sleeps."""
    with connect() as roost:
        found = roost.enter(sandbox).status.processes()
    found.sort(key=lambda process: (-process.cpu_percent, process.started_at, process.pid))
    if as_json:
        say_json([process.raw for process in found])
    else:
        say_table(HEADINGS, (_cells(process) for process in found))


def _cells(process: RunningProcess) -> tuple[str, ...]:
    return (
        str(process.pid),
        str(process.parent),
        process.user,
        f"{process.cpu_percent:.0f}%",
        volume(process.memory_bytes),
        age(process.started_at),
        one_line(process.command),
    )
