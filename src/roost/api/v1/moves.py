"""What a sandbox can be made to do: sleep, wake, be kept, be multiplied."""

from __future__ import annotations

from fastapi import APIRouter

from roost.api.access import Caller, KeyedRoute, Use
from roost.api.v1 import models, rendering
from roost.api.v1.responses import MOVE, errors
from roost.api.v1.sandboxes import Ref
from roost.domain.errors import RoostError

router = APIRouter(prefix="/v1/sandboxes/{ref}", tags=["sandboxes"], route_class=KeyedRoute)

_PAUSE = models.PauseBody()
_RESUME = models.ResumeBody()
_SNAPSHOT = models.SnapshotBody()
_FORK = models.ForkBody()


@router.post("/pause", operation_id="pauseSandbox", summary="Let it sleep", responses=errors(*MOVE, 413))
async def pause(caller: Caller, use: Use, ref: Ref, body: models.PauseBody = _PAUSE) -> models.SandboxModel:
    """It sleeps with its memory, until resumed or woken by traffic. One that sleeps already stays as it is."""
    record = await use.power.pause(caller, ref, keep_memory=body.memory)
    return rendering.sandbox(record, use.about)


@router.post("/resume", operation_id="resumeSandbox", summary="Wake it", responses=errors(*MOVE, 413))
async def resume(caller: Caller, use: Use, ref: Ref, body: models.ResumeBody = _RESUME) -> models.ResumedModel:
    """It goes on where it left off. If its memory cannot be used, `snapshot_damaged` or `snapshot_foreign` says so, and
    `cold: true` agrees to boot from its disk; `lost` then names what ran."""
    return rendering.resumed(await use.power.resume(caller, ref, cold=body.cold), use.about)


@router.post(
    "/snapshots",
    status_code=201,
    operation_id="takeSnapshot",
    summary="Keep this moment of it",
    responses=errors(*MOVE, 413),
)
async def snapshot(caller: Caller, use: Use, ref: Ref, body: models.SnapshotBody = _SNAPSHOT) -> models.SnapshotModel:
    """A running sandbox goes on; of a sleeping one it is the snapshot it sleeps in."""
    record = await use.snapshots.take(caller, ref, name=body.name, keep_memory=body.memory)
    return rendering.snapshot(record)


@router.post("/rollback", operation_id="rollBackSandbox", summary="Take it back", responses=errors(*MOVE, 413))
async def roll_back(caller: Caller, use: Use, ref: Ref, body: models.RollbackBody) -> models.SandboxModel:
    """To one of its own snapshots, from which it runs on; one without memory boots. Where it was is kept in a snapshot named
    `before-rollback-…`: nothing is lost."""
    return rendering.sandbox(await use.rollbacks.roll_back(caller, ref, body.snapshot), use.about)


@router.post(
    "/undelete", status_code=201, operation_id="undeleteSandbox", summary="Bring a dead one back", responses=errors(*MOVE)
)
async def undelete(caller: Caller, use: Use, ref: Ref) -> models.EnteredModel:
    """As a new sandbox, made of what was kept: the same disk (and memory, if it was killed in its sleep), metadata, policy,
    environment and network, and the same name if that is free. By name it is the one that died last."""
    back = await use.undeletes.undelete(caller, ref)
    return rendering.entered(await use.tokens.give_of(caller, back), use.about)


@router.post("/fork", status_code=201, operation_id="forkSandbox", summary="Multiply it", responses=errors(*MOVE, 413))
async def fork(caller: Caller, use: Use, ref: Ref, body: models.ForkBody = _FORK) -> models.ForkAnswer:
    """Children that go on from the same moment, each with an identity of its own. Some may fail while others run:
    `errors` says which and why, and `sandboxes` holds those that run."""
    children = await use.forks.fork(caller, ref, body.count, names=body.names or ())
    given = [child if isinstance(child, RoostError) else await use.tokens.give_of(caller, child) for child in children]
    return rendering.forked(given, use.about)
