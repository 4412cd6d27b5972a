"""API keys of the caller's team."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response

from roost.api.access import Caller, KeyedRoute, KeyHolder, Use
from roost.api.v1 import models, rendering
from roost.api.v1.responses import errors
from roost.domain.access import Scope

router = APIRouter(prefix="/v1/keys", tags=["keys"], route_class=KeyedRoute)


@router.post("", status_code=201, operation_id="createKey", summary="Make an API key", responses=errors(403, 404, 413))
async def create(caller: KeyHolder, use: Use, body: models.KeyBody) -> models.NewKeyModel:
    """The secret is in this answer and nowhere else. A browser's session is not enough: the request must carry a key itself.
    Nobody gives more than they have: a key of an operator makes all kinds, one with the scope `full` all but those."""
    record, secret = await use.keys.create(caller, body.name, Scope.parse(body.scope))
    return models.NewKeyModel(**rendering.key(record).model_dump(), secret=secret)


@router.get("", operation_id="listKeys", summary="List API keys", responses=errors())
async def list_(caller: Caller, use: Use) -> models.KeyList:
    return models.KeyList(keys=[rendering.key(record) for record in await use.keys.list(caller)])


@router.delete("/{id}", status_code=204, operation_id="revokeKey", summary="Revoke an API key", responses=errors(404, 409))
async def revoke(caller: Caller, use: Use, id: Annotated[str, Path(description="A key's id.")]) -> Response:
    """From now on it opens nothing. The last key of an operator stays."""
    await use.keys.revoke(caller, id)
    return Response(status_code=204)
