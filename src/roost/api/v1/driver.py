"""Who drives a sandbox's screen. These routes take no key: a link's token is the credential."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field

from roost.api.access import Use
from roost.api.live import EventStreamResponse, Told
from roost.api.services import Services
from roost.api.v1.links import websocket_url
from roost.api.v1.models import Asked, DriverModel, Given, Taken, Text, Timestamp
from roost.api.v1.rendering import driver, timestamp
from roost.api.v1.responses import errors, errors_beside_stream
from roost.control.people.hands import Seat
from roost.control.people.live import Beat
from roost.domain.access import link_holder
from roost.domain.errors import RoostError
from roost.domain.lifecycle import State
from roost.domain.link import LinkMode
from roost.domain.sandbox import Sandbox

open_router = APIRouter(prefix="/v1/driver", tags=["links"])


class TokenQuery(Asked):
    token: Annotated[Text, Field(description="A link's.")]


class GiveBody(Taken):
    token: Annotated[Text, Field(description="A link's.")]


class TakeBody(GiveBody):
    force: Annotated[bool, Field(description="Also from another person.")] = False


class SeatModel(Given):
    """What the holder of a link may know."""

    sandbox: str
    sandbox_name: str | None
    state: State
    mode: LinkMode
    label: str
    expires_at: Timestamp
    driver: Annotated[DriverModel | None, Field(description="The person who drives; null: the agent does.")]
    drives: Annotated[bool, Field(description="It is the holder of this link who drives.")]
    websocket: Annotated[str, Field(description="The screen as RFB over WebSocket.")]


@open_router.get("", operation_id="getDriver", summary="What a link opens, and who drives", responses=errors(410))
async def get(use: Use, query: Annotated[TokenQuery, Query()]) -> SeatModel:
    return _seat(await use.hands.look(query.token), query.token, use)


@open_router.get(
    "/live",
    status_code=200,
    operation_id="followDriver",
    summary="The same, as it changes",
    response_class=EventStreamResponse,
    responses={
        200: {
            "description": "Server-sent events: `seat`, at once and with every change. Ends when the link does.",
            "content": {"text/event-stream": {"schema": {"type": "string"}}},
        },
        **errors_beside_stream(410),
    },
)
async def live(use: Use, query: Annotated[TokenQuery, Query()]) -> Response:
    seat = await use.hands.look(query.token)
    changes = use.overview.follow(link_holder(seat.link.team, seat.link.sandbox, seat.link.who), None)
    return EventStreamResponse(seats(changes, await use.hands.look(query.token), query.token, use))


async def seats(changes: AsyncIterator[Sandbox | Beat], seat: Seat, token: str, use: Services) -> AsyncIterator[Told]:
    """What the holder of the link may know, as it is and as it becomes. The changes began before the seat was looked at."""
    yield None, "seat", _seat(seat, token, use).model_dump_json()
    async for change in changes:
        if isinstance(change, Sandbox) and change.id == seat.sandbox.id:
            try:
                seat = await use.hands.look(token)
            except RoostError:
                return  # whoever asks again is told why
            yield None, "seat", _seat(seat, token, use).model_dump_json()


def _seat(seat: Seat, token: str, use: Services) -> SeatModel:
    record, link = seat.sandbox, seat.link
    assert link.mode is not None, "only a link to a screen has a seat"
    return SeatModel(
        sandbox=record.id,
        sandbox_name=record.name,
        state=record.state,
        mode=link.mode,
        label=link.label,
        expires_at=timestamp(link.expires_at),
        driver=driver(seat.driver),
        drives=seat.driver is not None and seat.driver.link == link.id,
        websocket=websocket_url(use.about, record.id, token),
    )


@open_router.post("/take", operation_id="takeOver", summary="Take over", responses=errors(403, 409, 410, 413))
async def take(use: Use, body: TakeBody) -> DriverModel:
    """From now on the agent's input is refused. The seat is given up ten seconds after the last screen opened by this link is
    closed."""
    took = driver(await use.hands.take(body.token, force=body.force))
    assert took is not None, "who took over drives"
    return took


@open_router.post("/give", status_code=204, operation_id="handBack", summary="Hand back", responses=errors(410, 413))
async def give(use: Use, body: GiveBody) -> Response:
    """The agent drives again. One who does not drive changes nothing."""
    await use.hands.give(body.token)
    return Response(status_code=204)
