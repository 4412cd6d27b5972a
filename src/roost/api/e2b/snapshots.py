"""Snapshots that callers keep. To E2B's clients they are templates: deleting one is in `templates`."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse

from roost.api.access import Caller, KeyedRoute, Use
from roost.api.e2b import names, rendering
from roost.api.e2b.sandboxes import NEXT_PAGE
from roost.domain.errors import NotFound
from roost.domain.ids import is_id

router = APIRouter(prefix="/snapshots", tags=["snapshots"], route_class=KeyedRoute)


@router.get("", operation_id="listSnapshots")
async def list_(
    caller: Caller,
    use: Use,
    sandbox: Annotated[str | None, Query(alias="sandboxID")] = None,
    name: str | None = None,
    limit: int = 100,
    next_token: Annotated[str | None, Query(alias="nextToken")] = None,
) -> JSONResponse:
    """Newest first. Of an unknown sandbox, or by an unknown name or id, there are none."""
    try:
        ours = names.parse(name, caller.team).ours if name else None
        if ours and is_id(ours):
            return JSONResponse([rendering.snapshot(await use.snapshots.get(caller, ours))])
        page = await use.snapshots.list(
            caller, sandbox=sandbox or None, name=ours, kept_only=True, limit=limit, cursor=next_token or None
        )
    except NotFound:
        return JSONResponse([])
    headers = {NEXT_PAGE: page.next_cursor} if page.next_cursor else None
    return JSONResponse([rendering.snapshot(record) for record in page.items], headers=headers)
