"""A node's process ends and another takes its place, beside a control that goes on."""

from __future__ import annotations

import pytest

from roost.domain.egress import Egress
from roost.domain.lifecycle import State
from tests.flows.world import ME, Roost

pytestmark = pytest.mark.anyio

CLOSED = Egress(internet=False)


async def test_the_next_process_knows_again_what_was_in_memory_only(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    await roost.sandboxes.set_egress(ME, sandbox.id, CLOSED)
    await roost.templates.keep_warm()
    wanted = dict(roost.ground.node.warm)
    assert wanted
    for _ in range(2):
        roost.ground.node.start_again()

        async def told() -> bool:
            return roost.guest(sandbox).egress == CLOSED and roost.ground.node.warm == wanted

        await roost.ground.until(told)
    assert (await roost.ground.record(sandbox.id)).state is State.RUNNING


async def test_ends_are_still_heard_of_afterwards(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    roost.ground.node.start_again()
    roost.ground.node.end(sandbox.id, in_order=True)
    await roost.ground.until_state(sandbox.id, State.DEAD)


async def test_an_end_that_nobody_heard_of_is_found_by_looking(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    roost.ground.node.guests[sandbox.id].alive = False
    roost.ground.node.start_again()

    async def gone() -> bool:
        roost.ground.clock.advance(5)
        await roost.quiet()
        return (await roost.ground.record(sandbox.id)).incarnation > sandbox.incarnation

    await roost.ground.until(gone)
    assert (await roost.ground.record(sandbox.id)).state is State.RUNNING, "it booted from its disk"
