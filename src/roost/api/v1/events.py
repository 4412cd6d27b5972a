"""Events: those that were, and those that come, live."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Header, Query, Response

from roost.api.access import Caller, KeyedRoute, Use
from roost.api.live import EventStreamResponse
from roost.api.v1 import models, rendering
from roost.api.v1.responses import errors, errors_beside_stream
from roost.contracts.store import EventQuery
from roost.domain.errors import Invalid
from roost.domain.ids import SandboxId

router = APIRouter(prefix="/v1/events", tags=["events"], route_class=KeyedRoute)


@router.get("", operation_id="listEvents", summary="What happened", responses=errors())
async def list_(caller: Caller, use: Use, query: Annotated[models.EventQueryModel, Query()]) -> models.EventList:
    """Oldest first, unless `newest_first`."""
    wanted = EventQuery(
        sandbox=SandboxId(query.sandbox) if query.sandbox is not None else None,
        kinds=tuple(query.kind),
        after=query.after,
        before=query.before,
        newest_first=query.newest_first,
        limit=query.limit,
    )
    found = await use.events.list(caller, wanted)
    return models.EventList(events=[rendering.event(happened) for happened in found])


@router.get(
    "/stream",
    status_code=200,
    operation_id="followEvents",
    summary="What happens, as it happens",
    response_class=EventStreamResponse,
    responses={
        200: {
            "description": "Server-sent events: `id` is the sequence, `event` the kind, `data` the event.",
            "content": {"text/event-stream": {"schema": {"type": "string"}}},
        },
        **errors_beside_stream(),
    },
)
async def follow(
    caller: Caller,
    use: Use,
    query: Annotated[models.FollowQuery, Query()],
    last_event_id: Annotated[str | None, Header(description="Goes on behind this one, without a gap.")] = None,
) -> Response:
    """Server-sent events. A comment comes every 15 seconds when nothing happens."""
    after = query.after if last_event_id is None else sequence_of(last_event_id)
    wanted = EventQuery(
        sandbox=SandboxId(query.sandbox) if query.sandbox is not None else None,
        kinds=tuple(query.kind),
        after=await use.events.newest() if after is None else after,
    )
    happening = use.events.follow(caller, wanted)
    return EventStreamResponse(
        ((happened.sequence, happened.kind, rendering.event(happened).model_dump_json()) async for happened in happening),
        until=partial(use.keys.wait_until_revoked, caller),
    )


def sequence_of(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise Invalid("invalid", f"Last-Event-ID {text!r} is no sequence of an event.", field="Last-Event-ID")
    return int(text)
