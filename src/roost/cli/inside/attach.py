"""`roost attach`."""

from __future__ import annotations

from typing import Annotated

import typer

from roost.cli.connection import connect
from roost.cli.options import AsJson, SandboxRef
from roost.domain.errors import Invalid


def attach(
    sandbox: SandboxRef,
    pid: Annotated[int, typer.Argument(help="A process that `roost exec --detach` or `roost logs` named.", show_default=False)],
    live: Annotated[bool, typer.Option("--live", help="Only what it says from now on.")] = False,
    interactive: Annotated[bool, typer.Option("--interactive", "-i", help="Pass on stdin.")] = False,
    as_json: AsJson = False,
) -> int:
    """Follow a process that was left running: first what it said so far, as far as that is kept, then live."""
    from roost.cli.inside.execution import collect
    from roost.cli.inside.following import flush_output, follow

    with connect() as roost:
        found = roost.enter(sandbox)
        try:
            process = found.attach(pid, from_sequence=None if live else 0)
        except Invalid as error:
            if error.code != "out_of_range":
                raise
            process = found.attach(pid)
        if as_json:
            return collect(process)
        flush_output()
        return follow(process, sandbox, forward_input=interactive)
