"""`GET /tail`: the last lines of whatever printed last, as they come."""

from __future__ import annotations

from roost_agent.connect import Message
from roost_agent.http.connection import Exchange
from roost_agent.http.head import whole_parameter
from roost_agent.processes.history import History
from roost_agent.status.following import follow
from roost_agent.status.lines import LINE_CHARACTERS, last_lines

_DEFAULT_LINES = 12
_MOST_LINES = 100
# Colours and cursor movements take room beside what is seen; beyond this a line is not worth the bytes.
_BYTES_PER_LINE = 4 * LINE_CHARACTERS
_MOST_BYTES = 16 * 1024


class Tail:
    """A text/event-stream: {pid, command, lines} at once, then whenever it is another, at most once a second.

    No output is kept for it.
    """

    def __init__(self, history: History) -> None:
        self._history = history

    async def __call__(self, exchange: Exchange) -> None:
        count = whole_parameter(exchange.head, "lines", default=_DEFAULT_LINES, most=_MOST_LINES)
        await follow(exchange, self._history, lambda: self._shown(count))

    def _shown(self, count: int) -> Message:
        voice = self._history.voice
        if voice is None:
            return {"pid": None, "command": None, "lines": []}
        at_most = min(count * _BYTES_PER_LINE, _MOST_BYTES)
        output = voice.tail(at_most)
        return {"pid": voice.pid, "command": voice.line, "lines": last_lines(output, count, whole=len(output) < at_most)}
