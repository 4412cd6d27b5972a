"""A doorbell: one task waits, anything may ring, and a ring is never lost."""

from __future__ import annotations

import asyncio


class Wakeup:
    """Rings collapse into one; a ring before the wait ends the wait at once."""

    __slots__ = ("_rung", "_waiter")

    def __init__(self) -> None:
        self._rung = False
        self._waiter: asyncio.Future[bool] | None = None

    def ring(self) -> None:
        self._rung = True
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(True)

    async def wait(self, timeout_s: float | None = None) -> bool:
        """True when it rang, False when the time was up first."""
        if not self._rung:
            loop = asyncio.get_running_loop()
            self._waiter = waiter = loop.create_future()
            timer = None if timeout_s is None else loop.call_later(timeout_s, _give_up, waiter)
            try:
                await waiter
            finally:
                self._waiter = None
                if timer is not None:
                    timer.cancel()
        rang, self._rung = self._rung, False
        return rang


def _give_up(waiter: asyncio.Future[bool]) -> None:
    if not waiter.done():
        waiter.set_result(False)
