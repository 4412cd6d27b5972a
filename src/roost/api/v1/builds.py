"""Builds of templates: begin one, look at it, follow its log, cancel it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Header, Path, Query, Response

from roost.api.access import Caller, KeyedRoute, Use
from roost.api.live import EventStreamResponse, Told
from roost.api.services import Services
from roost.api.v1 import build_models as models
from roost.api.v1.events import sequence_of
from roost.api.v1.responses import errors
from roost.control.builds.builds import BuildRequest
from roost.domain.access import Principal
from roost.domain.sandbox import Size, SizeChange

router = APIRouter(prefix="/v1/builds", tags=["builds"], route_class=KeyedRoute)

Id = Annotated[str, Path(description="A build's id.")]


@router.post("", operation_id="createBuild", summary="Build a template", status_code=201, responses=errors(404, 409, 413, 429))
async def create(caller: Caller, use: Use, body: models.BuildBody) -> models.TemplateBuildModel:
    """It waits for its turn, and runs on when the caller goes away. Files of its COPY steps have to be uploaded before."""
    asked = SizeChange(**body.size.model_dump()) if body.size else SizeChange()
    request = BuildRequest(
        name=body.name,
        definition=models.definition(body.definition),
        tag=body.tag,
        size=asked.of(Size()),
        description=body.description,
        uses_cache=body.cache,
        secrets=body.secrets,
    )
    return models.build(await use.builds.begin(caller, request))


@router.get("", operation_id="listBuilds", summary="List builds", responses=errors())
async def list_(caller: Caller, use: Use, query: Annotated[models.BuildQuery, Query()]) -> models.BuildList:
    """Newest first. Of each template the last twenty are kept."""
    found = await use.builds.list(caller, query.template, query.limit)
    return models.BuildList(builds=[models.build(record) for record in found])


@router.get("/{id}", operation_id="getBuild", summary="Get a build", responses=errors(404))
async def get(caller: Caller, use: Use, id: Id) -> models.TemplateBuildModel:
    return models.build(await use.builds.get(caller, id))


@router.post("/{id}/cancel", operation_id="cancelBuild", summary="Cancel a build", responses=errors(404, 409))
async def cancel(caller: Caller, use: Use, id: Id) -> models.TemplateBuildModel:
    """What it has done so far is kept: the same build goes on from there."""
    return models.build(await use.builds.cancel(caller, id))


@router.get(
    "/{id}/logs",
    operation_id="readBuildLog",
    summary="What a build says",
    response_model=models.LogPage,
    responses={
        200: {
            "description": "With `follow`, server-sent events: `id` is the number of the next line, `event` is `line`, and `end`"
            " with the build at last.",
            "content": {"text/event-stream": {"schema": {"type": "string"}}},
        },
        **errors(404),
    },
)
async def logs(
    caller: Caller,
    use: Use,
    id: Id,
    query: Annotated[models.LogQuery, Query()],
    last_event_id: Annotated[str | None, Header(description="Goes on behind this one, without a gap.")] = None,
) -> models.LogPage | Response:
    after = query.after if last_event_id is None else sequence_of(last_event_id)
    if query.follow:
        build = await use.builds.get(caller, id)  # refused now, not in the middle of a stream
        return EventStreamResponse(_told(use, caller, build.id, after), until=partial(use.keys.wait_until_revoked, caller))
    following, lines = await use.builds.read_log(caller, id, after, query.limit)
    return models.LogPage(lines=[models.line(said) for said in lines], next=following)


async def _told(use: Services, caller: Principal, id: str, after: int) -> AsyncIterator[Told]:
    async for following, lines in use.builds.follow_log(caller, id, after):
        for place, said in enumerate(lines):
            yield following - len(lines) + place + 1, "line", models.line(said).model_dump_json()
    yield None, "end", models.build(await use.builds.get(caller, id)).model_dump_json()
