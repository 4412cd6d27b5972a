"""The shell, driven through a real terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import pytest

from roost.cli.inside.terminal import Escape

from .server import Server


class Person:
    """Somebody at a terminal of 100 by 30."""

    def __init__(self, server: Server, *words: str) -> None:
        self.terminal, theirs = pty.openpty()
        self.resize(100, 30)
        self.before = termios.tcgetattr(theirs)
        self._theirs = theirs
        self.process = subprocess.Popen(
            [sys.executable, "-m", "roost.cli.main", *words],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**server.env, "TERM": "dumb", "PS1": "> "},
            start_new_session=True,
        )
        self.seen = b""

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys: str) -> None:
        os.write(self.terminal, keys.encode())

    def wait_for(self, text: str) -> None:
        deadline = time.monotonic() + 30
        while text.encode() not in self.seen:
            assert select.select([self.terminal], [], [], max(0, deadline - time.monotonic()))[0], self.seen
            self.seen += os.read(self.terminal, 4096)
        self.seen = self.seen.split(text.encode(), 1)[1]

    def leave(self) -> int:
        """Waits for the end; the terminal is as it was."""
        code = self.process.wait(30)
        assert termios.tcgetattr(self._theirs) == self.before
        return code

    def __enter__(self) -> Person:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._theirs)
        os.close(self.terminal)


def test_a_shell_talks_resizes_is_interrupted_and_ends_with_its_code(server: Server, sandbox: str) -> None:
    with Person(server, "shell", sandbox) as person:
        person.type("echo $((40 + 2))\n")
        person.wait_for("42")
        person.type("stty size\n")
        person.wait_for("30 100")
        person.resize(90, 20)
        os.kill(person.process.pid, signal.SIGWINCH)
        person.type("until stty size | grep '20 90'; do sleep 0.1; done\n")
        person.wait_for("\n20 90")
        person.type("echo be''gun; sleep 1000\n")
        person.wait_for("begun")
        person.type("\x03")
        person.type("echo st''opped\n")
        person.wait_for("stopped")
        person.type("exit 23\n")
        assert person.leave() == 23


def test_a_hanging_session_can_be_left(server: Server, sandbox: str) -> None:
    nap = 100_000 + os.getpid()  # Nobody else on this machine, where others run the same tests, sleeps for so long.
    with Person(server, "shell", sandbox) as person:
        person.type(f"echo be''gun; trap '' INT; sleep {nap}\n")
        person.wait_for("begun")
        person.type("\r~.")
        person.wait_for("goes on")
        assert person.leave() == 130
    assert server.cli("exec", sandbox, f"until pkill -KILL -f '[s]leep {nap}'; do sleep 0.05; done").returncode == 0


def test_killing_asks_a_person_first(server: Server, sandbox: str) -> None:
    with Person(server, "kill", sandbox) as person:
        person.wait_for("Kill ada?")
        person.type("n\n")
        assert person.leave() == 1
    assert server.verb("info", sandbox).returncode == 0
    with Person(server, "kill", sandbox) as person:
        person.wait_for("Kill ada?")
        person.type("y\n")
        assert person.leave() == 0
    assert server.verb("ls").stdout == b""


@pytest.mark.parametrize(
    ("keys", "passed", "left"),
    [
        (b"ls\r", b"ls\r", False),
        (b"~.", b"", True),
        (b"a~.", b"a~.", False),
        (b"a\r~.b", b"a\r", True),
        (b"~~.", b"~.", False),
        (b"~a", b"~a", False),
        (b"~", b"", False),
    ],
)
def test_the_way_out_is_at_the_beginning_of_a_line(keys: bytes, passed: bytes, left: bool) -> None:
    for step in (1, len(keys)):
        escape = Escape()
        out = b"".join(escape.feed(keys[start : start + step]) for start in range(0, len(keys), step))
        assert (out, escape.left) == (passed, left)
