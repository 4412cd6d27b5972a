from __future__ import annotations

import anyio
import pytest

from roost.contracts.routes import Route
from roost.domain.errors import SandboxNotFound, TimedOut, Unavailable
from roost.domain.ids import SandboxId, TeamId
from roost.edge.upstreams.wake import Waker
from roost.testing.routes import FakeRoutes

pytestmark = pytest.mark.anyio

ID = SandboxId("i0123456789abcdefghij")


def asleep() -> FakeRoutes:
    routes = FakeRoutes()
    routes.place(Route(ID, TeamId("t"), 1, "10.0.0.1", "token", True))
    routes.sleep(ID)
    return routes


async def test_holders_are_bounded_and_let_go() -> None:
    routes = asleep()
    waker = Waker(routes, holders=2, deadline_s=60)
    gate = routes.hold_wakes(ID)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(waker.wake, ID, "one")
        tasks.start_soon(waker.wake, ID, "two")
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(Unavailable) as refused:
            await waker.wake(ID, "three")
        assert refused.value.code == "too_many_waiting"
        gate.set()
    assert (await waker.wake(ID, "four")).address == "10.0.0.1"
    assert routes.flights == [(ID, "one")]


async def test_the_deadline_ends_the_wait_and_not_the_next_one() -> None:
    routes = asleep()
    waker = Waker(routes, holders=1, deadline_s=0)
    gate = routes.hold_wakes(ID)
    for _ in range(2):
        with pytest.raises(TimedOut):
            await waker.wake(ID, "late")
    gate.set()
    assert (await Waker(routes, holders=1, deadline_s=60).wake(ID, "in time")).incarnation == 2


async def test_what_the_routes_raise_passes() -> None:
    with pytest.raises(SandboxNotFound):
        await Waker(FakeRoutes(), holders=1, deadline_s=60).wake(ID, "nobody")
