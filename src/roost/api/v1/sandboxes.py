"""Sandboxes: make, find, change, end."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Body, Header, Path, Query, Response

from roost.api.access import Caller, KeyedRoute, Use
from roost.api.v1 import models, network, rendering
from roost.api.v1.responses import errors
from roost.control.sandboxes.requests import CreateSandbox, SandboxChanges, SandboxFilter
from roost.domain.errors import Invalid
from roost.domain.sandbox import SizeChange, SleepPolicy

router = APIRouter(prefix="/v1/sandboxes", tags=["sandboxes"], route_class=KeyedRoute)

Ref = Annotated[str, Path(description="A sandbox's id or name.")]
_POLICY = frozenset(models.PolicyFields.model_fields)
_PLAIN = models.CreateBody()


@router.post(
    "",
    status_code=201,
    operation_id="createSandbox",
    summary="Make a sandbox",
    responses=errors(404, 409, 410, 413, 429, 504),
)
async def create(
    caller: Caller,
    use: Use,
    body: models.CreateBody = _PLAIN,
    idempotency_key: Annotated[
        str | None, Header(description="The same key and body get the same sandbox, for 24 hours.")
    ] = None,
) -> models.EnteredModel:
    """It runs when the answer comes. Made from a template's snapshot, or from one of your own."""
    request = CreateSandbox(
        template=body.template,
        name=body.name,
        metadata=body.metadata,
        env=body.env,
        policy=SleepPolicy(**{field: getattr(body, field) for field in _POLICY}),
        size=SizeChange(**body.size.model_dump()) if body.size else SizeChange(),
        egress=network.egress_of(body.network),
        ingress=network.ingress_of(body.network),
        idempotency_key=idempotency_key,
    )
    made = await use.sandboxes.create(caller, request)
    return rendering.entered(await use.tokens.give_of(caller, made), use.about)


@router.get("", operation_id="listSandboxes", summary="List sandboxes, newest first", responses=errors())
async def list_(caller: Caller, use: Use, query: Annotated[models.SandboxQuery, Query()]) -> models.SandboxPage:
    wanted = SandboxFilter(
        states=tuple(query.state),
        metadata=_pairs(query.metadata),
        template=query.template,
        name_prefix=query.name,
        limit=query.limit,
        cursor=query.cursor,
    )
    page = await use.sandboxes.list(caller, wanted)
    return models.SandboxPage(
        sandboxes=[rendering.sandbox(record, use.about) for record in page.items], next_cursor=page.next_cursor
    )


@router.get("/{ref}", operation_id="getSandbox", summary="Get a sandbox", responses=errors(404))
async def get(caller: Caller, use: Use, ref: Ref) -> models.SandboxModel:
    return rendering.sandbox(await use.sandboxes.get(caller, ref), use.about)


@router.patch("/{ref}", operation_id="updateSandbox", summary="Change a sandbox", responses=errors(404, 409, 410, 413))
async def update(caller: Caller, use: Use, ref: Ref, body: models.UpdateBody) -> models.SandboxModel:
    """Only what is mentioned changes. A new `timeout_s` counts from now."""
    given = body.model_fields_set
    changes = SandboxChanges()
    if "name" in given:
        changes = replace(changes, name=body.name)
    if "metadata" in given:
        changes = replace(changes, metadata=body.metadata)
    if given & _POLICY:
        mentioned = {field: getattr(body, field) for field in given & _POLICY}
        changes = replace(changes, policy=lambda policy: replace(policy, **mentioned))
    if body.network is not None:
        egress, ingress = network.egress_change(body.network), network.ingress_change(body.network)
        changes = replace(changes, **({"egress": egress} if egress else {}), **({"ingress": ingress} if ingress else {}))
    return rendering.sandbox(await use.sandboxes.update(caller, ref, changes), use.about)


@router.delete("/{ref}", status_code=204, operation_id="killSandbox", summary="End a sandbox", responses=errors(404, 504))
async def kill(caller: Caller, use: Use, ref: Ref, query: Annotated[models.KillQuery, Query()]) -> Response:
    """Its processes are gone afterwards. Its disk (and its memory, if it slept) is kept for a while, so that it can be undeleted;
    with `keep=false` nothing is left, also of one that is dead already. Snapshots that were taken of it stay."""
    await use.sandboxes.kill(caller, ref, keep=query.keep)
    return Response(status_code=204)


@router.post("/{ref}/extend", operation_id="extendSandbox", summary="Move its deadline", responses=errors(404, 409, 410, 413))
async def extend(caller: Caller, use: Use, ref: Ref, body: models.ExtendBody) -> models.SandboxModel:
    return rendering.sandbox(await use.sandboxes.extend(caller, ref, body.timeout_s), use.about)


@router.post("/{ref}/hold", operation_id="holdSandbox", summary="Keep it awake", responses=errors(404, 410, 413))
async def hold(caller: Caller, use: Use, ref: Ref, body: Annotated[models.HoldBody, Body()]) -> models.SandboxModel:
    """It does not fall asleep from idleness for so long."""
    return rendering.sandbox(await use.sandboxes.hold(caller, ref, body.seconds, body.reason), use.about)


@router.delete("/{ref}/hold", operation_id="releaseSandbox", summary="Let it sleep again", responses=errors(404, 410))
async def release(caller: Caller, use: Use, ref: Ref) -> models.SandboxModel:
    return rendering.sandbox(await use.sandboxes.release(caller, ref), use.about)


@router.get("/{ref}/metrics", operation_id="getMetrics", summary="What it used", responses=errors(404))
async def metrics(caller: Caller, use: Use, ref: Ref, query: Annotated[models.MetricsQuery, Query()]) -> models.MetricsAnswer:
    """Samples of the last 24 hours, oldest first."""
    samples = await use.sandboxes.usage(caller, ref, query.start, query.end)
    return models.MetricsAnswer(metrics=[rendering.metric(sample) for sample in samples])


@router.get("/{ref}/activity", operation_id="getActivity", summary="Why it is awake", responses=errors(404))
async def activity(caller: Caller, use: Use, ref: Ref) -> models.ActivityModel:
    """And when it will sleep, if nothing new happens."""
    return rendering.activity(await use.sandboxes.activity(caller, ref))


def _pairs(texts: list[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise Invalid("invalid", f"metadata={text!r} is no filter. Write metadata=key=value.", field="metadata")
        pairs[name] = value
    return pairs
