"""API keys of the caller's team."""

from __future__ import annotations

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse

from roost.api.access import Caller, KeyedRoute, KeyHolder, Use
from roost.api.e2b import models, rendering
from roost.api.e2b.models import Ref

router = APIRouter(prefix="/api-keys", tags=["keys"], route_class=KeyedRoute)


@router.get("", operation_id="listApiKeys")
async def list_(caller: Caller, use: Use) -> JSONResponse:
    return JSONResponse([rendering.key(record) for record in await use.keys.list(caller)])


@router.post("", status_code=201, operation_id="createApiKey")
async def create(caller: KeyHolder, use: Use, body: models.E2bKeyBody) -> JSONResponse:
    """The key is in this answer and nowhere else."""
    record, secret = await use.keys.create(caller, body.name)
    return JSONResponse(rendering.key(record, secret), 201)


@router.delete("/{ref}", status_code=204, operation_id="deleteApiKey")
async def revoke(caller: Caller, use: Use, ref: Ref) -> Response:
    await use.keys.revoke(caller, ref)
    return Response(status_code=204)
