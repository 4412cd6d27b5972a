"""`POST /desktop/type` and `/key`: any text, and keys by their names. Both stop when the caller hangs up."""

from __future__ import annotations

from roost_agent.desktop.errors import invalid
from roost_agent.desktop.link import Link
from roost_agent.desktop.reading import Fields
from roost_agent.http.connection import Exchange

MOST_CHARACTERS = 100_000
# The slowest is a text of many different characters that no key has.
_TYPES_WITHIN_S = 900.0


class Type:
    """{text}: as if typed, whatever the keyboard's layout. A line end is Enter, a tab is Tab."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def __call__(self, exchange: Exchange) -> None:
        fields = await Fields.of_body(exchange)
        text = fields.text("text")
        if len(text) > MOST_CHARACTERS:
            raise invalid(
                f"{len(text)} characters are too many to type at once (the most is {MOST_CHARACTERS}). Type it in parts, put it"
                " on the clipboard and press ctrl+v, or write it to a file."
            )
        answer = await self._link.ask(exchange.connection, "type", within_s=_TYPES_WITHIN_S, text=text, scale=fields.scale())
        exchange.answer_json(answer.fields)


class Key:
    """{keys: "ctrl+shift+t"}; several, separated by spaces, are pressed one after the other."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def __call__(self, exchange: Exchange) -> None:
        fields = await Fields.of_body(exchange)
        answer = await self._link.ask(exchange.connection, "key", keys=fields.text("keys"), scale=fields.scale())
        exchange.answer_json(answer.fields)
