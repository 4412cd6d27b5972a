"""The caller's team; and whether the server serves."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from roost.api.access import Caller, KeyedRoute, credential_of

open_router = APIRouter(tags=["server"])
router = APIRouter(prefix="/teams", tags=["teams"], route_class=KeyedRoute)


@open_router.get("/health", status_code=204, operation_id="getHealth")
async def health() -> Response:
    """Needs no key."""
    return Response(status_code=204)


@router.get("", operation_id="listTeams")
async def list_(caller: Caller, request: Request) -> JSONResponse:
    """A key stands for one team. The key itself is the caller's own: others are kept as digests only."""
    team = {"teamID": caller.team, "name": caller.team, "apiKey": credential_of(request), "isDefault": True}
    return JSONResponse([team])
