"""The machine's clock."""

from __future__ import annotations

import time

import anyio

_LONGEST_NAP_S = 30.0  # the wall clock may be set while we sleep: look again now and then


class SystemClock:
    def now(self) -> float:
        return time.time()

    async def sleep_until(self, at: float) -> None:
        while (left := at - time.time()) > 0:  # noqa: ASYNC110  a clock is what one waits for
            await anyio.sleep(min(left, _LONGEST_NAP_S))
