"""Progress for people: a live line per step on a terminal, plain lines elsewhere."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Column

from roost.setup.commands import Stopped
from roost.setup.plan import Board, SetupStep

SHORT_S = 0.5  # what took less was there already: not worth a line
PLAIN_INTERVAL_S = 3.0


def _verdict(seconds: float, error: BaseException | None) -> str:
    if isinstance(error, Stopped):
        return "stopped"
    return "failed" if error else f"done in {seconds:.1f} s"


class LiveBoard:
    """One line per step under way, with what it does now and for how long."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}

    def started(self, step: SetupStep) -> None:
        self._tasks[step.name] = self._progress.add_task(step.title, total=None, now="")

    def said(self, step: SetupStep, text: str) -> None:
        self._progress.update(self._tasks[step.name], now=escape(text[:200]))

    def ended(self, step: SetupStep, seconds: float, error: BaseException | None) -> None:
        self._progress.remove_task(self._tasks[step.name])
        if error is not None or seconds >= SHORT_S:
            self._progress.console.print(f"{escape(step.title)}: {_verdict(seconds, error)}")


class PlainBoard:
    """Lines for logs: what began, now and then what it is doing, how it ended."""

    def __init__(self, write: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._write = write
        self._clock = clock
        self._guard = threading.Lock()
        self._last: dict[str, float] = {}

    def started(self, step: SetupStep) -> None:
        """Nothing yet: most steps find everything there and end at once."""

    def said(self, step: SetupStep, text: str) -> None:
        with self._guard:
            now = self._clock()
            if step.name in self._last and now - self._last[step.name] < PLAIN_INTERVAL_S:
                return
            self._last[step.name] = now
            self._write(f"{step.title}: {text}")

    def ended(self, step: SetupStep, seconds: float, error: BaseException | None) -> None:
        if error is not None or seconds >= SHORT_S:
            with self._guard:
                self._write(f"{step.title}: {_verdict(seconds, error)}")


@contextmanager
def show_progress(console: Console) -> Iterator[Board]:
    """The board that fits the console."""
    if not console.is_terminal:
        yield PlainBoard(lambda line: console.print(line, markup=False, highlight=False, soft_wrap=True))
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ignore")),
        TimeElapsedColumn(table_column=Column(no_wrap=True, overflow="ignore")),
        TextColumn("[dim]{task.fields[now]}", table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1)),
    )
    with Progress(*columns, console=console, transient=True, expand=True) as progress:
        yield LiveBoard(progress)
