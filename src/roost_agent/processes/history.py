"""What was run here: the last commands, and the one that printed last. Kept in memory, so it sleeps and wakes with the rest."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from roost_agent.processes.process import Process
from roost_agent.processes.spawn import Order

KEPT_COMMANDS = 500
# Of a command line; scripts passed as an argument are as long as they like.
KEPT_CHARACTERS = 1000
# Of the output of a process that is otherwise forgotten.
KEPT_OUTPUT_BYTES = 16 * 1024


class Command:
    """One command: who ran what, when, and how it ended."""

    __slots__ = ("ended_ns", "exit_code", "line", "on_terminal", "pid", "started_ns", "status", "user")

    def __init__(self, process: Process) -> None:
        self.pid = process.pid
        self.line = command_line(process.order)
        self.user = process.order.user.name
        self.on_terminal = process.terminal
        self.started_ns = time.time_ns()
        self.ended_ns: int | None = None
        self.exit_code: int | None = None
        self.status: str | None = None

    def end(self, process: Process) -> None:
        self.ended_ns = time.time_ns()
        if process.ending is not None:
            self.exit_code = process.ending.exit_code
            self.status = process.ending.status


class Voice:
    """The end of what a process printed."""

    __slots__ = ("_kept", "line", "pid", "process")

    def __init__(self, process: Process) -> None:
        self.process: Process | None = process
        self.pid = process.pid
        self.line = command_line(process.order)
        self._kept = b""

    def tail(self, at_most: int) -> bytes:
        return self._kept[-at_most:] if self.process is None else self.process.ring.tail(at_most)

    def let_go(self) -> None:
        """The process is forgotten, and with it its whole output: only the last of it stays."""
        self._kept = self.tail(KEPT_OUTPUT_BYTES)
        self.process = None


class History:
    """The commands in the order of their start, and whoever printed last."""

    def __init__(self, capacity: int = KEPT_COMMANDS) -> None:
        self._commands: deque[Command] = deque(maxlen=capacity)
        self.voice: Voice | None = None
        self.changes = 0  # commands that started, ended or printed, as often as they did
        self._listeners: list[Callable[[], None]] = []

    def started(self, process: Process) -> None:
        command = Command(process)
        self._commands.append(command)
        self._changed()

        def ended(_: object) -> None:
            command.end(process)
            self._changed()

        process.over.add_done_callback(ended)

    def printed(self, process: Process) -> None:
        """Called for every piece of output: does next to nothing while nobody listens."""
        voice = self.voice
        if voice is None or voice.process is not process:
            self.voice = Voice(process)
        self._changed()

    def forgotten(self, process: Process) -> None:
        if self.voice is not None and self.voice.process is process:
            self.voice.let_go()

    def newest(self, limit: int) -> list[Command]:
        return [command for command, _ in zip(reversed(self._commands), range(limit), strict=False)]

    def forget_finished(self) -> None:
        """The sandbox is somebody else's from now on: what its template or its parent ran to the end is not its own."""
        living = [command for command in self._commands if command.ended_ns is None]
        self._commands.clear()
        self._commands.extend(living)
        if self.voice is not None and (self.voice.process is None or self.voice.process.over.done()):
            self.voice = None

    def listen(self, ring: Callable[[], None]) -> None:
        """Call `ring` whenever a command starts or ends, and for every piece of output."""
        self._listeners.append(ring)

    def unlisten(self, ring: Callable[[], None]) -> None:
        self._listeners.remove(ring)

    def _changed(self) -> None:
        self.changes += 1
        for ring in self._listeners:
            ring()


def command_line(order: Order) -> str:
    """As a person would have typed it: a line that was given to a shell is that line."""
    words = [order.command, *order.arguments]
    if len(words) >= 3 and words[-2] in ("-c", "-lc") and words[0].endswith("sh"):
        line = words[-1]
    else:
        line = " ".join(_quoted(word) for word in words)
    return line if len(line) <= KEPT_CHARACTERS else line[: KEPT_CHARACTERS - 1] + "…"


def _quoted(word: str) -> str:
    if word and not any(character in " \t\n'\"\\$`;&|<>()*?[]#~!{}" for character in word):
        return word
    return "'" + word.replace("'", "'\\''") + "'"
