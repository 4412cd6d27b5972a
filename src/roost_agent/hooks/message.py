"""What the node says, as it arrives."""

from __future__ import annotations

import json

from roost_agent.connect import Message
from roost_agent.errors import HttpError
from roost_agent.http.connection import Exchange

MAX_REQUEST_BYTES = 8 * 1024 * 1024


async def read_message(exchange: Exchange) -> Message:
    """The JSON object in the body; an empty body is an empty object. Raises HttpError 400."""
    try:
        message = json.loads(await exchange.body.read_all(MAX_REQUEST_BYTES) or b"{}")
    except (ValueError, RecursionError) as error:
        raise HttpError(400, f"the request is not valid JSON: {error}") from error
    if not isinstance(message, dict):
        raise HttpError(400, "the request must be a JSON object")
    return message
