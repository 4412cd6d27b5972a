"""`GET /desktop/screenshot`: the screen, or a part of it, as a picture of the size that is wanted."""

from __future__ import annotations

from typing import Any

from roost_agent.desktop.errors import invalid
from roost_agent.desktop.link import Link
from roost_agent.desktop.reading import Fields
from roost_agent.desktop.screen import NOT_KEPT
from roost_agent.desktop.wire import Message
from roost_agent.http.connection import Exchange, Headers

_FORMATS = ("png", "jpeg", "webp")
_MOST_SIDE = 16384


class Screenshot:
    """?format=png|jpeg|webp & quality & scale, or width and height as the largest wanted & region=x,y,w,h & cursor."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def __call__(self, exchange: Exchange) -> None:
        fields = Fields.of_query(exchange)
        answer = await self._link.ask(exchange.connection, "screenshot", **picture_wanted(fields, "png"))
        exchange.answer(200, answer.content, answer.fields["type"], [*headers_of(answer), NOT_KEPT])


def picture_wanted(fields: Fields, format: str) -> dict[str, Any]:
    """What the query says of the picture. Raises DesktopError."""
    if fields.has("scale") and (fields.has("width") or fields.has("height")):
        raise invalid("Give either scale, or the largest width and height: not both.")
    return {
        "format": fields.choice("format", _FORMATS, format),
        "quality": fields.whole("quality", least=1, most=100, default=80),
        "scale": fields.scale(),
        "width": fields.whole("width", least=1, most=_MOST_SIDE, default=_MOST_SIDE),
        "height": fields.whole("height", least=1, most=_MOST_SIDE, default=_MOST_SIDE),
        "region": fields.numbers("region", 4),
        "cursor": fields.flag("cursor", default=True),
    }


def headers_of(answer: Message) -> Headers:
    return [
        ("Roost-Width", str(answer.fields["width"])),
        ("Roost-Height", str(answer.fields["height"])),
        ("Roost-Scale", repr(answer.fields["scale"])),
        ("Access-Control-Expose-Headers", "Roost-Width, Roost-Height, Roost-Scale"),
    ]
