"""`POST /desktop/move`, `/click`, `/drag`, `/scroll`: the mouse. Coordinates are those of a picture of the given `scale`."""

from __future__ import annotations

from roost_agent.desktop.link import Link
from roost_agent.desktop.reading import Fields
from roost_agent.http.connection import Exchange

BUTTONS = ("left", "middle", "right", "back", "forward")
_MOST_POINTS = 1000
_MOST_NOTCHES = 200
# A long path is drawn at a hand's speed.
_DRAG_S = 120.0


class Move:
    """{x, y}"""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def __call__(self, exchange: Exchange) -> None:
        fields = await Fields.of_body(exchange)
        to = [fields.coordinate("x"), fields.coordinate("y")]
        answer = await self._link.ask(exchange.connection, "move", to=to, scale=fields.scale())
        exchange.answer_json(answer.fields)


class Click:
    """{x?, y?, button, count, modifiers}: where the pointer is, unless a place is given."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def __call__(self, exchange: Exchange) -> None:
        fields = await Fields.of_body(exchange)
        answer = await self._link.ask(
            exchange.connection,
            "click",
            to=fields.place(),
            scale=fields.scale(),
            button=fields.choice("button", BUTTONS, "left"),
            count=fields.whole("count", least=1, most=10, default=1),
            modifiers=fields.texts("modifiers"),
        )
        exchange.answer_json(answer.fields)


class Drag:
    """{path: [[x, y], …], button, modifiers}: down at the first point, up at the last."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def __call__(self, exchange: Exchange) -> None:
        fields = await Fields.of_body(exchange)
        answer = await self._link.ask(
            exchange.connection,
            "drag",
            within_s=_DRAG_S,
            path=fields.points("path", least=2, most=_MOST_POINTS),
            scale=fields.scale(),
            button=fields.choice("button", BUTTONS, "left"),
            modifiers=fields.texts("modifiers"),
        )
        exchange.answer_json(answer.fields)


class Scroll:
    """{x?, y?, dx, dy, modifiers}, in notches of the wheel: positive is right and down."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def __call__(self, exchange: Exchange) -> None:
        fields = await Fields.of_body(exchange)
        answer = await self._link.ask(
            exchange.connection,
            "scroll",
            to=fields.place(),
            scale=fields.scale(),
            dx=fields.whole("dx", least=-_MOST_NOTCHES, most=_MOST_NOTCHES, default=0),
            dy=fields.whole("dy", least=-_MOST_NOTCHES, most=_MOST_NOTCHES, default=0),
            modifiers=fields.texts("modifiers"),
        )
        exchange.answer_json(answer.fields)
