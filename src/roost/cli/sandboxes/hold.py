"""`roost hold`."""

from __future__ import annotations

from typing import Annotated

import typer

from roost.cli.connection import connect
from roost.cli.options import AsJson, SandboxRef
from roost.cli.rendering import say, say_json
from roost.cli.values import seconds
from roost.client import calls


def hold(
    sandbox: SandboxRef,
    time: Annotated[str, typer.Argument(metavar="TIME", help="90s, 15m, 2h, 1d; 0 lets go.", show_default=False)],
    reason: Annotated[str, typer.Option("--reason", "-r", help="Shown to whoever asks why it is awake.")] = "held by hand",
    as_json: AsJson = False,
) -> None:
    """Keep a sandbox awake for so long, however idle it is."""
    length_s = seconds(time) or 0
    with connect() as roost:
        record = roost.run(calls.hold(sandbox, length_s, reason) if length_s else calls.release(sandbox))
    if as_json:
        say_json(record.raw)
    else:
        say(f"{record.id} held for {time}" if length_s else f"{record.id} let go")
