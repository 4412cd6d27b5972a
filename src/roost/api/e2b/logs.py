"""A sandbox's log: what happened to it. What its programs print is theirs, and in its files."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse

from roost.api.access import Caller, KeyedRoute, Use
from roost.api.e2b import rendering
from roost.api.e2b.models import Ref
from roost.contracts.store import EventQuery
from roost.domain.ids import SandboxId

router = APIRouter(tags=["logs"], route_class=KeyedRoute)

_PAGE = 100
_LEVELS = ("debug", "info", "warn", "error")

Limit = Annotated[int, Query(ge=0, le=1000)]
UnixMs = Annotated[int | None, Query(ge=0, le=10**14)]
Level = Annotated[Literal["debug", "info", "warn", "error"] | None, Query()]


@router.get("/sandboxes/{ref}/logs", operation_id="getSandboxLogs")
async def of_sandbox(caller: Caller, use: Use, ref: Ref, start: UnixMs = None, limit: Limit = 1000) -> JSONResponse:
    """The oldest `limit` since `start`, in unix milliseconds. A dead sandbox has a log too."""
    entries = await _entries(caller, use, ref, since_ms=start)
    entries = entries[:limit]
    return JSONResponse({"logs": [rendering.log_line(entry) for entry in entries], "logEntries": entries})


@router.get("/v2/sandboxes/{ref}/logs", operation_id="getSandboxLogsV2")
async def of_sandbox_v2(
    caller: Caller,
    use: Use,
    ref: Ref,
    cursor: UnixMs = None,
    limit: Limit = 1000,
    direction: Literal["forward", "backward"] = "forward",
    level: Level = None,
    search: str = "",
) -> JSONResponse:
    """From `cursor`, in unix milliseconds, on or back; of `level` and worse; that hold `search`."""
    onward = direction == "forward"
    entries = await _entries(caller, use, ref, since_ms=cursor if onward else None, until_ms=None if onward else cursor)
    least = _LEVELS.index(level) if level else 0
    found = [each for each in entries if _LEVELS.index(each["level"]) >= least and search.lower() in each["message"].lower()]
    return JSONResponse({"logs": (found if onward else found[::-1])[:limit]})


async def _entries(
    caller: Caller, use: Use, ref: str, *, since_ms: int | None = None, until_ms: int | None = None
) -> list[dict[str, Any]]:
    record = await use.sandboxes.get(caller, ref)
    entries: list[dict[str, Any]] = []
    after = 0
    while True:
        query = EventQuery(sandbox=SandboxId(record.id), after=after, limit=_PAGE)
        events = await use.events.list(caller, query)
        entries += [
            rendering.log_entry(event)
            for event in events
            if (since_ms is None or event.at * 1000 >= since_ms) and (until_ms is None or event.at * 1000 <= until_ms)
        ]
        if len(events) < _PAGE:
            return entries
        after = events[-1].sequence
