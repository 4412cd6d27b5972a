"""`GET /desktop/windows`, `POST /desktop/windows/focus` and `/close`."""

from __future__ import annotations

from roost_agent.desktop.errors import invalid
from roost_agent.desktop.link import Link
from roost_agent.desktop.reading import Fields
from roost_agent.desktop.screen import NOT_KEPT
from roost_agent.http.connection import Exchange


class ListWindows:
    """→ {windows: [{id, title, class, x, y, width, height, focused, minimized}]}, the topmost first."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def __call__(self, exchange: Exchange) -> None:
        answer = await self._link.ask(exchange.connection, "windows")
        exchange.answer_json(answer.fields, headers=[NOT_KEPT])


class FocusWindow:
    """{id} → the window, in front and with the keyboard."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def __call__(self, exchange: Exchange) -> None:
        answer = await self._link.ask(exchange.connection, "focus", window=await _window(exchange))
        exchange.answer_json(answer.fields)


class CloseWindow:
    """{id} → {closed}: false when the window is still there, which may ask whether to save."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def __call__(self, exchange: Exchange) -> None:
        answer = await self._link.ask(exchange.connection, "close", window=await _window(exchange))
        exchange.answer_json(answer.fields)


async def _window(exchange: Exchange) -> int:
    text = (await Fields.of_body(exchange)).text("id")
    try:
        return int(text, 16)
    except ValueError as error:
        raise invalid(f"{text!r} is no window's id. `GET /desktop/windows` lists them.", field="id") from error
