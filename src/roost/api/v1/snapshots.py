"""Snapshots: find and delete. Taking one is something a sandbox does: see `moves`."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from roost.api.access import Caller, KeyedRoute, Use
from roost.api.v1 import models, rendering
from roost.api.v1.responses import errors

router = APIRouter(prefix="/v1/snapshots", tags=["snapshots"], route_class=KeyedRoute)

Ref = Annotated[str, Path(description="A snapshot's id or name.")]


@router.get("", operation_id="listSnapshots", summary="List snapshots, newest first", responses=errors(404))
async def list_(caller: Caller, use: Use, query: Annotated[models.SnapshotQuery, Query()]) -> models.SnapshotPage:
    page = await use.snapshots.list(caller.team, sandbox=query.sandbox, limit=query.limit, cursor=query.cursor)
    return models.SnapshotPage(snapshots=[rendering.snapshot(record) for record in page.items], next_cursor=page.next_cursor)


@router.get("/{ref}", operation_id="getSnapshot", summary="Get a snapshot", responses=errors(404))
async def get(caller: Caller, use: Use, ref: Ref) -> models.SnapshotModel:
    return rendering.snapshot(await use.snapshots.get(caller.team, ref))


@router.delete("/{ref}", status_code=204, operation_id="deleteSnapshot", summary="Delete a snapshot", responses=errors(404, 409))
async def delete(caller: Caller, use: Use, ref: Ref) -> Response:
    """Sandboxes that were made from it do not need it. One that sleeps in it does: then it is refused."""
    await use.snapshots.delete(caller.team, ref)
    return Response(status_code=204)
