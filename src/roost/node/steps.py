"""Long work as named steps, each with its undo. A failure or a cancellation takes back what was done, last first.

async with Steps("create") as steps:
    root = await steps.do("clone", clone(), undo=remove_clone)
    ...
    steps.keep()        # the last step published: nothing is taken back any more
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import TypeVar

import anyio
import structlog

T = TypeVar("T")
U = TypeVar("U")
V = TypeVar("V")
Undo = Callable[[], Awaitable[object]]

log = structlog.get_logger(__name__)

# Crash points: tests hand in a function that kills the process when a step of that name is reached.
CrashPoint = Callable[[str], None]


def never(_: str) -> None:
    """The crash point of an ordinary run."""


class Steps:
    def __init__(self, name: str, crash_point: CrashPoint = never) -> None:
        self._name = name
        self._undo: list[tuple[str, Undo]] = []
        self._crash_point = crash_point

    async def do(self, step: str, work: Awaitable[T], undo: Undo | None = None) -> T:
        """Does the work; `undo` is registered before it, since half-done work must be taken back too: it must stand being called
        for work that never began."""
        if undo is not None:
            self._undo.append((step, undo))
        result = await work
        self._crash_point(f"{self._name}.{step}")
        return result

    def keep(self) -> None:
        """What was done stays."""
        self._undo.clear()

    async def __aenter__(self) -> Steps:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            return
        with anyio.CancelScope(shield=True):
            while self._undo:
                step, undo = self._undo.pop()
                try:
                    await undo()
                except Exception as failure:
                    # The first error is the one to tell; what could not be taken back is found again by the inventory.
                    log.warning("undo failed", work=self._name, step=step, error=str(failure))


async def nothing() -> None:
    """The work of a step whose undo guards what follows rather than what was done."""


async def settle(*work: Awaitable[None]) -> list[Exception | None]:
    """Runs all side by side, each to its own end, and returns what each raised. Cancellation cancels all."""
    outcomes: list[Exception | None] = [None] * len(work)

    async def one(index: int, awaitable: Awaitable[None]) -> None:
        try:
            await awaitable
        except Exception as error:
            outcomes[index] = error

    async with anyio.create_task_group() as tasks:
        for index, awaitable in enumerate(work):
            tasks.start_soon(one, index, awaitable)
    return outcomes


async def together(*work: Awaitable[None]) -> None:
    """Runs all side by side to their ends; raises the first error in the order given, so the most telling one goes first."""
    for error in await settle(*work):
        if error is not None:
            raise error


async def both(first: Awaitable[T], second: Awaitable[U]) -> tuple[T, U]:
    """As `together`, for two whose results are wanted."""
    firsts: list[T] = []
    seconds: list[U] = []

    async def keep(work: Awaitable[V], into: list[V]) -> None:
        into.append(await work)

    await together(keep(first, firsts), keep(second, seconds))
    return firsts[0], seconds[0]
