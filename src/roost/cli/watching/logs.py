"""`roost logs`."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from roost.cli.connection import connect
from roost.cli.options import AsJson, SandboxRef
from roost.cli.rendering import note, one_line, say, say_json
from roost.cli.watching.events import tell


def logs(
    sandbox: SandboxRef,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what happens from now on.")] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many of the latest events.")] = 50,
    as_json: AsJson = False,
) -> None:
    """Tell what happened to a sandbox, and which of its commands run now.

    The output of a command that still runs is read with `roost attach`. A sleeping sandbox is not woken: its commands
    are not listed."""
    with connect() as roost:
        found = roost.get(sandbox)
        events = roost.events(sandbox=found.id, limit=limit, newest_first="true")
        events.reverse()
        processes = found.processes() if found.record.state == "running" and not (as_json and follow) else []
        if as_json and not follow:
            say_json({"events": [event.raw for event in events], "processes": [process.raw for process in processes]})
            return
        for event in events:
            tell(event, as_json)
        if found.record.state != "running":
            note(f"{found.id} is {found.record.state}: no command runs in it now.")
        for process in processes:
            say(f"running {process.pid}  {one_line(shlex.join(process.command))}")
        if follow:
            after = events[-1].sequence if events else 0
            for event in roost.follow_events(after=after, sandbox=found.id):
                tell(event, as_json)
