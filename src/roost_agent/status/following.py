"""What the history shows, told as it changes."""

from __future__ import annotations

import json
from collections.abc import Callable

from roost_agent.connect import Message
from roost_agent.errors import ClientGone
from roost_agent.http.connection import Exchange
from roost_agent.processes.history import History
from roost_agent.wakeup import Wakeup

_AT_MOST_EVERY_S = 1.0


async def follow(exchange: Exchange, history: History, shown: Callable[[], Message]) -> None:
    """Answers with a text/event-stream: what is `shown` at once, then whenever it is something else, at most once a second.

    It costs nothing while nothing happens. Ends with the caller: raises ClientGone.
    """
    connection = exchange.connection
    heard, gone = Wakeup(), Wakeup()

    def hang_up() -> None:
        gone.ring()
        heard.ring()

    exchange.begin(200, [("Content-Type", "text/event-stream"), ("Cache-Control", "no-store")])
    if exchange.head.method == "HEAD":
        return
    history.listen(heard.ring)
    connection.on_gone(hang_up)
    sent: Message | None = None
    try:
        while not connection.gone:
            now = shown()
            if now != sent:
                sent = now
                await exchange.send(b"data: %b\n\n" % json.dumps(now, separators=(",", ":")).encode("utf-8", "replace"))
                if await gone.wait(_AT_MOST_EVERY_S):
                    break
            await heard.wait()
        raise ClientGone
    finally:
        connection.forget_gone(hang_up)
        history.unlisten(heard.ring)
