"""Time that stands still while the sandbox sleeps.

CLOCK_MONOTONIC jumps over a sleep: a command with a minute left would be killed at the moment its sandbox wakes. So
the event loop runs on awake time. Whenever the loop was away for longer than it asked to be, the rest was sleep (or a
freeze) and is taken off the clock, which moves every timer of the agent at once. No message from outside is needed,
and none could come early enough: timers fire before the first request after a restore is read.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Callable

# While timers are pending the loop looks at the clock this often; what is lost or gained by a sleep stays below it.
TICK_S = 1.0
# Being away for less than this is a busy machine, not a sleep.
SLACK_S = 1.5


class _WatchfulSelector(selectors.EpollSelector):
    """An epoll selector that notices when far more time has passed than was asked for."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        super().__init__()
        self._monotonic = monotonic
        self._last_seen_s = monotonic()
        self.asleep_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        before = self._monotonic()
        self._take_off(before - self._last_seen_s)
        if timeout is None:
            # Nothing is due, so nothing can be due too early: sleep as long as it takes.
            ready = super().select(None)
            self._last_seen_s = self._monotonic()
            return ready
        asked = min(timeout, TICK_S)
        ready = super().select(asked)
        self._last_seen_s = self._monotonic()
        self._take_off(self._last_seen_s - before - max(asked, 0.0))
        return ready

    def _take_off(self, unexpected_s: float) -> None:
        if unexpected_s > SLACK_S:
            self.asleep_s += unexpected_s


class AwakeLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock counts only the time in which the sandbox was awake."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._watchful = _WatchfulSelector(monotonic)
        self._monotonic = monotonic
        super().__init__(self._watchful)

    def time(self) -> float:
        return self._monotonic() - self._watchful.asleep_s

    @property
    def asleep_s(self) -> float:
        """Seconds of sleep noticed since the agent started."""
        return self._watchful.asleep_s
