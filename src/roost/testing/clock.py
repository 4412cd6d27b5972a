"""A clock that moves only when told to."""

from __future__ import annotations

import heapq
import itertools

import anyio
import anyio.lowlevel


class ManualClock:
    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._now = start
        self._sleepers: list[tuple[float, int, anyio.Event]] = []
        self._order = itertools.count()

    def now(self) -> float:
        return self._now

    async def sleep_until(self, at: float) -> None:
        await anyio.lowlevel.checkpoint()
        while self._now < at:
            rung = anyio.Event()
            heapq.heappush(self._sleepers, (at, next(self._order), rung))
            await rung.wait()

    def advance(self, seconds: float) -> None:
        """Time passes at once. Who slept until then is woken, and runs when the caller next waits."""
        self._now += seconds
        while self._sleepers and self._sleepers[0][0] <= self._now:
            heapq.heappop(self._sleepers)[2].set()

    @property
    def next_alarm(self) -> float | None:
        """When the first sleeper wants to be woken."""
        return self._sleepers[0][0] if self._sleepers else None
