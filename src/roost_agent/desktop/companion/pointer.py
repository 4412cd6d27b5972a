"""The mouse."""

# pyright: reportMissingImports=false, reportMissingModuleSource=false

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from itertools import pairwise

from Xlib import X

from roost_agent.desktop.companion.keyboard import Keyboard
from roost_agent.desktop.companion.scale import to_screen
from roost_agent.desktop.companion.screen import Screen

_BUTTONS = {"left": 1, "middle": 2, "right": 3, "back": 8, "forward": 9}
_UP, _DOWN, _LEFT, _RIGHT = 4, 5, 6, 7
# A drag moves in steps of so many pixels, so many seconds apart: programs tell a drag from a click by its way.
_STEP_PIXELS = 24
_STEP_S = 0.008

Point = Sequence[float]


class Pointer:
    def __init__(self, screen: Screen, keyboard: Keyboard) -> None:
        self._screen = screen
        self._keyboard = keyboard
        self._held: set[int] = set()

    def move(self, to: Point | None, scale: float) -> None:
        """Raises Refusal for a place that is not on the screen."""
        if to is not None:
            self._go(to_screen((to[0], to[1]), scale, self._screen.size))
            self._screen.display.sync()

    async def click(self, to: Point | None, scale: float, button: str, count: int, modifiers: Sequence[str]) -> None:
        self.move(to, scale)
        async with self._keyboard.holding(modifiers):
            for _ in range(count):
                self._click(_BUTTONS[button])
            self._screen.display.sync()

    async def scroll(self, to: Point | None, scale: float, dx: int, dy: int, modifiers: Sequence[str]) -> None:
        self.move(to, scale)
        async with self._keyboard.holding(modifiers):
            for _ in range(abs(dy)):
                self._click(_DOWN if dy > 0 else _UP)
            for _ in range(abs(dx)):
                self._click(_RIGHT if dx > 0 else _LEFT)
            self._screen.display.sync()

    async def drag(self, path: Sequence[Point], scale: float, button: str, modifiers: Sequence[str]) -> None:
        """Whatever happens on the way, the button is up afterwards. Raises Refusal before it is down."""
        size = self._screen.size
        places = [to_screen((point[0], point[1]), scale, size) for point in path]
        self._go(places[0])
        async with self._keyboard.holding(modifiers):
            self.press(button)
            try:
                for start, end in pairwise(places):
                    await self._travel(start, end)
            finally:
                self.release(button)

    def press(self, button: str) -> None:
        self._held.add(_BUTTONS[button])
        self._screen.display.xtest_fake_input(X.ButtonPress, _BUTTONS[button])
        self._screen.display.sync()

    def release(self, button: str) -> None:
        self._held.discard(_BUTTONS[button])
        self._screen.display.xtest_fake_input(X.ButtonRelease, _BUTTONS[button])
        self._screen.display.sync()

    def release_all(self) -> None:
        while self._held:
            self._screen.display.xtest_fake_input(X.ButtonRelease, self._held.pop())
        self._screen.display.sync()

    def let_go(self) -> None:
        """Every button that is down is released, whoever pressed it."""
        self.release_all()
        mask = self._screen.root.query_pointer().mask
        for button in range(1, 6):
            if mask & X.Button1Mask << button - 1:
                self._screen.display.xtest_fake_input(X.ButtonRelease, button)
        self._screen.display.sync()

    async def _travel(self, start: tuple[int, int], end: tuple[int, int]) -> None:
        steps = max(1, math.ceil(math.dist(start, end) / _STEP_PIXELS))
        for step in range(1, steps + 1):
            self._go(tuple(round(a + (b - a) * step / steps) for a, b in zip(start, end, strict=True)))
            self._screen.display.sync()
            await asyncio.sleep(_STEP_S)

    def _go(self, place: Sequence[int]) -> None:
        self._screen.display.xtest_fake_input(X.MotionNotify, x=place[0], y=place[1])

    def _click(self, button: int) -> None:
        self._screen.display.xtest_fake_input(X.ButtonPress, button)
        self._screen.display.xtest_fake_input(X.ButtonRelease, button)
