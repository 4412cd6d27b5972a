"""Whether the screen has changed, told by the X server (DAMAGE), not found out by comparing pictures.

The server tells when the part of the screen that has changed grows, and begins anew when it is armed again. So a screen
that nobody watches is soon silent, however much happens on it.
"""

# pyright: reportMissingImports=false, reportMissingModuleSource=false

from __future__ import annotations

import asyncio
from typing import Any

from Xlib.ext import damage

from roost_agent.desktop.companion.screen import Screen

# A text cursor that blinks changes at most so much. Nothing that a program waits for is that small.
_CARET_WIDTH = 4
_CARET_HEIGHT = 80
# Among many changes in a row there is no need to hear of each.
_LULL_S = 0.02


class Damage:
    """`serial` grows with each change that was heard of."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._damage = screen.root.damage_create(damage.DamageReportBoundingBox)
        self._is_armed = True
        self._waiters: set[asyncio.Future[bool]] = set()
        self.serial = 1
        screen.listen(screen.display.extension_event.DamageNotify, self._changed)

    def arm(self) -> int:
        """From now on the next change is told. Returns the serial that it will exceed."""
        if not self._is_armed:
            self._begin_anew()
        return self.serial

    def _begin_anew(self) -> None:
        self._is_armed = True
        self._screen.display.damage_subtract(self._damage)

    async def next(self, after: int) -> None:
        """Returns when something has changed since serial `after`."""
        while self.serial <= after:
            self.arm()
            await self._change(None)

    async def still(self, for_s: float, timeout_s: float) -> bool:
        """True once nothing has changed for `for_s`; False when that did not come to pass within `timeout_s`."""
        loop = asyncio.get_running_loop()
        started = quiet_since = loop.time()
        self._begin_anew()
        while True:
            now = loop.time()
            if now - quiet_since >= for_s:
                return True
            left_s = started + timeout_s - now
            if left_s <= 0:
                return False
            is_large = await self._change(min(quiet_since + for_s - now, left_s))
            if is_large is None:
                continue
            if is_large:
                quiet_since = loop.time()
                await asyncio.sleep(min(_LULL_S, for_s / 4))
            self.arm()

    async def _change(self, timeout_s: float | None) -> bool | None:
        """Whether the next change is larger than a text cursor; None when there is none in time."""
        waiter: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        self._screen.pump()
        try:
            await asyncio.wait((waiter,), timeout=timeout_s)
            if not waiter.done():
                self._screen.pump()  # it may be us who stood still: what the server told meanwhile is a change all the same
            return waiter.result() if waiter.done() else None
        finally:
            self._waiters.discard(waiter)

    def _changed(self, event: Any) -> None:
        self._is_armed = False
        self.serial += 1
        is_large = event.area.width > _CARET_WIDTH or event.area.height > _CARET_HEIGHT
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(is_large)
