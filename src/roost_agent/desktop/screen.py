"""`GET /desktop` and `POST /desktop/size`: how large the screen is and where the pointer, and another size."""

from __future__ import annotations

from roost_agent.desktop.link import Link
from roost_agent.desktop.reading import Fields
from roost_agent.http.connection import Exchange

NOT_KEPT = ("Cache-Control", "no-store")
_LEAST_SIDE = 64
_MOST_SIDE = 8192


class Describe:
    def __init__(self, link: Link) -> None:
        self._link = link

    async def __call__(self, exchange: Exchange) -> None:
        answer = await self._link.ask(exchange.connection, "describe")
        exchange.answer_json(answer.fields, headers=[NOT_KEPT])


class Resize:
    """{width, height} → the same as `GET /desktop`, afterwards."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def __call__(self, exchange: Exchange) -> None:
        fields = await Fields.of_body(exchange)
        width = fields.whole("width", least=_LEAST_SIDE, most=_MOST_SIDE)
        height = fields.whole("height", least=_LEAST_SIDE, most=_MOST_SIDE)
        answer = await self._link.ask(exchange.connection, "resize", width=width, height=height)
        exchange.answer_json(answer.fields)
