"""The server itself: is it well, what is it, what does its machine hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter
from pydantic import Field

from roost.api.access import Caller, KeyedRoute, Use
from roost.api.v1 import models, rendering
from roost.api.v1.models import Given
from roost.api.v1.responses import errors
from roost.domain.access import MACHINE, Access, Verb, allow
from roost.domain.health import examine
from roost.domain.ids import SnapshotId
from roost.domain.node import NodeReport

open_router = APIRouter(prefix="/v1", tags=["server"])
router = APIRouter(prefix="/v1", tags=["server"], route_class=KeyedRoute)


class CountsModel(Given):
    running: Annotated[int, Field(description="Sandboxes with a process behind them.")]
    dozing: Annotated[int, Field(description="Sleepers that are still in memory, to wake in milliseconds.")]


class SlotsModel(Given):
    """Network slots."""

    held: Annotated[int, Field(description="Of sandboxes, awake or asleep.")]
    spare: Annotated[int, Field(description="Ready in advance.")]
    most: Annotated[int, Field(description="How many there can be.")]


class CheckModel(Given):
    name: str
    ok: bool
    detail: Annotated[str, Field(description="How it stands and, if it is not well, what to do.")]


class NodeModel(Given):
    """What the machine holds and what is left of it."""

    sandboxes: CountsModel
    snapshots: int
    warm: Annotated[dict[str, int], Field(description="Clones kept ready, by template.")]
    load: Annotated[list[float], Field(description="Of the last 1, 5 and 15 minutes.", min_length=3, max_length=3)]
    cpus: int
    memory_total_bytes: int
    memory_free_bytes: int
    memory_dozing_bytes: Annotated[int, Field(description="Held by sleepers, and given up when somebody needs it.")]
    disk_total_bytes: int
    disk_used_bytes: int
    disk_free_bytes: int
    slots: SlotsModel
    uptime_s: Annotated[float, Field(description="Of the server.")]
    checks: list[CheckModel]


@open_router.get("/health", operation_id="getHealth", summary="Whether it serves")
async def health() -> models.HealthModel:
    """Needs no key."""
    return models.HealthModel(status="ok")


@router.get("/version", operation_id="getVersion", summary="What serves", responses=errors())
async def version(caller: Caller, use: Use) -> models.VersionModel:
    about = use.about
    operates = allow(caller, Verb.OPERATE, MACHINE) is Access.ALLOWED
    return models.VersionModel(
        version=about.version,
        engine=about.engine,
        agent=about.agent,
        domain=about.domain,
        home=about.home if operates else None,
        pid=about.pid if operates else None,
    )


@router.get("/node", operation_id="getNode", summary="What the machine holds", responses=errors())
async def node(caller: Caller, use: Use) -> NodeModel:
    templates = {template.snapshot: template.name for template in await use.templates.list(caller)}
    return _together(await use.nodes.inspect(caller), templates)


@router.post("/node/sleep-all", operation_id="sleepAll", summary="Let every sandbox sleep", responses=errors(504))
async def sleep_all(caller: Caller, use: Use) -> models.SleepAllAnswer:
    """Of every team, for taking the machine down: an operator's alone. The answer comes when the last one sleeps."""
    return rendering.slept(await use.power.pause_all(caller))


def _together(reports: list[NodeReport], templates: Mapping[SnapshotId, str]) -> NodeModel:
    """All nodes together; there is one. `templates` are the names of the templates' snapshots."""
    warm: Counter[str] = Counter()
    for report in reports:
        for source, count in report.warm.items():
            warm[templates.get(source, source)] += count
    free, total = sum(report.disk_free_bytes for report in reports), sum(report.disk_total_bytes for report in reports)
    first = reports[0]
    return NodeModel(
        sandboxes=CountsModel(
            running=sum(presence.alive for report in reports for presence in report.present),
            dozing=sum(len(report.dozing) for report in reports),
        ),
        snapshots=sum(len(report.snapshots) for report in reports),
        warm=dict(warm),
        load=list(first.load),
        cpus=sum(report.cpus for report in reports),
        memory_total_bytes=sum(report.memory_total_bytes for report in reports),
        memory_free_bytes=sum(report.memory_free_bytes for report in reports),
        memory_dozing_bytes=sum(sum(report.dozing.values()) for report in reports),
        disk_total_bytes=total,
        disk_used_bytes=max(0, total - free),
        disk_free_bytes=free,
        slots=SlotsModel(
            held=sum(report.slots.held for report in reports),
            spare=sum(report.slots.spare for report in reports),
            most=sum(report.slots.most for report in reports),
        ),
        uptime_s=first.uptime_s,
        checks=[CheckModel(name=check.name, ok=check.ok, detail=check.detail) for report in reports for check in examine(report)],
    )
