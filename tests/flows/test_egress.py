"""What a sandbox may reach: what the record says holds, whatever comes between."""

from __future__ import annotations

import anyio
import pytest

from roost.domain.egress import Egress
from tests.flows.world import ME, Ground, Roost, dies_at, serving

pytestmark = pytest.mark.anyio

CLOSED = Egress(internet=False)


async def test_a_change_holds_at_once_and_over_sleep_and_fork(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    await roost.sandboxes.set_egress(ME, sandbox.id, CLOSED)
    assert roost.guest(sandbox).egress == CLOSED
    await roost.power.pause(ME, sandbox.id)
    await roost.power.resume(ME, sandbox.id)
    assert roost.guest(sandbox).egress == CLOSED
    [child] = await roost.forks.fork(ME, sandbox.id, 1)
    assert roost.guest(child).egress == CLOSED  # pyright: ignore[reportArgumentType]


async def test_a_change_while_it_wakes_holds_afterwards(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    await roost.power.pause(ME, sandbox.id)
    await roost.flights.drain()
    gate = roost.ground.node.gate("resume")
    async with anyio.create_task_group() as group:
        group.start_soon(roost.power.resume, ME, sandbox.id)
        await gate.reached.wait()
        group.start_soon(roost.sandboxes.set_egress, ME, sandbox.id, CLOSED)
        await anyio.wait_all_tasks_blocked()
        gate.open()
    assert roost.guest(sandbox).egress == CLOSED


async def test_a_change_that_was_only_written_is_made_by_the_next_server(ground: Ground) -> None:
    async with serving(ground) as roost:
        sandbox = await roost.sandbox(name="ada")
    await dies_at(ground, "before set_egress", lambda roost: roost.sandboxes.set_egress(ME, "ada", CLOSED))
    assert ground.node.guests[sandbox.id].egress != CLOSED
    async with serving(ground):
        assert ground.node.guests[sandbox.id].egress == CLOSED
