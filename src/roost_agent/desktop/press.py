"""`POST /desktop/press` and `/release`: hold a button or a key down across other calls, and let go."""

from __future__ import annotations

from roost_agent.desktop.errors import invalid
from roost_agent.desktop.link import Link
from roost_agent.desktop.pointer import BUTTONS
from roost_agent.desktop.reading import Fields
from roost_agent.http.connection import Exchange


class Press:
    """{button} or {key}"""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def __call__(self, exchange: Exchange) -> None:
        fields = await Fields.of_body(exchange)
        if fields.has("button") == fields.has("key"):
            raise invalid("Say what to press: either button, or key.")
        await _held(exchange, self._link, fields, "press")


class Release:
    """{button} or {key}; with neither, everything that was pressed."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def __call__(self, exchange: Exchange) -> None:
        fields = await Fields.of_body(exchange)
        if fields.has("button") and fields.has("key"):
            raise invalid("Say what to release: either button, or key, or neither for everything.")
        await _held(exchange, self._link, fields, "release")


async def _held(exchange: Exchange, link: Link, fields: Fields, verb: str) -> None:
    button = fields.choice("button", BUTTONS, "left") if fields.has("button") else None
    key = fields.text("key") if fields.has("key") else None
    answer = await link.ask(exchange.connection, verb, button=button, key=key, scale=fields.scale())
    exchange.answer_json(answer.fields)
