"""`GET /tail`: the last lines of whatever printed last, as they come."""

from __future__ import annotations

import json

from roost_agent.connect import Message
from roost_agent.errors import ClientGone
from roost_agent.http.connection import Exchange
from roost_agent.http.head import whole_parameter
from roost_agent.processes.history import History
from roost_agent.status.lines import LINE_CHARACTERS, last_lines
from roost_agent.wakeup import Wakeup

_DEFAULT_LINES = 12
_MOST_LINES = 100
_AT_MOST_EVERY_S = 1.0
# Colours and cursor movements take room beside what is seen; beyond this a line is not worth the bytes.
_BYTES_PER_LINE = 4 * LINE_CHARACTERS
_MOST_BYTES = 16 * 1024


class Tail:
    """A text/event-stream: {pid, command, lines} at once, then whenever it is another, at most once a second.

    It costs nothing while nothing is printed, and no output is kept for it.
    """

    def __init__(self, history: History) -> None:
        self._history = history

    async def __call__(self, exchange: Exchange) -> None:
        count = whole_parameter(exchange.head, "lines", default=_DEFAULT_LINES, most=_MOST_LINES)
        connection = exchange.connection
        heard, gone = Wakeup(), Wakeup()

        def hang_up() -> None:
            gone.ring()
            heard.ring()

        exchange.begin(200, [("Content-Type", "text/event-stream"), ("Cache-Control", "no-store")])
        if exchange.head.method == "HEAD":
            return
        self._history.listen(heard.ring)
        connection.on_gone(hang_up)
        sent: Message | None = None
        try:
            while not connection.gone:
                shown = self._shown(count)
                if shown != sent:
                    sent = shown
                    await exchange.send(b"data: %b\n\n" % json.dumps(shown, separators=(",", ":")).encode("utf-8", "replace"))
                    if await gone.wait(_AT_MOST_EVERY_S):
                        break
                await heard.wait()
            raise ClientGone
        finally:
            connection.forget_gone(hang_up)
            self._history.unlisten(heard.ring)

    def _shown(self, count: int) -> Message:
        voice = self._history.voice
        if voice is None:
            return {"pid": None, "command": None, "lines": []}
        at_most = min(count * _BYTES_PER_LINE, _MOST_BYTES)
        output = voice.tail(at_most)
        return {"pid": voice.pid, "command": voice.line, "lines": last_lines(output, count, whole=len(output) < at_most)}
