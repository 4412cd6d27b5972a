"""Templates: what there is. `builds` makes them."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Query, Response
from fastapi.responses import JSONResponse

from roost.api.access import Caller, KeyedRoute, Use
from roost.api.e2b import names, rendering
from roost.api.e2b.definitions import e2b_tag, our_tag
from roost.api.e2b.models import Ref
from roost.api.v1.rendering import timestamp
from roost.control.sandboxes.checks import check_limit
from roost.domain.errors import Invalid, SnapshotNotFound, TemplateNotFound
from roost.domain.snapshot import Snapshot
from roost.domain.template import Template

router = APIRouter(tags=["templates"], route_class=KeyedRoute)


@router.get("/templates", operation_id="listTemplates")
async def list_(caller: Caller, use: Use) -> JSONResponse:
    return JSONResponse([rendering.template(record) for record in await use.templates.list(caller)])


@router.get("/default-templates", operation_id="listDefaultTemplates")
async def list_built_in(caller: Caller, use: Use) -> JSONResponse:
    found = await use.templates.list(caller)
    return JSONResponse([rendering.template(record) for record in found if record.team is None])


@router.get("/v2/templates", operation_id="listTemplatesV2")
async def list_v2(
    caller: Caller, use: Use, limit: int = 100, next_token: Annotated[str | None, Query(alias="nextToken")] = None
) -> JSONResponse:
    """By name. The token is the name of the last one on the page before."""
    check_limit(limit)
    found = [record for record in await use.templates.list(caller) if record.name > (next_token or "")]
    headers = {"X-Next-Token": found[limit - 1].name} if len(found) > limit else None
    return JSONResponse([rendering.template(record) for record in found[:limit]], headers=headers)


@router.get("/templates/aliases/{alias}", operation_id="getTemplateByAlias")
async def by_alias(caller: Caller, use: Use, alias: Ref) -> JSONResponse:
    found = await _find(caller, use, alias)
    if isinstance(found, Template):
        return JSONResponse({"templateID": found.id, "public": found.team is None})
    return JSONResponse({"templateID": found.id, "public": False})


@router.get("/templates/{ref}/tags", operation_id="listTemplateTags")
async def tags(caller: Caller, use: Use, ref: Ref) -> JSONResponse:
    found = await _find(caller, use, ref, any_tag=True)
    if isinstance(found, Template):
        every = [each for each in await use.templates.list(caller) if (each.team, each.name) == (found.team, found.name)]
        return JSONResponse([_tag(e2b_tag(each.tag), each.snapshot, each.created_at) for each in every])
    return JSONResponse([_tag(names.from_ours(found.name or "").tag, found.id, found.created_at)])


@router.get("/templates/{ref}", operation_id="getTemplate")
async def get(caller: Caller, use: Use, ref: Ref) -> JSONResponse:
    name = names.parse(ref, caller.team)
    return JSONResponse(rendering.template_with_builds(await use.templates.get(caller, name.alias)))


@router.delete("/templates/{ref}", status_code=204, operation_id="deleteTemplate")
async def delete(caller: Caller, use: Use, ref: Ref) -> Response:
    """Deletes a template of the team's with all its tags, or a snapshot. Templates that came with the server stay."""
    found = await _find(caller, use, ref)
    if isinstance(found, Template):
        await use.template_tags.remove(caller, found.name)
    else:
        await use.snapshots.delete(caller, found.id)
    return Response(status_code=204)


def _tag(tag: str, snapshot: str, created_at: float) -> dict[str, str]:
    return {"tag": tag, "buildID": rendering.build_id(snapshot), "createdAt": timestamp(created_at)}


async def _find(caller: Caller, use: Use, ref: str, *, any_tag: bool = False) -> Template | Snapshot:
    """Raises TemplateNotFound."""
    name = names.parse(ref, caller.team)
    if not name.alias:
        raise Invalid("name_invalid", f"{ref!r} is no template's name.", name=ref)
    with suppress(TemplateNotFound):
        return await use.templates.get(caller, f"{name.alias}:{our_tag(name.tag)}" if ":" in ref else name.alias)
    if any_tag:
        for each in await use.templates.list(caller):
            if name.alias in (each.id, each.name):
                return each
    try:
        return await use.snapshots.get(caller, name.ours)
    except SnapshotNotFound as error:
        raise TemplateNotFound(ref) from error
