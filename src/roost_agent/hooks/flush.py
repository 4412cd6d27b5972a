"""`POST /roost/flush`: what was written is on the disk, where the node can take it without the memory."""

from __future__ import annotations

import os

from roost_agent.http.connection import Exchange
from roost_agent.threads import in_thread


async def flush(exchange: Exchange) -> None:
    await in_thread(os.sync)
    exchange.answer(204)
