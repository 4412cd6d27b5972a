"""For pages that show everything: the fleet in one call, and one stream of all that changes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated

from anyio import sleep_forever
from fastapi import APIRouter, Header, Query, Response
from pydantic import Field

from roost.api.access import Caller, KeyedRoute, Use
from roost.api.live import EventStreamResponse, Told, Until
from roost.api.services import About
from roost.api.v1 import rendering
from roost.api.v1.events import sequence_of
from roost.api.v1.models import ActivityModel, Asked, Given, SandboxModel, Timestamp, Whole
from roost.api.v1.responses import errors, errors_beside_stream
from roost.contracts.store import EventQuery
from roost.control.people.live import Beat
from roost.control.people.overview import Member
from roost.domain.events import Event
from roost.domain.sandbox import Sandbox

router = APIRouter(prefix="/v1", tags=["fleet"], route_class=KeyedRoute)


class FleetMember(Given):
    """A living sandbox, why it is awake, and its last readings, oldest first (every 5 seconds while it runs)."""

    sandbox: SandboxModel
    activity: ActivityModel
    cpu: Annotated[list[float], Field(description="Shares of one core, 30 at most.")]
    memory: Annotated[list[int], Field(description="Bytes, at the same moments.")]
    at: Annotated[Timestamp, Field(description="Of the last reading; without one, of this answer.")]


class FleetAnswer(Given):
    sandboxes: list[FleetMember]
    open_questions: Annotated[int, Field(description="How many wait for a person.")]
    cursor: Annotated[int, Field(description="Follow `/v1/live?after=` from here: nothing is missed.")]


class LiveQuery(Asked):
    after: Annotated[Whole | None, Field(ge=0, description="The fleet's `cursor`; left out: only what comes.")] = None


@router.get("/fleet", operation_id="getFleet", summary="All living sandboxes at once", responses=errors())
async def fleet(caller: Caller, use: Use) -> FleetAnswer:
    view = await use.overview.look(caller)
    return FleetAnswer(
        sandboxes=[_member(member, view.at, use.about) for member in view.members],
        open_questions=await use.questions.count_open(caller),
        cursor=view.cursor,
    )


@router.get(
    "/live",
    status_code=200,
    operation_id="followLive",
    summary="All that changes, as it changes",
    response_class=EventStreamResponse,
    responses={
        200: {
            "description": "Server-sent events. Events as in `/v1/events/stream`; `sandbox`: a record that changed, as"
            ' SandboxModel; `pulse`: `{"p": {id: [share of a core, bytes of memory]}}`, every 10 seconds at most, of those'
            ' sandboxes alone whose figures changed noticeably, and `"d": {id: true or false}` of those that began to doze, or no'
            " longer do.",
            "content": {"text/event-stream": {"schema": {"type": "string"}}},
        },
        **errors_beside_stream(),
    },
)
async def live(
    caller: Caller,
    use: Use,
    query: Annotated[LiveQuery, Query()],
    last_event_id: Annotated[str | None, Header(description="Goes on behind this one, without a gap.")] = None,
) -> Response:
    """One stream for a page. A fleet in which nothing happens costs a comment every 15 seconds."""
    after = query.after if last_event_id is None else sequence_of(last_event_id)
    wanted = EventQuery(after=await use.events.newest() if after is None else after)
    happening, changing = use.events.follow(caller, wanted), use.overview.follow(caller, after)
    return stream(happening, changing, use.about, until=partial(use.keys.wait_until_revoked, caller))


def stream(
    happening: AsyncIterator[Event], changing: AsyncIterator[Sandbox | Beat], about: About, *, until: Until = sleep_forever
) -> EventStreamResponse:
    return EventStreamResponse(_events(happening), _changes(changing, about), until=until)


async def _events(happening: AsyncIterator[Event]) -> AsyncIterator[Told]:
    async for event in happening:
        yield event.sequence, event.kind, rendering.event(event).model_dump_json()


async def _changes(changing: AsyncIterator[Sandbox | Beat], about: About) -> AsyncIterator[Told]:
    async for change in changing:
        if isinstance(change, Beat):
            figures = {
                sandbox: [round(reading.cpu_share, 3), reading.memory_bytes] for sandbox, reading in change.readings.items()
            }
            told = {"p": figures} | ({"d": dict(change.dozing)} if change.dozing else {})
            yield None, "pulse", json.dumps(told, separators=(",", ":"))
        else:
            yield None, "sandbox", rendering.sandbox(change, about).model_dump_json()


def _member(member: Member, now: float, about: About) -> FleetMember:
    return FleetMember(
        sandbox=rendering.sandbox(member.sandbox, about),
        activity=rendering.activity(member.activity),
        cpu=[round(reading.cpu_share, 3) for reading in member.recent],
        memory=[reading.memory_bytes for reading in member.recent],
        at=rendering.timestamp(member.recent[-1].at if member.recent else now),
    )
