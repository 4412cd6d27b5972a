"""Templates: what sandboxes can be made from."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from roost.api.access import Caller, KeyedRoute, Use
from roost.api.v1 import models, rendering
from roost.api.v1.responses import errors

router = APIRouter(prefix="/v1/templates", tags=["templates"], route_class=KeyedRoute)


@router.get("", operation_id="listTemplates", summary="List templates", responses=errors())
async def list_(caller: Caller, use: Use) -> models.TemplateList:
    found, usage = await use.templates.list(caller), await use.templates.usage(caller)
    missing = [build for build in use.templates.being_made() if build.template not in {record.name for record in found}]
    return models.TemplateList(
        templates=[rendering.template(record, usage) for record in found],
        being_made=[rendering.build(build) for build in missing],
    )


@router.get("/{ref}", operation_id="getTemplate", summary="Get a template", responses=errors(404))
async def get(
    caller: Caller, use: Use, ref: Annotated[str, Path(description="A template's name or id.")]
) -> models.TemplateModel:
    return rendering.template(await use.templates.get(caller, ref), await use.templates.usage(caller))
