"""`GET` and `PUT /desktop/clipboard`: its text."""

from __future__ import annotations

from roost_agent.desktop.errors import invalid
from roost_agent.desktop.link import Link
from roost_agent.desktop.reading import Fields
from roost_agent.desktop.screen import NOT_KEPT
from roost_agent.http.connection import Exchange

MAX_BYTES = 16 * 1024 * 1024


class ReadClipboard:
    """→ {text}; empty when there is none."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def __call__(self, exchange: Exchange) -> None:
        answer = await self._link.ask(exchange.connection, "clipboard", most_bytes=MAX_BYTES)
        exchange.answer_json({"text": answer.content.decode("utf-8", "replace")}, headers=[NOT_KEPT])


class WriteClipboard:
    """{text}"""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def __call__(self, exchange: Exchange) -> None:
        # In JSON a character may take six bytes.
        fields = await Fields.of_body(exchange, 6 * MAX_BYTES)
        try:
            content = fields.text("text").encode()
        except UnicodeEncodeError as error:
            raise invalid("The text holds half of a character (a lone surrogate).") from error
        if len(content) > MAX_BYTES:
            raise invalid(f"The text is larger than the clipboard takes ({MAX_BYTES} bytes). Write it to a file instead.")
        await self._link.ask(exchange.connection, "set_clipboard", content)
        exchange.answer(204)
