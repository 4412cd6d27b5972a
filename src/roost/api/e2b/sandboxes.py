"""Sandboxes: create, find, list, kill."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl, unquote

from fastapi import APIRouter, Header, Query, Response
from fastapi.responses import JSONResponse

from roost.api.access import Caller, KeyedRoute, Use
from roost.api.e2b import deadlines, models, names, network, rendering
from roost.api.e2b.errors import not_there
from roost.api.e2b.models import Ref
from roost.api.e2b.references import living
from roost.control.sandboxes.requests import CreateSandbox, SandboxFilter
from roost.domain.errors import Conflict, Invalid, NotFound, SandboxDead
from roost.domain.lifecycle import State
from roost.domain.sandbox import OnTimeout, SleepPolicy

router = APIRouter(tags=["sandboxes"], route_class=KeyedRoute)

NEXT_PAGE = "X-Next-Token"
_LISTED: dict[str, tuple[State, ...]] = {
    rendering.RUNNING: (State.RUNNING, State.SNAPSHOTTING),
    rendering.PAUSED: (State.PAUSING, State.PAUSED, State.RESUMING),
}
IdempotencyKey = Annotated[str | None, Header(pattern="^[A-Za-z0-9-]{1,255}$")]


@router.post("/v2/sandboxes", status_code=201, operation_id="createSandboxV2")
async def create(caller: Caller, use: Use, body: models.E2bCreateBody, idempotency_key: IdempotencyKey = None) -> JSONResponse:
    return await _create(caller, use, body, deadlines.DEFAULT_S, idempotency_key)


@router.post("/sandboxes", status_code=201, operation_id="createSandbox")
async def create_v1(caller: Caller, use: Use, body: models.E2bCreateBody, idempotency_key: IdempotencyKey = None) -> JSONResponse:
    return await _create(caller, use, body, deadlines.DEFAULT_V1_S, idempotency_key)


async def _create(
    caller: Caller, use: Use, body: models.E2bCreateBody, default_s: float, idempotency_key: str | None
) -> JSONResponse:
    if body.volumeMounts:
        raise not_there("Volumes")
    if body.iam and body.iam.get("tokens"):
        raise not_there("Identity tokens")
    timeout_s = deadlines.asked_for(body.timeout, default_s)
    request = CreateSandbox(
        template=names.parse(body.templateID, caller.team).ours,
        metadata=body.metadata or {},
        env=body.envVars or {},
        policy=deadlines.lasting(_policy(body), timeout_s),
        egress=network.egress_of(body.network, body.allow_internet_access),
        ingress=network.ingress_of(body.network),
        idempotency_key=idempotency_key,
    )
    try:
        record = await use.sandboxes.create(caller, request)
    except SandboxDead as error:
        message = f"The sandbox that was made under this idempotency key, {error.facts['sandbox']}, is dead. Use a new key."
        raise Conflict("idempotency_outcome_unknown", message) from error
    record = await deadlines.begin(caller, use, record, timeout_s)
    return JSONResponse(await rendering.sandbox(caller, use, record), 201)


def _policy(body: models.E2bCreateBody) -> SleepPolicy:
    keep_memory = body.autoPauseMemory is not False
    wakes = body.autoResume is not None and body.autoResume.enabled
    if not keep_memory and not body.autoPause:
        raise Invalid("auto_pause_invalid", "autoPauseMemory: false means something only together with autoPause: true.")
    if not keep_memory and wakes:
        raise Invalid("auto_pause_invalid", "A sandbox that pauses without its memory cannot be woken by traffic: choose one.")
    return SleepPolicy(
        on_timeout=OnTimeout.PAUSE if body.autoPause else OnTimeout.KILL, wake_on_traffic=wakes, keep_memory=keep_memory
    )


@router.get("/v2/sandboxes", operation_id="listSandboxesV2")
async def list_(
    caller: Caller,
    use: Use,
    metadata: str | None = None,
    state: str | None = None,
    order: Literal["asc", "desc"] = "desc",
    started_after: Annotated[datetime | None, Query(alias="startedAfter")] = None,
    template: str | None = None,
    limit: int = 100,
    next_token: Annotated[str | None, Query(alias="nextToken")] = None,
) -> JSONResponse:
    wanted = SandboxFilter(
        states=_states(state),
        metadata=_metadata(metadata),
        template=await _template(caller, use, template) if template else None,
        created_from=started_after.timestamp() if started_after else None,
        oldest_first=order == "asc",
        limit=limit,
        cursor=next_token or None,
    )
    page = await use.sandboxes.list(caller, wanted)
    catalogue = await rendering.Catalogue.of(caller, use)
    headers = {NEXT_PAGE: page.next_cursor} if page.next_cursor else None
    return JSONResponse([rendering.listed(record, catalogue) for record in page.items], headers=headers)


@router.get("/sandboxes", operation_id="listSandboxes")
async def list_v1(caller: Caller, use: Use, metadata: str | None = None) -> JSONResponse:
    """All that run, without pages."""
    found: list[dict[str, Any]] = []
    catalogue, cursor = await rendering.Catalogue.of(caller, use), None
    while True:
        wanted = SandboxFilter(states=_LISTED[rendering.RUNNING], metadata=_metadata(metadata), cursor=cursor)
        page = await use.sandboxes.list(caller, wanted)
        found += [rendering.listed(record, catalogue) for record in page.items]
        cursor = page.next_cursor
        if cursor is None:
            return JSONResponse(found)


@router.get("/sandboxes/{ref}", operation_id="getSandbox")
async def get(caller: Caller, use: Use, ref: Ref) -> JSONResponse:
    record = await living(caller, use, ref)
    snapshot = None
    if rendering.SHOWN_AS[record.state] == rendering.PAUSED and record.snapshot:
        snapshot = await use.snapshots.get(caller, record.snapshot)
    return JSONResponse(rendering.detail(record, await rendering.Catalogue.of(caller, use), use.about, snapshot))


@router.delete("/sandboxes/{ref}", status_code=204, operation_id="killSandbox")
async def kill(caller: Caller, use: Use, ref: Ref) -> Response:
    record = await living(caller, use, ref)
    await use.sandboxes.kill(caller, record.id)
    return Response(status_code=204)


def _states(text: str | None) -> tuple[State, ...]:
    words = [word for word in unquote(text or "").split(",") if word] or list(_LISTED)
    for word in words:
        if word not in _LISTED:
            raise Invalid("state_invalid", f"{word!r} is no state to ask for: there are {' and '.join(_LISTED)}.", state=word)
    return tuple(dict.fromkeys(state for word in words for state in _LISTED[word]))


def _metadata(text: str | None) -> dict[str, str]:
    """Clients encode each key and value, then the form, then the query: the outermost is undone already."""
    pairs = parse_qsl(text or "", keep_blank_values=True)
    return {unquote(key): unquote(value) for key, value in pairs}


async def _template(caller: Caller, use: Use, text: str) -> str:
    """What a record says for this template. One that nobody knows is in no record."""
    try:
        ref = names.parse(text, caller.team).ours
        return (await use.templates.get(caller, ref)).name
    except NotFound:
        pass
    try:
        return (await use.snapshots.get(caller, names.parse(text, caller.team).ours)).id
    except NotFound:
        return ""
