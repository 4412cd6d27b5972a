"""Everything that can be asked of the desktop, put together once."""

# pyright: reportMissingImports=false, reportMissingModuleSource=false

from __future__ import annotations

import asyncio
from typing import Any

from Xlib.error import ConnectionClosedError

from roost_agent.desktop.companion.clipboard import Clipboard
from roost_agent.desktop.companion.damage import Damage
from roost_agent.desktop.companion.keyboard import Keyboard
from roost_agent.desktop.companion.pictures import Pictures
from roost_agent.desktop.companion.pointer import Pointer
from roost_agent.desktop.companion.scale import Size, to_picture
from roost_agent.desktop.companion.screen import Screen
from roost_agent.desktop.companion.sizes import Sizes
from roost_agent.desktop.companion.windows import Windows

# The X server is gone: nothing can be done any more.
LOST = (ConnectionClosedError, ConnectionError)

Fields = dict[str, Any]
Answer = tuple[Fields, bytes]


class Desk:
    def __init__(self, display: str) -> None:
        """Raises Refusal."""
        self.screen = Screen(display)
        self._damage = Damage(self.screen)
        self._pictures = Pictures(self.screen, self._damage)
        self._windows = Windows(self.screen)
        self._keyboard = Keyboard(self.screen, self._windows)
        self._pointer = Pointer(self.screen, self._keyboard)
        self._clipboard = Clipboard(self.screen)
        self._sizes = Sizes(self.screen)
        # Keyboard and mouse are one person's at a time.
        self._hands = asyncio.Lock()

    async def do(self, verb: str, arguments: Fields, content: bytes) -> Answer:
        """Raises Refusal, or one of LOST."""
        if verb in _INPUT:
            scale = arguments.pop("scale")
            async with self._hands:
                await getattr(self, f"_do_{verb}")(scale, **arguments)
            return {"cursor": self._cursor(scale)}, b""
        if verb == "set_clipboard":
            self._clipboard.set(content)
            return {}, b""
        return await getattr(self, f"_answer_{verb}")(**arguments)

    # What is asked

    async def _answer_describe(self) -> Answer:
        size = self.screen.size
        return {"width": size.width, "height": size.height, "cursor": self._cursor(1.0)}, b""

    async def _answer_resize(self, width: int, height: int) -> Answer:
        self._sizes.change(Size(width, height))
        return await self._answer_describe()

    async def _answer_screenshot(self, **wanted: Any) -> Answer:
        return self._pictures.take(wanted)

    async def _answer_next(self, after: int, **wanted: Any) -> Answer:
        await self._damage.next(after)
        return self._pictures.take(wanted)

    async def _answer_still(self, for_ms: int, timeout_ms: int) -> Answer:
        loop = asyncio.get_running_loop()
        started = loop.time()
        still = await self._damage.still(for_ms / 1000, timeout_ms / 1000)
        return {"still": still, "waited_ms": round((loop.time() - started) * 1000)}, b""

    async def _answer_clipboard(self, most_bytes: int) -> Answer:
        return {}, await self._clipboard.get(most_bytes)

    async def _answer_windows(self) -> Answer:
        return {"windows": self._windows.list()}, b""

    async def _answer_focus(self, window: int) -> Answer:
        return await self._windows.focus(window), b""

    async def _answer_close(self, window: int) -> Answer:
        return {"closed": await self._windows.close(window)}, b""

    async def _answer_session(self) -> Answer:
        return {"pid": self._windows.manager_pid()}, b""

    # What the hands do

    async def _do_move(self, scale: float, to: list[float]) -> None:
        self._pointer.move(to, scale)

    async def _do_click(self, scale: float, to: list[float] | None, button: str, count: int, modifiers: list[str]) -> None:
        await self._pointer.click(to, scale, button, count, modifiers)

    async def _do_drag(self, scale: float, path: list[list[float]], button: str, modifiers: list[str]) -> None:
        await self._pointer.drag(path, scale, button, modifiers)

    async def _do_scroll(self, scale: float, to: list[float] | None, dx: int, dy: int, modifiers: list[str]) -> None:
        await self._pointer.scroll(to, scale, dx, dy, modifiers)

    async def _do_type(self, scale: float, text: str) -> None:
        await self._keyboard.type(text)

    async def _do_key(self, scale: float, keys: str) -> None:
        await self._keyboard.chords(keys)

    async def _do_press(self, scale: float, button: str | None, key: str | None) -> None:
        if button is not None:
            self._pointer.press(button)
        if key is not None:
            await self._keyboard.press(key)

    async def _do_release(self, scale: float, button: str | None, key: str | None) -> None:
        if button is not None:
            self._pointer.release(button)
        elif key is not None:
            self._keyboard.release(key)
        else:
            self._pointer.release_all()
            self._keyboard.release_all()

    async def _do_let_go(self, scale: float) -> None:
        self._pointer.let_go()
        self._keyboard.let_go()

    def _cursor(self, scale: float) -> Fields:
        """Where the pointer is, in the picture that the caller looks at."""
        x, y = to_picture(self.screen.pointer, scale, self.screen.size)
        return {"x": x, "y": y}


_INPUT = frozenset({"move", "click", "drag", "scroll", "type", "key", "press", "release", "let_go"})
