"""Rings at the next deadline. One waiter; anybody may bring the deadline forward."""

from __future__ import annotations

import anyio

from roost.contracts.clock import Clock


class DeadlineTimer:
    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._at: float | None = None
        self._moved = anyio.Event()

    def ring_by(self, at: float | None) -> None:
        """The waiter wakes at `at` at the latest. None asks for nothing."""
        if at is not None and (self._at is None or at < self._at):
            self._at = at
            self._moved.set()

    async def wait(self, until: float) -> None:
        """Returns at `until`, or before at the earliest time that was asked for."""
        while (at := min(until, self._at if self._at is not None else until)) > self._clock.now():
            self._moved = anyio.Event()
            async with anyio.create_task_group() as group:
                group.start_soon(self._sleep, at, group.cancel_scope)
                await self._moved.wait()
                group.cancel_scope.cancel()
        if self._at is not None and self._at <= self._clock.now():
            self._at = None

    async def _sleep(self, at: float, waiting: anyio.CancelScope) -> None:
        await self._clock.sleep_until(at)
        waiting.cancel()
