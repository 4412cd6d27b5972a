"""Nothing that control does holds up its event loop: asyncio's own check for slow callbacks, over whole lives."""

from __future__ import annotations

import asyncio
import logging

import anyio
import pytest

from roost.domain.sandbox import Sandbox
from tests.flows.world import ME, Roost

pytestmark = pytest.mark.anyio

SLOW_S = 0.05
ROUNDS = 4  # a busy machine holds up one round or another; what blocks by itself is slow in each
AT_ONCE = 8


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, bool]]:
    return "asyncio", {"debug": True}


async def test_no_callback_takes_longer_than_fifty_milliseconds(roost: Roost, caplog: pytest.LogCaptureFixture) -> None:
    asyncio.get_running_loop().slow_callback_duration = SLOW_S
    slow: list[list[str]] = []
    for _ in range(ROUNDS):
        caplog.clear()
        with caplog.at_level(logging.WARNING, logger="asyncio"):
            async with anyio.create_task_group() as lives:
                for _ in range(AT_ONCE):
                    lives.start_soon(live, roost)
            await roost.flights.drain()
        slow.append([record.getMessage() for record in caplog.records if record.name == "asyncio"])
        if not slow[-1]:
            return
    pytest.fail(f"every round had slow callbacks: {min(slow, key=len)}")


async def live(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    await roost.snapshots.take(ME, sandbox.id)
    await roost.power.pause(ME, sandbox.id)
    await roost.power.resume(ME, sandbox.id)
    children = [child for child in await roost.forks.fork(ME, sandbox.id, 2) if isinstance(child, Sandbox)]
    await roost.overview.look(ME)
    for each in (sandbox, *children):
        await roost.sandboxes.kill(ME, each.id)
