"""The desktop of a sandbox."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

import httpx

from roost.client import screen_calls
from roost.client.agent import AgentAccess
from roost.client.aio.transport import AsyncTransport
from roost.client.pictures import FrameReader, Point, Screen, Screenshot, Window
from roost.client.wire import Streaming, translate


class AsyncDesktop:
    """Screen, mouse, keyboard, clipboard and windows. A sleeping sandbox wakes.

    Coordinates are pixels of the screen; with `scale`, those of a picture of that scale. Every hand movement answers where
    the pointer is then. Raises Unsupported (`no_desktop`) in a sandbox without one, Conflict (`person_drives`) while a person
    has taken over."""

    def __init__(self, transport: AsyncTransport, access: AgentAccess) -> None:
        self._transport = transport
        self._access = access

    # Seeing

    async def screen(self) -> Screen:
        """Its size, and where the pointer is."""
        return await self._transport.run(screen_calls.screen(self._access))

    async def screenshot(self, **wanted: Any) -> Screenshot:
        """A picture. Wanted: format (png, jpeg, webp), quality (1 to 100), scale, or width and height (the largest wanted),
        region (x, y, width, height), cursor (whether the pointer is drawn)."""
        async with self._streaming(screen_calls.screenshot(self._access, screen_calls.picture_params(**wanted))) as response:
            return Screenshot.read(response.headers, await response.aread())

    async def frames(self, *, every_s: float = 1.0, **wanted: Any) -> AsyncGenerator[Screenshot]:
        """A picture at once, then one whenever the screen has changed, at most one per `every_s`. Wanted: as `screenshot`;
        JPEG unless said otherwise. Close the iterator to stop."""
        params = screen_calls.picture_params(every_ms=round(every_s * 1000), **wanted)
        reader = FrameReader()
        async with self._streaming(screen_calls.frames(self._access, params)) as response:
            async for chunk in response.aiter_raw():
                for frame in reader.feed(chunk):
                    yield frame

    async def wait_still(self, for_s: float = 0.5, timeout_s: float = 10.0) -> bool:
        """Waits until nothing on the screen has changed for `for_s`; False when that did not come to pass in time."""
        return await self._transport.run(screen_calls.still(self._access, for_s, timeout_s))

    # The mouse

    async def move(self, x: float, y: float, *, scale: float | None = None) -> Point:
        return await self._transport.run(screen_calls.move(self._access, x, y, scale))

    async def click(self, x: float | None = None, y: float | None = None, **how: Any) -> Point:
        """Where the pointer is, unless a place is given. How: button (left, middle, right, back, forward), count,
        modifiers (ctrl, shift, alt, super), scale."""
        return await self._transport.run(screen_calls.click(self._access, x, y, **how))

    async def double_click(self, x: float | None = None, y: float | None = None, **how: Any) -> Point:
        return await self.click(x, y, count=2, **how)

    async def right_click(self, x: float | None = None, y: float | None = None, **how: Any) -> Point:
        return await self.click(x, y, button="right", **how)

    async def drag(self, path: Sequence[Sequence[float]], **how: Any) -> Point:
        """Down at the first point, along the others, up at the last. How: button, modifiers, scale."""
        return await self._transport.run(screen_calls.drag(self._access, path, **how))

    async def scroll(self, dy: int = 0, dx: int = 0, **how: Any) -> Point:
        """By notches of the wheel: positive is down and right. How: x and y (where), modifiers, scale."""
        return await self._transport.run(screen_calls.scroll(self._access, dx, dy, **how))

    # The keyboard

    async def type(self, text: str) -> Point:
        """Any text, whatever the keyboard's layout. A line end is Enter."""
        return await self._transport.run(screen_calls.type_text(self._access, text))

    async def key(self, keys: str) -> Point:
        """`ctrl+shift+t`, `Return`, `alt+F4`; several, separated by spaces, one after the other."""
        return await self._transport.run(screen_calls.key(self._access, keys))

    async def press(self, *, button: str | None = None, key: str | None = None) -> Point:
        """Holds it down until `release`."""
        return await self._transport.run(screen_calls.press(self._access, button, key))

    async def release(self, *, button: str | None = None, key: str | None = None) -> Point:
        """Lets go of it; with neither, of everything that was pressed."""
        return await self._transport.run(screen_calls.release(self._access, button, key))

    # The rest of the desk

    async def clipboard(self) -> str:
        return await self._transport.run(screen_calls.clipboard(self._access))

    async def set_clipboard(self, text: str) -> None:
        await self._transport.run(screen_calls.set_clipboard(self._access, text))

    async def windows(self) -> list[Window]:
        """The topmost first."""
        return await self._transport.run(screen_calls.windows(self._access))

    async def focus(self, window: str) -> Window:
        return await self._transport.run(screen_calls.focus(self._access, window))

    async def close(self, window: str) -> bool:
        """Whether it is gone: it may ask whether to save."""
        return await self._transport.run(screen_calls.close(self._access, window))

    async def open(self, url: str) -> int:
        """An address in the browser, or a file in its program. Returns the pid."""
        return await self._transport.run(screen_calls.open_url(self._access, url))

    async def launch(self, program: str, *arguments: str) -> int:
        """A program on the screen. Returns its pid."""
        return await self._transport.run(screen_calls.open_program(self._access, program, arguments))

    async def resize(self, width: int, height: int) -> Screen:
        return await self._transport.run(screen_calls.resize(self._access, width, height))

    @asynccontextmanager
    async def _streaming(self, streaming: Streaming) -> AsyncIterator[httpx.Response]:
        try:
            async with aclosing(await self._transport.stream(streaming)) as response:
                yield response
        except httpx.TransportError as error:
            raise translate(error, self._transport.endpoint.url) from error
