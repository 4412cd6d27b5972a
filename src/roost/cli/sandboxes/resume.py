"""`roost resume`."""

from __future__ import annotations

from typing import Annotated

import typer

from roost.cli.connection import connect
from roost.cli.options import AsJson, SandboxRef
from roost.cli.progress import waiting
from roost.cli.rendering import note, say, say_json
from roost.client import calls


def resume(
    sandbox: SandboxRef,
    cold: Annotated[bool, typer.Option("--cold", help="Boot from its disk and give up its memory.")] = False,
    as_json: AsJson = False,
) -> None:
    """Wake a sandbox where it left off."""
    with connect() as roost, waiting(f"Resuming {sandbox}"):
        resumed = roost.run(calls.resume(sandbox, cold=cold))
    if as_json:
        say_json(resumed.raw)
        return
    say(f"{resumed.record.id} {resumed.record.state}")
    if resumed.cold:
        note("It booted from its disk; what was in its memory is gone.")
    for command in resumed.lost:
        note(f"  no longer runs: {command}")
