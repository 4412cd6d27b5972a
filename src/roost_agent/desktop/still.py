"""`GET /desktop/still`: wait until the screen has stopped changing."""

from __future__ import annotations

from roost_agent.desktop.link import Link
from roost_agent.desktop.reading import Fields
from roost_agent.desktop.screen import NOT_KEPT
from roost_agent.http.connection import Exchange

_MOST_MS = 600_000
# The companion keeps the time itself; this much later it is taken for hanging.
_GRACE_S = 10.0


class Still:
    """?for_ms & timeout_ms → {still, waited_ms}. A blinking text cursor does not count as a change."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def __call__(self, exchange: Exchange) -> None:
        fields = Fields.of_query(exchange)
        for_ms = fields.whole("for_ms", least=10, most=_MOST_MS, default=500)
        timeout_ms = fields.whole("timeout_ms", least=0, most=_MOST_MS, default=10_000)
        within_s = timeout_ms / 1000 + _GRACE_S
        answer = await self._link.ask(exchange.connection, "still", within_s=within_s, for_ms=for_ms, timeout_ms=timeout_ms)
        exchange.answer_json(answer.fields, headers=[NOT_KEPT])
