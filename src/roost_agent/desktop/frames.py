"""`GET /desktop/frames`: the screen as it changes, for people who look on.

Each picture is asked for when the one before it is on its way: a slow reader gets fewer of them, never old ones. The
companion waits for the X server to tell of a change, so a screen on which nothing happens costs nothing.
"""

from __future__ import annotations

import asyncio
import os

from roost_agent.desktop.link import Link
from roost_agent.desktop.reading import Fields
from roost_agent.desktop.screen import NOT_KEPT
from roost_agent.desktop.screenshot import headers_of, picture_wanted
from roost_agent.desktop.wire import Message
from roost_agent.http.connection import Exchange
from roost_agent.wakeup import Wakeup

_DAY_MS = 24 * 3600 * 1000


class Frames:
    """`multipart/x-mixed-replace`: one picture at once, then one after each change, at most one per `every_ms`."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def __call__(self, exchange: Exchange) -> None:
        fields = Fields.of_query(exchange)
        wanted = picture_wanted(fields, "jpeg")
        every_s = fields.whole("every_ms", least=20, most=_DAY_MS, default=1000) / 1000
        connection = exchange.connection
        connection.keep_little_in_flight()
        frame = await self._link.ask(connection, "screenshot", **wanted)
        boundary = f"roost-{os.urandom(8).hex()}"
        exchange.begin(200, [("Content-Type", f"multipart/x-mixed-replace; boundary={boundary}"), NOT_KEPT])
        if exchange.head.method == "HEAD":
            return
        await exchange.send(f"--{boundary}\r\n".encode())
        gone = Wakeup()
        connection.on_gone(gone.ring)
        loop = asyncio.get_running_loop()
        try:
            while True:
                next_at = loop.time() + every_s
                await exchange.send(_part(frame, boundary))
                if await gone.wait(max(0.0, next_at - loop.time())):
                    return
                frame = await self._link.ask(connection, "next", within_s=None, after=frame.fields["serial"], **wanted)
        finally:
            connection.forget_gone(gone.ring)


def _part(frame: Message, boundary: str) -> bytes:
    """Ends with the next boundary: a reader knows that a picture is whole without waiting for the next one."""
    lines = [f"Content-Type: {frame.fields['type']}", f"Content-Length: {len(frame.content)}"]
    lines += [f"{name}: {value}" for name, value in headers_of(frame)[:3]]
    head = "\r\n".join(lines) + "\r\n\r\n"
    return head.encode() + frame.content + f"\r\n--{boundary}\r\n".encode()
