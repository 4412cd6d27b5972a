"""Who drives a sandbox's screen. These routes take no key: a link's token is the credential."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field

from roost.api.access import Use
from roost.api.v1.links import websocket_url
from roost.api.v1.models import Asked, DriverModel, Given, Taken, Text, Timestamp
from roost.api.v1.rendering import driver, timestamp
from roost.api.v1.responses import errors
from roost.domain.lifecycle import State
from roost.domain.link import LinkMode

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
    seat = await use.drivers.look(query.token)
    record, link = seat.sandbox, seat.link
    return SeatModel(
        sandbox=record.id,
        sandbox_name=record.name,
        state=record.state,
        mode=link.mode,
        label=link.label,
        expires_at=timestamp(link.expires_at),
        driver=driver(seat.driver),
        drives=seat.driver is not None and seat.driver.link == link.id,
        websocket=websocket_url(use.about, record.id, query.token),
    )


@open_router.post("/take", operation_id="takeOver", summary="Take over", responses=errors(403, 409, 410, 413))
async def take(use: Use, body: TakeBody) -> DriverModel:
    """From now on the agent's input is refused. The seat is given up ten seconds after the last screen opened by this link is
    closed."""
    took = driver(await use.drivers.take(body.token, force=body.force))
    assert took is not None, "who took over drives"
    return took


@open_router.post("/give", status_code=204, operation_id="handBack", summary="Hand back", responses=errors(410, 413))
async def give(use: Use, body: GiveBody) -> Response:
    """The agent drives again. One who does not drive changes nothing."""
    await use.drivers.give(body.token)
    return Response(status_code=204)
