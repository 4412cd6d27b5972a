"""`roost shell`."""

from __future__ import annotations

import os
import queue
import signal
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from roost.cli.connection import connect
from roost.cli.options import SandboxRef, User
from roost.cli.rendering import note
from roost.domain.errors import Invalid

if TYPE_CHECKING:
    from roost.cli.inside.following import Stop
    from roost.cli.inside.terminal import Escape
    from roost.client.blocking.processes import Process

LEFT = 130


def shell(
    sandbox: SandboxRef,
    user: User = None,
    cwd: Annotated[str | None, typer.Option("--cwd", "-w", help="Where: its home unless said otherwise.")] = None,
    command: Annotated[str, typer.Option("--shell", help="The shell to run.")] = "/bin/bash",
) -> int:
    """Open a shell in a sandbox. Its exit code is passed on; `~.` at the beginning of a line leaves a session that
    hangs."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Invalid("invalid", f"A shell needs a terminal. Without one, use `roost exec {sandbox} -- COMMAND`.")
    from roost.cli.inside import terminal

    with connect() as roost:
        process = roost.enter(sandbox).start(
            (command, "-i", "-l"),
            user=user,
            cwd=cwd,
            env={"TERM": os.environ.get("TERM", "xterm-256color"), "LANG": "C.UTF-8"},
            stdin=True,
            size=terminal.size(),
        )
        return converse(process)


def converse(process: Process) -> int:
    """Joins this terminal with the process's until the process ends, or the person leaves."""
    from roost.cli.inside import terminal
    from roost.cli.inside.following import Stop, beside, pass_on

    sizes: queue.SimpleQueue[tuple[int, int]] = queue.SimpleQueue()
    escape = terminal.Escape()

    def resize() -> None:
        while True:
            process.resize(*sizes.get())

    with Stop() as stop, terminal.on_resize(lambda: sizes.put(terminal.size())), terminal.raw():
        beside("roost-resize", resize)
        beside("roost-keys", lambda: _send_keys(process, stop, escape))
        try:
            return pass_on(process)
        except KeyboardInterrupt:
            left = f"\r\nLeft; process {process.pid} goes on.\r"
            note(left)
            return LEFT
        finally:
            stop.set()


def _send_keys(process: Process, stop: Stop, escape: Escape) -> None:
    from roost.cli.inside.following import typed

    for keys in typed(stop):
        passed = escape.feed(keys)
        if passed:
            process.send(passed)
        if escape.left:
            # The main thread waits for output that may never come; in raw mode nothing but this sends us the signal.
            os.kill(os.getpid(), signal.SIGINT)
            return
