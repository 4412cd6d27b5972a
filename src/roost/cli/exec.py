"""`roost exec`."""

from __future__ import annotations

from typing import Annotated

import typer

from roost.cli.connection import connect
from roost.cli.options import AsJson, SandboxRef, User, pairs, seconds
from roost.cli.rendering import note, say, say_json


def exec_(
    sandbox: SandboxRef,
    command: Annotated[list[str], typer.Argument(metavar="COMMAND...", show_default=False)],
    interactive: Annotated[bool, typer.Option("--interactive", "-i", help="Pass on stdin.")] = False,
    user: User = None,
    cwd: Annotated[str | None, typer.Option("--cwd", "-w", help="Where: its home unless said otherwise.")] = None,
    env: Annotated[list[str] | None, typer.Option("--env", "-e", metavar="KEY=VALUE")] = None,
    timeout: Annotated[str | None, typer.Option(help="Kill it after so long (90s, 15m, 2h).")] = None,
    detach: Annotated[bool, typer.Option("--detach", "-d", help="Leave it running and print its pid.")] = False,
    as_json: AsJson = False,
) -> int:
    """Run a command in a sandbox: its output and exit code are passed through.

    One word is a shell's command line (`roost exec NAME 'ls | wc -l'`); several are a program and its arguments, as
    they are. A sleeping sandbox wakes. A cut connection is made again without losing or repeating output."""
    from roost.cli.following import flush_output, follow

    with connect() as roost:
        process = roost.get(sandbox).start(
            command[0] if len(command) == 1 else command,
            user=user,
            cwd=cwd,
            env=pairs(env, "variable"),
            stdin=interactive,
            timeout_s=seconds(timeout),
        )
        if detach:
            pid = process.pid
            process.close()
            say_json({"sandbox": sandbox, "pid": pid}) if as_json else say(str(pid))
            note(f"Try: roost attach {sandbox} {pid}")
            return 0
        if as_json:
            return _collect(process)
        flush_output()
        return follow(process, sandbox, forward_input=interactive)


def _collect(process) -> int:
    from roost.client.processes import run_to_end

    result = run_to_end(process)
    say_json({"exit_code": result.code, "stdout": result.stdout, "stderr": result.stderr})
    return result.code
