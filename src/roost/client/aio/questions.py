"""Waiting for people."""

from __future__ import annotations

from contextlib import aclosing

import httpx

from roost.client import questions
from roost.client.agent import AgentAccess
from roost.client.aio.transport import AsyncTransport
from roost.client.questions import OPEN, WAIT_S, QuestionRecord
from roost.client.wire import translate


async def look(transport: AsyncTransport, access: AgentAccess) -> bytes:
    """The sandbox's screen, to go with a question. Raises Unsupported when it has none."""
    try:
        async with aclosing(await transport.stream(questions.picture(access))) as response:
            return await response.aread()
    except httpx.TransportError as error:
        raise translate(error, transport.endpoint.url) from error


async def wait_until_closed(transport: AsyncTransport, id: str) -> QuestionRecord:
    """The question once it is no longer open, however long that takes."""
    while (question := await transport.run(questions.get(id, wait_s=WAIT_S))).state == OPEN:
        pass
    return question
