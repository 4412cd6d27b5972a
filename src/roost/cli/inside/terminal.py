"""This terminal: raw mode, its size, and the way out of a session that hangs."""

from __future__ import annotations

import os
import signal
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def raw() -> Iterator[None]:
    """Every key goes through as it is, until the block ends; then the terminal is as it was."""
    before = termios.tcgetattr(0)
    try:
        tty.setraw(0, termios.TCSADRAIN)  # keys that were typed ahead stay
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)


def size() -> tuple[int, int]:
    """Columns and rows."""
    columns, rows = os.get_terminal_size(sys.stdout.fileno())
    return columns or 80, rows or 24


@contextmanager
def on_resize(call: Callable[[], None]) -> Iterator[None]:
    def resized(_number: int, _frame: FrameType | None) -> None:
        call()

    before = signal.signal(signal.SIGWINCH, resized)
    try:
        yield
    finally:
        signal.signal(signal.SIGWINCH, before)


class Escape:
    """Watches keys for ssh's way out: `~.` at the beginning of a line. Keys are handed on; a `~` waits for the one
    after it."""

    def __init__(self) -> None:
        self.left = False
        self._line_begins = True
        self._tilde = False

    def feed(self, keys: bytes) -> bytes:
        """The keys to pass on. Once `left` is true there are none."""
        passed = bytearray()
        for key in b"" if self.left else keys:
            if self._tilde:
                self._tilde = False
                if key == ord("."):
                    self.left = True
                    return bytes(passed)
                passed.append(ord("~"))
                if key == ord("~"):
                    self._line_begins = False
                    continue
            elif self._line_begins and key == ord("~"):
                self._tilde = True
                continue
            passed.append(key)
            self._line_begins = key in b"\r\n"
        return bytes(passed)
