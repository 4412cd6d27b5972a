"""What sandboxes used: samples of every few seconds, kept for a day."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse

from roost.api.access import Caller, KeyedRoute, Use
from roost.api.e2b import rendering
from roost.api.e2b.models import Ref
from roost.api.e2b.references import living
from roost.domain.errors import Invalid, NotFound
from roost.domain.node import Usage
from roost.domain.sandbox import Sandbox

router = APIRouter(prefix="/sandboxes", tags=["metrics"], route_class=KeyedRoute)

MOST_AT_ONCE = 100
_A_SAMPLE_S = 30.0  # far enough back to hold the sample before
_ALWAYS = 1e11

UnixTime = Annotated[int | None, Query(ge=0, le=10**11)]


@router.get("/metrics", operation_id="getSandboxesMetrics")
async def of_many(caller: Caller, use: Use, sandbox_ids: str = "") -> JSONResponse:
    """The newest sample of each. Those that are not there, or have none yet, are left out."""
    wanted = [each for each in sandbox_ids.split(",") if each]
    if len(wanted) > MOST_AT_ONCE:
        raise Invalid("too_many", f"There are {len(wanted)} ids; {MOST_AT_ONCE} at once are the most.", count=len(wanted))
    found: dict[str, Any] = {}
    for ref in wanted:
        try:
            record = await living(caller, use, ref)
        except NotFound:
            continue
        samples = await use.sandboxes.latest_usage(caller, record.id)
        if samples:
            found[record.id] = _rendered(record, samples)[-1]
    return JSONResponse({"sandboxes": found})


@router.get("/{ref}/metrics", operation_id="getSandboxMetrics")
async def of_one(caller: Caller, use: Use, ref: Ref, start: UnixTime = None, end: UnixTime = None) -> JSONResponse:
    """The samples from `start` to `end`, in unix seconds, oldest first."""
    first, last = start or 0, _ALWAYS if end is None else end
    if last < first:
        raise Invalid("window_invalid", f"The end, {last:g}, is before the start, {first:g}.")
    record = await living(caller, use, ref)
    samples = await use.sandboxes.usage(caller, record.id, first - _A_SAMPLE_S, last)
    shown = _rendered(record, samples)
    return JSONResponse([each for each, sample in zip(shown, samples, strict=True) if sample.at >= first])


def _rendered(record: Sandbox, samples: Sequence[Usage]) -> list[dict[str, Any]]:
    before = [None, *samples]
    return [rendering.metric(record, sample, earlier) for earlier, sample in zip(before, samples, strict=False)]
