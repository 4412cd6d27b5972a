"""What `roost exec` does, and a reading of its command line that needs neither Typer nor rich.

It is the verb that agents use for every command, and Typer takes longer to start than the rest of it. Anything unusual
is left to Typer, which explains: `exec.py` declares the same options, and a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from roost.cli.connection import connect
from roost.cli.rendering import note, say, say_json
from roost.cli.values import pairs, seconds

if TYPE_CHECKING:
    from roost.client.blocking.processes import Process

FLAGS = {
    "--interactive": "interactive",
    "-i": "interactive",
    "--detach": "detach",
    "-d": "detach",
    "--json": "as_json",
}
VALUES = {
    "--user": "user",
    "-u": "user",
    "--cwd": "cwd",
    "-w": "cwd",
    "--env": "env",
    "-e": "env",
    "--timeout": "timeout",
}


@dataclass(slots=True)
class Execution:
    sandbox: str
    command: Sequence[str]
    interactive: bool = False
    user: str | None = None
    cwd: str | None = None
    env: Sequence[str] = ()
    timeout: str | None = None
    detach: bool = False
    as_json: bool = False


def read(arguments: list[str]) -> Execution | None:
    """The plain command lines; None for one that needs explaining, or a closer look."""
    found = Execution("", ())
    waiting = list(arguments)
    while waiting:
        word = waiting.pop(0)
        if word == "--":
            found.command = waiting
            break
        if word in FLAGS:
            setattr(found, FLAGS[word], True)
        elif word in VALUES:
            if not waiting:
                return None
            value = waiting.pop(0)
            setattr(found, VALUES[word], [*found.env, value] if VALUES[word] == "env" else value)
        elif word.startswith("-"):
            return None
        elif not found.sandbox:
            found.sandbox = word
        else:
            found.command = [word, *waiting]
            break
    return found if found.sandbox and found.command else None


def execute(asked: Execution) -> int:
    """Runs it; the command's exit code."""
    from roost.cli.inside.following import flush_output, follow

    words = list(asked.command)
    with connect() as roost:
        process = roost.enter(asked.sandbox).start(
            words[0] if len(words) == 1 else words,
            user=asked.user,
            cwd=asked.cwd,
            env=pairs(asked.env, "variable"),
            stdin=asked.interactive,
            timeout_s=seconds(asked.timeout),
        )
        if asked.detach:
            return _leave(process, asked)
        if asked.as_json:
            return collect(process)
        flush_output()
        return follow(process, asked.sandbox, forward_input=asked.interactive)


def _leave(process: Process, asked: Execution) -> int:
    pid = process.pid
    process.close()
    if asked.as_json:
        say_json({"sandbox": asked.sandbox, "pid": pid})
    else:
        say(str(pid))
        note(f"Try: roost attach {asked.sandbox} {pid}")
    return 0


def collect(process: Process) -> int:
    """Waits for its end and prints all that it said as one object."""
    from roost.client.blocking.processes import run_to_end

    result = run_to_end(process)
    say_json({"exit_code": result.code, "stdout": result.stdout, "stderr": result.stderr})
    return result.code
