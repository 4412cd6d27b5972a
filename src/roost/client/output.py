"""What a process says, and how a client follows it over cut connections without losing or repeating a byte.

The agent numbers the bytes of a process's output: one count over stdout, stderr and terminal. A `Tracker` remembers the
next number it expects, so that a new connection can ask for the rest. Nothing here moves bytes: `processes` and `aio`
do.
"""

from __future__ import annotations

import base64
import binascii
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from roost.domain.errors import Fault


class Stream(StrEnum):
    STDOUT = "stdout"
    STDERR = "stderr"
    PTY = "pty"


@dataclass(frozen=True, slots=True)
class Output:
    stream: Stream
    data: bytes


_SIGNALS = {(signal.strsignal(number) or "").lower(): int(number) for number in signal.Signals}


@dataclass(frozen=True, slots=True)
class Exit:
    """How a process ended. `code` is the shell's convention: 128 + n for one that signal n ended."""

    code: int
    status: str

    @staticmethod
    def read(end: Mapping[str, Any]) -> Exit:
        code = int(end.get("exitCode", 0))
        status = str(end.get("status", ""))
        if status.startswith("signal: "):
            word = status.removeprefix("signal: ").removesuffix(" (core dumped)")
            number = _SIGNALS.get(word)
            code = 128 + number if number is not None else 255
        return Exit(code & 0xFF, status)


@dataclass(frozen=True, slots=True)
class CommandResult:
    """A command run to its end. A non-zero code is a result, not an error."""

    code: int
    stdout_bytes: bytes
    stderr_bytes: bytes

    @property
    def stdout(self) -> str:
        return self.stdout_bytes.decode(errors="replace")

    @property
    def stderr(self) -> str:
        return self.stderr_bytes.decode(errors="replace")


class Tracker:
    """How far one client has read one process."""

    def __init__(self, selector: Mapping[str, Any]) -> None:
        self.selector = dict(selector)  # names the process to the agent: `{"tag": …}` or `{"pid": …}`
        self.pid: int | None = None
        self.exit: Exit | None = None
        self.next_sequence: int | None = None

    def reattach_request(self) -> dict[str, Any]:
        """Asks for everything from the next byte on. Before the first byte came, that is everything."""
        return {"process": self.selector, "fromSequence": str(self.next_sequence or 0)}

    def take(self, message: Mapping[str, Any]) -> Output | None:
        """Notes one message of the stream; the output in it, if any. Raises Fault when bytes between were lost."""
        event = message.get("event") or {}
        if (start := event.get("start")) is not None:
            self.pid = int(start["pid"])
            if self.next_sequence is None and "sequence" in start:
                self.next_sequence = int(start["sequence"])
        elif (data := event.get("data")) is not None:
            return self._output(data)
        elif (end := event.get("end")) is not None:
            self.exit = Exit.read(end)
        return None

    def _output(self, data: Mapping[str, Any]) -> Output | None:
        stream = next((stream for stream in Stream if stream in data), None)
        if stream is None:
            return None
        try:
            content = base64.b64decode(data[stream], validate=True)
        except (binascii.Error, TypeError) as error:
            raise Fault("bad_stream", "The sandbox sent output that is not base64.") from error
        if "sequence" in data:
            content = self._advance(int(data["sequence"]), content)
        return Output(stream, content) if content else None

    def _advance(self, sequence: int, content: bytes) -> bytes:
        """Drops what was read already; refuses a hole."""
        expected = sequence if self.next_sequence is None else self.next_sequence
        if sequence > expected:
            raise Fault(
                "output_lost",
                f"{sequence - expected} bytes of output of process {self.pid} were lost between two connections.",
                pid=self.pid,
                lost_bytes=sequence - expected,
            )
        self.next_sequence = max(expected, sequence + len(content))
        return content[expected - sequence :]
