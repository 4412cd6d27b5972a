"""What opens a sandbox: given by this call, and to whoever makes one. No list and no other answer has it."""

from __future__ import annotations

from fastapi import APIRouter

from roost.api.access import Caller, KeyedRoute, Use
from roost.api.v1 import models, rendering
from roost.api.v1.responses import errors
from roost.api.v1.sandboxes import Ref

router = APIRouter(prefix="/v1/sandboxes/{ref}/token", tags=["sandboxes"], route_class=KeyedRoute)


@router.post("", operation_id="getTokens", summary="Get the tokens that open it", responses=errors(404, 410))
async def get(caller: Caller, use: Use, ref: Ref) -> models.EnteredModel:
    """`access_token` opens the agent inside, in the header `X-Access-Token`; `traffic_token` its ports while they are not public,
    in `E2B-Traffic-Access-Token`. They stay the same until they are rotated; a key that is revoked takes those it was given
    along."""
    return rendering.entered(await use.tokens.give(caller, ref), use.about)


@router.post("/rotate", operation_id="rotateTokens", summary="Change the tokens that open it", responses=errors(404, 410))
async def rotate(caller: Caller, use: Use, ref: Ref) -> models.EnteredModel:
    """The new ones are in the answer. The old ones, and URLs that were signed with them, open nothing from now on, and what they
    opened is cut. A sandbox that sleeps stays asleep."""
    return rendering.entered(await use.tokens.rotate(caller, ref), use.about)
