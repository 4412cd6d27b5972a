"""The server itself: is it well, what is it, what does its machine hold."""

from __future__ import annotations

from fastapi import APIRouter

from roost.api.access import Caller, KeyedRoute, Use
from roost.api.v1 import models, rendering
from roost.api.v1.responses import errors

open_router = APIRouter(prefix="/v1", tags=["server"])
router = APIRouter(prefix="/v1", tags=["server"], route_class=KeyedRoute)


@open_router.get("/health", operation_id="getHealth", summary="Whether it serves")
async def health() -> models.HealthModel:
    """Needs no key."""
    return models.HealthModel(status="ok")


@router.get("/version", operation_id="getVersion", summary="What serves", responses=errors())
async def version(use: Use) -> models.VersionModel:
    about = use.about
    return models.VersionModel(
        version=about.version,
        engine=about.engine,
        agent=about.agent,
        domain=about.domain,
        home=about.home,
        pid=about.pid,
    )


@router.get("/node", operation_id="getNode", summary="What the machine holds", responses=errors())
async def node(caller: Caller, use: Use) -> models.NodeModel:
    templates = {template.snapshot: template.name for template in await use.templates.list(caller.team)}
    return rendering.node(await use.nodes.last_seen(), templates)


@router.post("/node/sleep-all", operation_id="sleepAll", summary="Let every sandbox sleep", responses=errors(504))
async def sleep_all(_caller: Caller, use: Use) -> models.SleepAllAnswer:
    """Of every team: for taking the machine down. The answer comes when the last one sleeps."""
    return rendering.slept(await use.power.pause_all(), use.about)
