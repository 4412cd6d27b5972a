"""Templates: what sandboxes can be made from."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from roost.api.access import Caller, KeyedRoute, Use
from roost.api.v1 import build_models, models, rendering
from roost.api.v1.responses import errors

router = APIRouter(prefix="/v1/templates", tags=["templates"], route_class=KeyedRoute)

Ref = Annotated[str, Path(description="A template's name, `name:tag`, or id.")]


@router.get("", operation_id="listTemplates", summary="List templates", responses=errors())
async def list_(caller: Caller, use: Use) -> models.TemplateList:
    found, usage = await use.templates.list(caller), await use.templates.usage(caller)
    missing = [build for build in use.templates.being_made() if build.template not in {record.name for record in found}]
    return models.TemplateList(
        templates=[rendering.template(record, usage) for record in found],
        being_made=[rendering.build(build) for build in missing],
    )


@router.get("/{ref}", operation_id="getTemplate", summary="Get a template", responses=errors(404))
async def get(caller: Caller, use: Use, ref: Ref) -> models.TemplateModel:
    return rendering.template(await use.templates.get(caller, ref), await use.templates.usage(caller))


@router.delete("/{ref}", operation_id="deleteTemplate", summary="Delete a template", responses=errors(404))
async def delete(caller: Caller, use: Use, ref: Ref) -> build_models.RemovedTemplates:
    """One tag, or by name alone all of them. Sandboxes that were made from it live on."""
    usage = await use.templates.usage(caller)
    removed = await use.template_tags.remove(caller, ref)
    return build_models.RemovedTemplates(removed=[rendering.template(record, usage) for record in removed])


@router.post(
    "/{ref}/tags", operation_id="tagTemplate", summary="Give a template another tag", status_code=201, responses=errors(404)
)
async def tag(caller: Caller, use: Use, ref: Ref, body: build_models.TagBody) -> models.TemplateModel:
    """A tag that there is names this one from now on: so one goes back to an older build."""
    made = await use.template_tags.tag(caller, ref, body.tag)
    return rendering.template(made, await use.templates.usage(caller))


@router.post("/prune", operation_id="pruneLayers", summary="Delete layers that no build needs now", responses=errors())
async def prune(caller: Caller, use: Use, body: build_models.PruneBody) -> build_models.PruneAnswer:
    """What templates and sandboxes need is not touched; the next build runs its steps again."""
    return build_models.PruneAnswer(layers=len(await use.layers.prune(caller, body.unused_s)))
