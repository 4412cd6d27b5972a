"""Records as the API shows them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from roost.api.http import error_content
from roost.api.services import About
from roost.api.v1 import models
from roost.api.v1.network import network
from roost.control.access.tokens import IssuedTokens
from roost.control.sandboxes.power import ResumeResult
from roost.control.templates.builtins import BuiltinBuild
from roost.control.templates.templates import TemplateUsage
from roost.domain.activity import Activity
from roost.domain.errors import RoostError
from roost.domain.events import Event
from roost.domain.lifecycle import LIVING
from roost.domain.node import Usage
from roost.domain.sandbox import Driver, Sandbox, Size, SleepPolicy
from roost.domain.snapshot import Snapshot
from roost.domain.team import ApiKey
from roost.domain.template import Template


def timestamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _maybe(at: float | None) -> str | None:
    return None if at is None else timestamp(at)


def size(size: Size) -> models.SizeModel:
    return models.SizeModel(cpus=size.cpus, memory_mb=size.memory_mb, disk_mb=size.disk_mb, pids=size.pids)


def _policy(policy: SleepPolicy) -> models.PolicyFields:
    return models.PolicyFields(
        timeout_s=policy.timeout_s,
        on_timeout=policy.on_timeout,
        idle_s=policy.idle_s,
        idle_cpu_share=policy.idle_cpu_share,
        wake_on_traffic=policy.wake_on_traffic,
        keep_memory=policy.keep_memory,
    )


def driver(who: Driver | None) -> models.DriverModel | None:
    return models.DriverModel(who=who.who, since=timestamp(who.since), link=who.link) if who else None


def _sandbox_fields(record: Sandbox, about: About) -> dict[str, Any]:
    operation, hold = record.operation, record.hold
    return {
        "id": record.id,
        "name": record.name,
        "state": record.state,
        "template": record.template,
        "created_at": timestamp(record.created_at),
        "changed_at": timestamp(record.changed_at),
        "started_at": timestamp(record.started_at) if record.incarnation else None,
        "expires_at": _maybe(record.expires_at),
        "incarnation": record.incarnation,
        "revision": record.revision,
        "snapshot": record.snapshot,
        "parent": record.parent,
        "metadata": dict(record.metadata),
        "size": size(record.size),
        "policy": _policy(record.policy),
        "network": network(record),
        "hold": models.HoldModel(until=timestamp(hold.until), reason=hold.reason) if hold else None,
        "driver": driver(record.driver) if record.state in LIVING else None,
        "operation": models.OperationModel(
            action=operation.action,
            started_at=timestamp(operation.started_at),
            deadline_at=timestamp(operation.deadline_at),
        )
        if operation
        else None,
        "has_desktop": record.has_desktop,
        "reason": record.reason,
        "undelete_until": _maybe(record.undelete_until),
        "url": f"{about.scheme}://{{port}}-{record.id}.{about.domain}:{about.port}",
        "domain": about.domain,
    }


def sandbox(record: Sandbox, about: About) -> models.SandboxModel:
    return models.SandboxModel(**_sandbox_fields(record, about))


def entered(given: IssuedTokens, about: About) -> models.EnteredModel:
    return models.EnteredModel(**_sandbox_fields(given.sandbox, about), access_token=given.access, traffic_token=given.traffic)


def resumed(result: ResumeResult, about: About) -> models.ResumedModel:
    return models.ResumedModel(**_sandbox_fields(result.sandbox, about), cold=result.cold, lost=list(result.lost))


def error(failure: RoostError) -> models.ErrorDetail:
    return models.ErrorDetail(**error_content(failure))


def forked(children: list[IssuedTokens | RoostError], about: About) -> models.ForkAnswer:
    return models.ForkAnswer(
        sandboxes=[entered(child, about) for child in children if isinstance(child, IssuedTokens)],
        errors=[
            models.ForkFailure(**{**error_content(child), "index": index})
            for index, child in enumerate(children)
            if isinstance(child, RoostError)
        ],
    )


def slept(results: list[Sandbox | RoostError]) -> models.SleepAllAnswer:
    return models.SleepAllAnswer(
        sandboxes=[result.id for result in results if isinstance(result, Sandbox)],
        errors=[error(result) for result in results if isinstance(result, RoostError)],
    )


def metric(usage: Usage) -> models.MetricModel:
    return models.MetricModel(
        at=timestamp(usage.at),
        cpu_s=usage.cpu_s,
        memory_bytes=usage.memory_bytes,
        disk_bytes=usage.disk_bytes,
        received_bytes=usage.received_bytes,
        sent_bytes=usage.sent_bytes,
    )


def activity(told: Activity) -> models.ActivityModel:
    reasons = [
        models.ReasonModel(kind=reason.kind, detail=reason.detail, since=_maybe(reason.since), until=_maybe(reason.until))
        for reason in told.awake_because
    ]
    return models.ActivityModel(
        awake=told.awake, dozing=told.dozing, awake_because=reasons, sleeps_at=_maybe(told.sleeps_at), then=told.then
    )


def snapshot(record: Snapshot) -> models.SnapshotModel:
    return models.SnapshotModel(
        id=record.id,
        name=record.name,
        kind=record.kind,
        purpose=record.purpose,
        template=record.template,
        sandbox=record.sandbox,
        parent=record.parent,
        created_at=timestamp(record.created_at),
        memory_bytes=record.memory_bytes,
    )


def template(record: Template, usage: TemplateUsage) -> models.TemplateModel:
    return models.TemplateModel(
        id=record.id,
        name=record.name,
        description=record.description,
        has_desktop=record.has_desktop,
        packages=list(record.packages),
        tag=record.tag,
        is_built_in=record.team is None,
        sandboxes=usage.sandboxes.get(record.ref, 0),
        memory_bytes=usage.memory_bytes.get(record.snapshot, 0),
        snapshot=record.snapshot,
        size=size(record.size),
        user=record.user,
        workdir=record.workdir,
        created_at=timestamp(record.created_at),
    )


def build(making: BuiltinBuild) -> models.BuildModel:
    return models.BuildModel(
        name=making.template,
        step=making.step,
        began_at=timestamp(making.began_at),
        failure=making.failure.message if making.failure else None,
        again_at=timestamp(making.again_at) if making.failure else None,
    )


def event(happened: Event) -> models.EventModel:
    return models.EventModel(
        sequence=happened.sequence,
        kind=happened.kind,
        at=timestamp(happened.at),
        sandbox=happened.sandbox,
        facts=dict(happened.facts),
    )


def key(record: ApiKey) -> models.KeyModel:
    return models.KeyModel(
        id=record.id, name=record.name, hint=record.hint, scope=str(record.scope), created_at=timestamp(record.created_at)
    )
