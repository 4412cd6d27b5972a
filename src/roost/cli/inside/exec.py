"""`roost exec`."""

from __future__ import annotations

from typing import Annotated

import typer

from roost.cli.inside.execution import Execution, execute
from roost.cli.options import AsJson, SandboxRef, User


def exec_(
    sandbox: SandboxRef,
    command: Annotated[list[str], typer.Argument(metavar="COMMAND...", show_default=False)],
    interactive: Annotated[bool, typer.Option("--interactive", "-i", help="Pass on stdin.")] = False,
    user: User = None,
    cwd: Annotated[str | None, typer.Option("--cwd", "-w", help="Where: its home unless said otherwise.")] = None,
    env: Annotated[list[str] | None, typer.Option("--env", "-e", metavar="KEY=VALUE")] = None,
    timeout: Annotated[str | None, typer.Option("--timeout", help="Kill it after so long (90s, 15m, 2h).")] = None,
    detach: Annotated[bool, typer.Option("--detach", "-d", help="Leave it running and print its pid.")] = False,
    as_json: AsJson = False,
) -> int:
    """Run a command in a sandbox: its output and exit code are passed through.

    One word is a shell's command line (`roost exec NAME 'ls | wc -l'`); several are a program and its arguments, as
    they are. A sleeping sandbox wakes. A cut connection is made again without losing or repeating output.
    """
    return execute(Execution(sandbox, command, interactive, user, cwd, env or (), timeout, detach=detach, as_json=as_json))
