from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from roost.control.lifecycle.alarm import DeadlineTimer
from roost.testing.clock import ManualClock

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def waiting(alarm: DeadlineTimer, until: float) -> AsyncIterator[anyio.Event]:
    rung = anyio.Event()

    async def wait() -> None:
        await alarm.wait(until)
        rung.set()

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        yield rung
        group.cancel_scope.cancel()


async def is_set(rung: anyio.Event) -> bool:
    await anyio.wait_all_tasks_blocked()
    return rung.is_set()


async def test_it_rings_at_the_time_waited_for() -> None:
    clock = ManualClock(0)
    async with waiting(DeadlineTimer(clock=clock), 10) as rung:
        clock.advance(9)
        assert not await is_set(rung)
        clock.advance(1)
        assert await is_set(rung)


async def test_it_can_be_brought_forward_while_somebody_waits() -> None:
    clock = ManualClock(0)
    alarm = DeadlineTimer(clock=clock)
    async with waiting(alarm, 10) as rung:
        alarm.ring_by(None)
        alarm.ring_by(20)
        alarm.ring_by(3)
        alarm.ring_by(5)
        clock.advance(2.5)
        assert not await is_set(rung)
        clock.advance(0.5)
        assert await is_set(rung)


async def test_a_time_asked_for_before_is_kept_and_rings_once() -> None:
    clock = ManualClock(0)
    alarm = DeadlineTimer(clock=clock)
    alarm.ring_by(15)
    async with waiting(alarm, 10) as rung:
        clock.advance(10)
        assert await is_set(rung)
    async with waiting(alarm, 20) as rung:
        clock.advance(5)
        assert await is_set(rung)
    async with waiting(alarm, 20) as rung:
        assert not await is_set(rung)


async def test_a_time_that_has_passed_rings_at_once() -> None:
    alarm = DeadlineTimer(clock=ManualClock(100))
    alarm.ring_by(50)
    with anyio.fail_after(60):
        await alarm.wait(200)
        await alarm.wait(100)
