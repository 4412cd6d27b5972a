"""Runs the programs that set-up is made of, and can stop all of them at once."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from roost.domain.errors import Fault, NotFound

SYSTEM_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
# What a bundle brought along for this installation, for a machine that has none of its own.
TOOLS = Path(sys.prefix) / "tools" / "bin"
LINES_KEPT = 40


class CommandFailed(Fault):
    """A program that set-up needs ended badly. Its last words are in the message."""

    def __init__(self, program: str, exit_code: int, last_words: str) -> None:
        said = f" It said:\n{last_words}" if last_words else " It said nothing."
        super().__init__(
            "command_failed",
            f"{program} failed with exit code {exit_code}.{said}",
            program=program,
            exit_code=exit_code,
            output=last_words,
        )


class Stopped(Fault):
    """Set-up was interrupted before this program had ended."""

    def __init__(self, program: str) -> None:
        super().__init__("setup_stopped", f"{program} was stopped. Run the same command again to go on.", program=program)


def search_path(environ: Mapping[str, str] | None = None) -> str:
    """PATH with the system's own directories added: a login shell of root often lacks the sbin ones. What came in a bundle is
    last: the machine's own programs are kept up to date with it."""
    given = (os.environ if environ is None else environ).get("PATH", "").split(os.pathsep)
    return os.pathsep.join(dict.fromkeys(part for part in (*given, *SYSTEM_PATH, str(TOOLS)) if part))


def find_program(name: str) -> str | None:
    return shutil.which(name, path=search_path())


class Commands:
    """Programs under way. Each gets its own process group, so that stopping one stops its children too."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._live: set[subprocess.Popen[str]] = set()
        self._stopping = False

    def run(
        self,
        argv: Sequence[str | os.PathLike[str]],
        *,
        env: Mapping[str, str] | None = None,
        name: str | None = None,
        cwd: Path | None = None,
        on_line: Callable[[str], None] | None = None,
    ) -> str:
        """Run to the end and return what it printed (last lines only). Raises CommandFailed, Stopped or NotFound.

        `name` is what errors call it, where the first word would mislead.
        """
        program = name or Path(argv[0]).name
        executable = find_program(os.fspath(argv[0]))
        if executable is None:
            raise NotFound(
                "program_not_found",
                f"{program} is not installed. `roost setup` installs what is missing.",
                program=program,
            )
        lines: deque[str] = deque(maxlen=LINES_KEPT)
        with self._start([executable, *(os.fspath(part) for part in argv[1:])], env, program, cwd) as process:
            try:
                assert process.stdout is not None
                for line in process.stdout:
                    lines.append(line.rstrip())
                    if on_line is not None and line.strip():
                        on_line(line.strip())
                exit_code = process.wait()
            finally:
                with self._guard:
                    self._live.discard(process)
        if self._stopping and exit_code != 0:
            raise Stopped(program)
        if exit_code != 0:
            raise CommandFailed(program, exit_code, "\n".join(lines))
        return "\n".join(lines)

    def stop(self) -> None:
        """End every program under way and refuse new ones. Their callers get Stopped."""
        with self._guard:
            self._stopping = True
            live = tuple(self._live)
        for process in live:
            with_children(process.pid, signal.SIGTERM)

    def _start(self, argv: list[str], env: Mapping[str, str] | None, program: str, cwd: Path | None) -> subprocess.Popen[str]:
        # Under the guard: a program is either refused or known to `stop`, never missed by it.
        with self._guard:
            if self._stopping:
                raise Stopped(program)
            process = subprocess.Popen(
                [*dying_with_us(), *argv],
                env={**os.environ, "PATH": search_path(), "LC_ALL": "C.UTF-8", **(env or {})},
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
            )
            self._live.add(process)
            return process


def dying_with_us() -> list[str]:
    """The words before a command line that make the kernel end the program should this process be killed."""
    setpriv = find_program("setpriv")
    return [setpriv, "--pdeathsig", "TERM", "--"] if setpriv else []


def with_children(pid: int, number: signal.Signals) -> None:
    """Signal a whole process group; one that is already gone is fine."""
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        return
