"""What a sandbox can be made to do: connect, pause, resume, run longer, fork, be kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse

from roost.api.access import Caller, KeyedRoute, Use
from roost.api.e2b import deadlines, errors, models, names, rendering
from roost.api.e2b.models import Ref
from roost.api.e2b.references import living
from roost.domain.errors import Conflict, RoostError, SandboxNotFound, WrongState
from roost.domain.lifecycle import Action, Verdict, verdict
from roost.domain.sandbox import OnTimeout, Sandbox

router = APIRouter(prefix="/sandboxes/{ref}", tags=["sandboxes"], route_class=KeyedRoute)
v2_router = APIRouter(prefix="/v2/sandboxes/{ref}", tags=["sandboxes"], route_class=KeyedRoute)

_CONNECT = models.ConnectBody()
_PAUSE = models.E2bPauseBody()
_RESUME = models.E2bResumeBody()
_REFRESH = models.RefreshBody()
_FORK = models.E2bForkBody()
_SNAPSHOT = models.E2bSnapshotBody()


@v2_router.post("/connect", operation_id="connectSandboxV2")
async def connect(caller: Caller, use: Use, ref: Ref, body: models.ConnectBody = _CONNECT) -> JSONResponse:
    return await _connect(caller, use, ref, body)


@router.post("/connect", operation_id="connectSandbox")
async def connect_v1(caller: Caller, use: Use, ref: Ref, body: models.ConnectBody) -> JSONResponse:
    return await _connect(caller, use, ref, body)


async def _connect(caller: Caller, use: Use, ref: str, body: models.ConnectBody) -> JSONResponse:
    """It runs for so long at least. 201 if it slept."""
    timeout_s = deadlines.asked_for(body.timeout, deadlines.DEFAULT_S)
    before = await living(caller, use, ref)
    if rendering.SHOWN_AS[before.state] == rendering.PAUSED:
        await deadlines.prepare(caller, use, before, deadlines.lasting(before.policy, timeout_s))
    record = (await use.power.resume(caller, before.id, cold=body.memory is False)).sandbox
    if record.incarnation == before.incarnation:
        record = await use.sandboxes.extend(caller, record.id, timeout_s, allow_shorter=False)
        return JSONResponse(await rendering.sandbox(caller, use, record), 200)
    record = await deadlines.begin(caller, use, record, timeout_s)
    return JSONResponse(await rendering.sandbox(caller, use, record), 201)


@router.post("/resume", status_code=201, operation_id="resumeSandbox")
async def resume(caller: Caller, use: Use, ref: Ref, body: models.E2bResumeBody = _RESUME) -> JSONResponse:
    timeout_s = deadlines.asked_for(body.timeout, deadlines.DEFAULT_V1_S)
    before = await living(caller, use, ref)
    if verdict(before.state, Action.RESUME) is Verdict.ALREADY:
        raise WrongState(before.id, before.state, "resume")
    policy = before.policy
    if body.autoPause is not None:
        policy = replace(policy, on_timeout=OnTimeout.PAUSE if body.autoPause else OnTimeout.KILL)
    await deadlines.prepare(caller, use, before, deadlines.lasting(policy, timeout_s))
    record = (await use.power.resume(caller, before.id)).sandbox
    record = await deadlines.begin(caller, use, record, timeout_s)
    return JSONResponse(await rendering.sandbox(caller, use, record), 201)


@router.post("/pause", status_code=204, operation_id="pauseSandbox")
async def pause(caller: Caller, use: Use, ref: Ref, body: models.E2bPauseBody = _PAUSE) -> Response:
    record = await living(caller, use, ref)
    if verdict(record.state, Action.PAUSE) is Verdict.ALREADY:
        raise Conflict("already_paused", f"Sandbox {record.id} is paused already.", sandbox=record.id)
    await use.power.pause(caller, record.id, keep_memory=body.memory is not False)
    return Response(status_code=204)


@router.post("/timeout", status_code=204, operation_id="setSandboxTimeout")
async def set_timeout(caller: Caller, use: Use, ref: Ref, body: models.TimeoutBody) -> Response:
    """From now; it may be sooner than before. Zero or less: now."""
    await _extend(caller, use, ref, deadlines.from_now(body.timeout), allow_shorter=True)
    return Response(status_code=204)


@router.post("/refreshes", status_code=204, operation_id="refreshSandbox")
async def refresh(caller: Caller, use: Use, ref: Ref, body: models.RefreshBody = _REFRESH) -> Response:
    duration_s = deadlines.DEFAULT_V1_S if body.duration is None else body.duration
    await _extend(caller, use, ref, deadlines.from_now(duration_s), allow_shorter=False)
    return Response(status_code=204)


async def _extend(caller: Caller, use: Use, ref: str, timeout_s: float, *, allow_shorter: bool) -> None:
    """A sleeping one has no deadline: to E2B's clients it is not there for this."""
    record = await living(caller, use, ref)
    try:
        await use.sandboxes.extend(caller, record.id, timeout_s, allow_shorter=allow_shorter)
    except WrongState as error:
        raise SandboxNotFound(ref) from error


@router.post("/fork", status_code=201, operation_id="forkSandbox")
async def fork(caller: Caller, use: Use, ref: Ref, body: models.E2bForkBody = _FORK) -> JSONResponse:
    timeout_s = deadlines.asked_for(body.timeout, deadlines.DEFAULT_S)
    parent = await living(caller, use, ref)
    if rendering.SHOWN_AS[parent.state] == rendering.PAUSED:
        raise SandboxNotFound(ref)
    children = await use.forks.fork(caller, parent.id, body.count or 1)
    return JSONResponse([await _child(caller, use, child, timeout_s) for child in children], 201)


async def _child(caller: Caller, use: Use, child: Sandbox | RoostError, timeout_s: float) -> dict[str, Any]:
    if isinstance(child, RoostError):
        return {"error": errors.content(child)}
    try:
        await deadlines.prepare(caller, use, child, deadlines.lasting(child.policy, timeout_s))
        record = await use.sandboxes.extend(caller, child.id, timeout_s)
    except RoostError as error:
        return {"error": errors.content(error)}
    return {"sandbox": await rendering.sandbox(caller, use, record)}


@router.post("/snapshots", status_code=201, operation_id="createSnapshot")
async def snapshot(caller: Caller, use: Use, ref: Ref, body: models.E2bSnapshotBody = _SNAPSHOT) -> JSONResponse:
    """A name that was used before means this one from now on; the older one stays, by its id."""
    record = await living(caller, use, ref)
    name = names.parse(body.name, caller.team).ours if body.name else None
    keep_memory = body.memory is not False
    taken = await use.snapshots.take(caller, record.id, name=name, keep_memory=keep_memory, take_name_over=True)
    return JSONResponse(rendering.snapshot(taken), 201)
