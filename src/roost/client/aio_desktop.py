"""The desktop of a sandbox, for programs with an event loop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx

from roost.client import screen_calls
from roost.client.agent import Door
from roost.client.pictures import FrameReader, Point, Screen, Screenshot, Window
from roost.client.transport import AsyncTransport, Streaming, translate


class AsyncDesktop:
    """As `Desktop`."""

    def __init__(self, transport: AsyncTransport, door: Door) -> None:
        self._transport = transport
        self._door = door

    async def screen(self) -> Screen:
        return await self._transport.run(screen_calls.screen(self._door))

    async def screenshot(self, **wanted: Any) -> Screenshot:
        """As `Desktop.screenshot`."""
        async with self._streaming(screen_calls.screenshot(self._door, screen_calls.picture_params(**wanted))) as response:
            return Screenshot.read(response.headers, await response.aread())

    async def frames(self, *, every_s: float = 1.0, **wanted: Any) -> AsyncIterator[Screenshot]:
        """As `Desktop.frames`."""
        params = screen_calls.picture_params(every_ms=round(every_s * 1000), **wanted)
        reader = FrameReader()
        async with self._streaming(screen_calls.frames(self._door, params)) as response:
            async for chunk in response.aiter_raw():
                for frame in reader.feed(chunk):
                    yield frame

    async def wait_still(self, for_s: float = 0.5, timeout_s: float = 10.0) -> bool:
        """As `Desktop.wait_still`."""
        return await self._transport.run(screen_calls.still(self._door, for_s, timeout_s))

    async def move(self, x: float, y: float, *, scale: float | None = None) -> Point:
        return await self._transport.run(screen_calls.move(self._door, x, y, scale))

    async def click(self, x: float | None = None, y: float | None = None, **how: Any) -> Point:
        """As `Desktop.click`."""
        return await self._transport.run(screen_calls.click(self._door, x, y, **how))

    async def double_click(self, x: float | None = None, y: float | None = None, **how: Any) -> Point:
        return await self.click(x, y, count=2, **how)

    async def right_click(self, x: float | None = None, y: float | None = None, **how: Any) -> Point:
        return await self.click(x, y, button="right", **how)

    async def drag(self, path: Sequence[Sequence[float]], **how: Any) -> Point:
        """As `Desktop.drag`."""
        return await self._transport.run(screen_calls.drag(self._door, path, **how))

    async def scroll(self, dy: int = 0, dx: int = 0, **how: Any) -> Point:
        """As `Desktop.scroll`."""
        return await self._transport.run(screen_calls.scroll(self._door, dx, dy, **how))

    async def type(self, text: str) -> Point:
        """As `Desktop.type`."""
        return await self._transport.run(screen_calls.type_text(self._door, text))

    async def key(self, keys: str) -> Point:
        """As `Desktop.key`."""
        return await self._transport.run(screen_calls.key(self._door, keys))

    async def press(self, *, button: str | None = None, key: str | None = None) -> Point:
        return await self._transport.run(screen_calls.press(self._door, button, key))

    async def release(self, *, button: str | None = None, key: str | None = None) -> Point:
        return await self._transport.run(screen_calls.release(self._door, button, key))

    async def clipboard(self) -> str:
        return await self._transport.run(screen_calls.clipboard(self._door))

    async def set_clipboard(self, text: str) -> None:
        await self._transport.run(screen_calls.set_clipboard(self._door, text))

    async def windows(self) -> list[Window]:
        return await self._transport.run(screen_calls.windows(self._door))

    async def focus(self, window: str) -> Window:
        return await self._transport.run(screen_calls.focus(self._door, window))

    async def close(self, window: str) -> bool:
        """As `Desktop.close`."""
        return await self._transport.run(screen_calls.close(self._door, window))

    async def open(self, url: str) -> int:
        return await self._transport.run(screen_calls.open_url(self._door, url))

    async def launch(self, program: str, *arguments: str) -> int:
        return await self._transport.run(screen_calls.open_program(self._door, program, arguments))

    async def resize(self, width: int, height: int) -> Screen:
        return await self._transport.run(screen_calls.resize(self._door, width, height))

    @asynccontextmanager
    async def _streaming(self, streaming: Streaming) -> AsyncIterator[httpx.Response]:
        try:
            response = await self._transport.stream(streaming)
            try:
                yield response
            finally:
                await response.aclose()
        except httpx.TransportError as error:
            raise translate(error, self._transport.endpoint.url) from error
