"""What tests of a desktop work with: a board that writes down what it is given, an editor, and windows that come and go."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from roost.client import Process, Sandbox, Window
from tests.real.board import SOURCE
from tests.real.server import eventually, said


class Board:
    """What the board inside has written down."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._chunks = iter(process)
        self._pending = b""

    def events(self) -> Iterator[dict[str, Any]]:
        while True:
            line, newline, rest = self._pending.partition(b"\n")
            if newline:
                self._pending = rest
                yield json.loads(line)
            else:
                self._pending += next(self._chunks).data

    def next(self, *kinds: str) -> dict[str, Any]:
        return next(event for event in self.events() if event["kind"] in kinds)

    def order(self, **order: Any) -> None:
        self._process.send(json.dumps(order).encode() + b"\n")
        self.next("order")


@contextmanager
def board_on(sandbox: Sandbox) -> Iterator[Board]:
    sandbox.files.write("/tmp/board.py", SOURCE)
    with sandbox.start(["python3", "-u", "/tmp/board.py"], stdin=True) as process:
        board = Board(process)
        board.next("ready")
        try:
            yield board
        finally:
            process.signal("SIGKILL")
            process.wait()  # with it go its window and its hold on the keyboard


@contextmanager
def editor_on(sandbox: Sandbox, name: str) -> Iterator[str]:
    """An editor with an empty file, in front. Yields the file's path."""
    path = f"/home/user/{name}.txt"
    sandbox.files.write(path, b"")
    sandbox.desktop.launch("mousepad", "--disable-server", path)
    window = shows(sandbox, name)
    comes_to_the_front(sandbox, window)
    sandbox.desktop.wait_still()
    try:
        yield path
    finally:
        sandbox.desktop.key("ctrl+s")
        closes(sandbox, window)


def shows(sandbox: Sandbox, title: str) -> Window:
    def look() -> Window:
        found = sandbox.desktop.windows()
        matching = [window for window in found if title in window.title]
        assert matching, found
        return matching[0]

    return eventually(look, 60)


def comes_to_the_front(sandbox: Sandbox, window: Window) -> Window:
    """It is the topmost one, and has the keyboard: at once, or when the window manager gets to it."""

    def look() -> Window:
        found = sandbox.desktop.focus(window.id)
        assert (found.focused, sandbox.desktop.windows()[0].id) == (True, window.id)
        return found

    return eventually(look)


def closes(sandbox: Sandbox, window: Window) -> None:
    """It goes: while the call waits for it, or after, if its program is slow."""
    began = time.monotonic()
    is_gone = sandbox.desktop.close(window.id)
    assert is_gone or time.monotonic() - began >= 2, "it was not waited for"

    def look() -> None:
        found = sandbox.desktop.windows()
        assert window.id not in [each.id for each in found], found

    eventually(look)


def ends(sandbox: Sandbox, program: str) -> None:
    """Its last window is closed, and soon it is gone: one that is asked for a page while it ends may lose it."""

    def look() -> None:
        assert said(sandbox, f"pgrep -x {program} || true") == ""

    eventually(look)


def saves(sandbox: Sandbox, path: str, text: str) -> None:
    """The editor has this text, and writes it to its file."""

    def look() -> None:
        sandbox.desktop.key("ctrl+s")
        assert sandbox.files.read(path).decode() == text

    eventually(look)
