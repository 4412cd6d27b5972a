"""Signs of life while something takes long: on stderr, on a terminal only, and only once it does take long."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_SHOWN_AFTER_S = 0.3


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Shows `what` beside a spinner while the block runs. Most moves end before anything needs to be shown."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    spinner = threading.Thread(target=_spin, args=(what, done), name="roost-spinner", daemon=True)
    spinner.start()
    try:
        yield
    finally:
        done.set()
        spinner.join()


def _spin(what: str, done: threading.Event) -> None:
    if done.wait(_SHOWN_AFTER_S):
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        done.wait()


class Bar:
    """How far a transfer is."""

    def advance(self, size_bytes: int) -> None:
        """So many more bytes have moved."""


@contextmanager
def transferring(what: str, total_bytes: int | None) -> Iterator[Bar]:
    """A progress bar for a transfer, or nothing at all where nobody looks."""
    if not sys.stderr.isatty():
        yield Bar()
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total_bytes)

        class Shown(Bar):
            def advance(self, size_bytes: int) -> None:
                progress.advance(task, size_bytes)

        yield Shown()
