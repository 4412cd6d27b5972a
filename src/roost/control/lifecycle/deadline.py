"""Work that stops at a time of the handed-in clock."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from roost.contracts.clock import Clock

T = TypeVar("T")


async def run_until(
    clock: Clock, at: float, work: Callable[[], Awaitable[T]], *, scope: anyio.CancelScope, stop: Callable[[], None]
) -> tuple[T] | None:
    """Awaits `work` inside `scope` and calls `stop` at `at`, which is to cancel the scope. Returns the result, wrapped, even when
    the scope was cancelled while the work could no longer be stopped; None when it was stopped. Raises what the work raises,
    not in a group."""
    result: tuple[T] | None = None
    error: Exception | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(_stop_at, clock, at, stop)
        with scope:
            try:
                result = (await work(),)
            except Exception as raised:
                error = raised
        group.cancel_scope.cancel()
    if error is not None:
        raise error
    return result


async def _stop_at(clock: Clock, at: float, stop: Callable[[], None]) -> None:
    await clock.sleep_until(at)
    stop()
