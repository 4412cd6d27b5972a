"""`roost extend`."""

from __future__ import annotations

from typing import Annotated

import typer

from roost.cli.connection import connect
from roost.cli.options import AsJson, SandboxRef
from roost.cli.rendering import moment, say, say_json
from roost.cli.values import seconds
from roost.client import calls


def extend(
    sandbox: SandboxRef,
    timeout: Annotated[str, typer.Argument(metavar="TIME", help="From now: 90s, 15m, 2h, 1d.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Move a sandbox's deadline to so long from now."""
    with connect() as roost:
        record = roost.run(calls.extend(sandbox, seconds(timeout) or 0))
    if as_json:
        say_json(record.raw)
    else:
        say(f"{record.id} until {moment(record.expires_at) if record.expires_at else 'told otherwise'}")
