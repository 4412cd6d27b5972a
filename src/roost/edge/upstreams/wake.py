"""Waking a sleeping sandbox for those who wait at its door: so many, so long."""

from __future__ import annotations

from collections import Counter

import anyio

from roost.contracts.routes import Route, Routes
from roost.domain.errors import TimedOut, Unavailable
from roost.domain.ids import SandboxId


class Waker:
    """Holds a bounded number of callers per sandbox while it wakes. The one flight is the routes' business."""

    def __init__(self, routes: Routes, *, holders: int, deadline_s: float) -> None:
        self._routes = routes
        self._holders = holders
        self._deadline_s = deadline_s
        self._waiting: Counter[SandboxId] = Counter()

    async def wake(self, sandbox: SandboxId, why: str) -> Route:
        """The route of the running sandbox. Raises Unavailable when too many wait already, TimedOut past the deadline,
        and whatever `Routes.wake` raises."""
        if self._waiting[sandbox] >= self._holders:
            raise Unavailable(
                "too_many_waiting",
                f"Sandbox {sandbox} is waking and {self._holders} requests already wait for it. Try again in a moment.",
                sandbox=sandbox,
            )
        self._waiting[sandbox] += 1
        try:
            with anyio.fail_after(self._deadline_s):
                return await self._routes.wake(sandbox, why)
        except TimeoutError as error:
            raise TimedOut(
                "wake_timed_out",
                f"Sandbox {sandbox} did not wake within {self._deadline_s:g} s. It goes on waking; try again in a moment.",
                sandbox=sandbox,
            ) from error
        finally:
            self._waiting[sandbox] -= 1
            if not self._waiting[sandbox]:
                del self._waiting[sandbox]
