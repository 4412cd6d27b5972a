"""Connects a process inside a sandbox with this process: output to our streams as it is, our input and signals to
it.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from roost.cli.rendering import note
from roost.domain.errors import RoostError

if TYPE_CHECKING:
    from roost.client.blocking.processes import Process

INPUT_BYTES = 1 << 17
INTERRUPTED = 130
READER_GONE = 128 + signal.SIGPIPE


def follow(process: Process, sandbox: str, *, forward_input: bool) -> int:
    """Passes everything on until the process ends; its exit code. Ctrl-C goes to the process; a second one detaches
    from it."""
    with Stop() as stop, forwarding_signals(process, stop):
        if forward_input:
            beside("roost-stdin", lambda: process.send_all(typed(stop)))
        try:
            return pass_on(process)
        except KeyboardInterrupt:
            note(
                f"\nDetached; process {process.pid} goes on. `roost attach {sandbox} {process.pid}` follows it again,"
                f" `roost exec {sandbox} -- kill {process.pid}` ends it."
            )
            return INTERRUPTED


def pass_on(process: Process) -> int:
    """Output to stdout and stderr, byte by byte as it was written."""
    from roost.client.output import Stream

    try:
        for output in process:
            write_all(2 if output.stream is Stream.STDERR else 1, output.data)
    except BrokenPipeError:
        # Whoever read our output has gone, as `head` does. A pipe would end the process; so do we.
        process.signal("SIGTERM")
        return READER_GONE
    return process.wait().code


def write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


class Stop:
    """Ends the waiting of threads that read from a person: a pipe, so that it can be waited for together with input."""

    def __enter__(self) -> Stop:
        self.reader, self._writer = os.pipe()
        return self

    def set(self) -> None:
        os.write(self._writer, b"x")

    def __exit__(self, *_: object) -> None:
        # The read end is left to threads that may still look at it; both end with the process.
        os.close(self._writer)


def typed(stop: Stop) -> Iterator[bytes]:
    """What comes in on stdin until its end, or until we stop."""
    while True:
        ready, _, _ = select.select([0, stop.reader], [], [])
        if stop.reader in ready:
            return
        data = os.read(0, INPUT_BYTES)
        if not data:
            return
        yield data


def beside(name: str, work: Callable[[], None]) -> None:
    """Runs work in a thread of its own that never keeps us from ending. A process that ended no longer takes input: no
    failure."""

    from roost.client.reattach import ended_before_input

    def guarded() -> None:
        try:
            work()
        except RoostError as error:
            if not ended_before_input(error):
                note(f"roost: {error.message}")

    threading.Thread(target=guarded, name=name, daemon=True).start()


@contextmanager
def forwarding_signals(process: Process, stop: Stop) -> Iterator[None]:
    """SIGINT and SIGTERM go to the process. Sent from a thread: a handler may interrupt the very connection it would
    use."""
    reader, writer = os.pipe()
    interrupts = 0

    def on_interrupt(_number: int, _frame: FrameType | None) -> None:
        nonlocal interrupts
        interrupts += 1
        if interrupts > 1:
            raise KeyboardInterrupt
        os.write(writer, bytes([signal.SIGINT]))

    def on_terminate(_number: int, _frame: FrameType | None) -> None:
        os.write(writer, bytes([signal.SIGTERM]))

    def forward() -> None:
        while True:
            ready, _, _ = select.select([reader, stop.reader], [], [])
            if stop.reader in ready:
                return
            for number in os.read(reader, 16):
                process.signal(signal.Signals(number).name)

    before = {
        signal.SIGINT: signal.signal(signal.SIGINT, on_interrupt),
        signal.SIGTERM: signal.signal(signal.SIGTERM, on_terminate),
    }
    beside("roost-signals", forward)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        stop.set()
        os.close(writer)


def flush_output() -> None:
    """What Python has buffered goes out before bytes are written past it."""
    sys.stdout.flush()
    sys.stderr.flush()
