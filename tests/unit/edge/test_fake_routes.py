"""The fake keeps the promises of the contract."""

from __future__ import annotations

import anyio
import pytest

from roost.contracts.routes import Route, Routes
from roost.domain.errors import SandboxNotFound
from roost.domain.ids import SandboxId, TeamId
from roost.testing.routes import FakeRoutes

pytestmark = pytest.mark.anyio

ID = SandboxId("i0123456789abcdefghij")
RUNNING = Route(ID, TeamId("t"), 1, "10.0.0.1", "token", True)


async def test_locate_and_wake() -> None:
    fake = FakeRoutes()
    routes: Routes = fake
    assert routes.locate(ID) is None
    fake.place(RUNNING)
    assert routes.locate(ID) == await routes.wake(ID, "awake already") == RUNNING
    fake.sleep(ID)
    located = routes.locate(ID)
    assert located is not None and located.address is None
    woken = await routes.wake(ID, "traffic")
    assert (woken.address, woken.incarnation) == ("10.0.0.1", 2)
    assert fake.flights == [(ID, "traffic")]


async def test_wakes_share_a_flight_and_death_ends_it() -> None:
    fake = FakeRoutes()
    fake.place(RUNNING)
    fake.sleep(ID)
    fake.hold_wakes(ID)
    refused = 0

    async def wake() -> None:
        nonlocal refused
        with pytest.raises(SandboxNotFound):
            await fake.wake(ID, "traffic")
        refused += 1

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(wake)
        await anyio.wait_all_tasks_blocked()
        assert (fake.waiting(ID), len(fake.flights)) == (3, 1)
        fake.remove(ID)
    assert refused == 3
    assert fake.waiting(ID) == 0


async def test_every_change_from_the_call_on_is_told() -> None:
    fake = FakeRoutes()
    fake.place(RUNNING)
    changes = fake.changes()
    fake.sleep(ID)
    await fake.wake(ID, "traffic")
    fake.remove(ID)
    seen = [await anext(changes) for _ in range(3)]
    assert [(route.address, route.incarnation) for route in seen] == [(None, 1), ("10.0.0.1", 2), (None, 2)]
