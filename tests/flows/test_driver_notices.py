"""What a guest believes of who drives is what the record says: over sleep, fork, silence and crash. And every drive ends."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from roost.control.lifecycle.chores import TELL_AGAIN_S
from roost.control.people.hands import GRACE_S
from roost.control.people.notices import TELLS_WITHIN_S
from roost.domain.errors import GuestUnreachable
from roost.domain.events import EventKind
from roost.domain.link import LinkMode
from roost.domain.sandbox import Driver, Sandbox
from tests.flows.test_keeper import pass_time
from tests.flows.world import BASE, ME, Ground, Roost, dies_at, serving

pytestmark = pytest.mark.anyio


async def control(roost: Roost, sandbox: Sandbox) -> str:
    _, token = await roost.links.make(ME, sandbox.id, mode=LinkMode.CONTROL, label="anna")
    return token


async def ends(ground: Ground, sandbox: Sandbox) -> list[object]:
    """Why people stopped driving, in order. Whoever took over must have stopped."""
    events = await ground.events(EventKind.DRIVER_TOOK, EventKind.DRIVER_GAVE, sandbox=sandbox.id)
    assert [event.kind for event in events] == [EventKind.DRIVER_TOOK, EventKind.DRIVER_GAVE] * (len(events) // 2)
    return [event.facts["why"] for event in events if event.kind is EventKind.DRIVER_GAVE]


async def is_ordered(roost: Roost, order: str) -> bool:
    await roost.ground.records()  # the others have had a turn
    return any(name == order for name, _, _ in roost.ground.node.orders)


async def is_in(found: list[Driver]) -> bool:
    return bool(found)


def believed(ground: Ground, sandbox: Sandbox) -> Driver | None:
    return ground.node.guests[sandbox.id].driver


async def test_the_guest_knows_when_the_call_returns(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    token = await control(roost, sandbox)
    took = await roost.hands.take(token)
    assert believed(roost.ground, sandbox) == took
    await roost.hands.give(token)
    assert believed(roost.ground, sandbox) is None


async def test_one_who_went_away_or_whose_link_ends_is_forgotten_inside_too(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    token = await control(roost, sandbox)
    await roost.hands.take(token)
    await pass_time(roost, GRACE_S)
    assert believed(roost.ground, sandbox) is None
    link, token = await roost.links.make(ME, sandbox.id, mode=LinkMode.CONTROL)
    await roost.hands.take(token)
    await roost.links.revoke(ME, sandbox.id, link.id)
    await roost.quiet()
    assert believed(roost.ground, sandbox) is None


async def test_what_changes_in_its_sleep_is_known_when_it_wakes(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    token = await control(roost, sandbox)
    took = await roost.hands.take(token)
    await roost.power.pause(ME, sandbox.id)
    await roost.flights.drain()
    await roost.power.resume(ME, sandbox.id)
    assert believed(roost.ground, sandbox) == took
    await roost.power.pause(ME, sandbox.id)
    await roost.hands.give(token)
    await roost.power.resume(ME, sandbox.id)
    assert believed(roost.ground, sandbox) is None


async def test_what_changes_while_it_wakes_is_known_afterwards(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    token = await control(roost, sandbox)
    await roost.hands.take(token)
    await roost.power.pause(ME, sandbox.id)
    await roost.flights.drain()
    gate = roost.ground.node.gate("resume")
    async with anyio.create_task_group() as group:
        group.start_soon(roost.power.resume, ME, sandbox.id)
        await gate.reached.wait()
        await roost.hands.give(token)
        gate.open()
    await roost.quiet()
    assert believed(roost.ground, sandbox) is None


async def test_a_forks_hands_are_the_agents(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    await roost.hands.take(await control(roost, sandbox))
    (child,) = await roost.forks.fork(ME, sandbox.id, 1)
    assert isinstance(child, Sandbox)
    assert believed(roost.ground, child) is None
    assert believed(roost.ground, sandbox) is not None


async def test_a_guest_that_does_not_answer_keeps_nobody_from_driving_and_is_told_later(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    token = await control(roost, sandbox)
    roost.ground.node.fail("inform", GuestUnreachable(sandbox.id, "no answer"), times=2)
    took = await roost.hands.take(token)
    route = roost.routes.locate(sandbox.id)
    assert route is not None and route.driver == took, "the edge refuses the agent's input from that moment"
    for _ in range(2):
        await pass_time(roost, TELL_AGAIN_S)
    assert believed(roost.ground, sandbox) == took


async def test_one_who_takes_over_does_not_wait_for_a_guest_that_is_held_still(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    token = await control(roost, sandbox)
    gate = roost.ground.node.gate("snapshot")
    took: list[Driver] = []

    async def take() -> None:
        took.append(await roost.hands.take(token))

    async with anyio.create_task_group() as group:
        group.start_soon(roost.snapshots.take, ME, sandbox.id)
        await gate.reached.wait()
        group.start_soon(take)
        await roost.ground.until(lambda: is_ordered(roost, "inform"))
        roost.ground.clock.advance(TELLS_WITHIN_S)
        await roost.ground.until(lambda: is_in(took))
        assert believed(roost.ground, sandbox) is None
        gate.open()
    await roost.quiet()
    assert believed(roost.ground, sandbox) == took[0]


async def test_a_change_that_was_only_written_is_told_by_the_next_server(ground: Ground) -> None:
    async with serving(ground) as roost:
        await roost.templates.build(replace(BASE, name="desk", has_desktop=True))
        sandbox = await roost.sandbox(template="desk")
        token = await control(roost, sandbox)
    await dies_at(ground, "before inform", lambda roost: roost.hands.take(token))
    assert believed(ground, sandbox) is None
    async with serving(ground) as roost:
        await roost.quiet()
        took = believed(ground, sandbox)
        assert took is not None and took == (await ground.record(sandbox.id)).driver
    await dies_at(ground, "before inform", lambda roost: roost.hands.give(token))
    assert believed(ground, sandbox) is not None
    async with serving(ground) as roost:
        await roost.quiet()
        assert believed(ground, sandbox) is None


async def test_one_who_went_away_with_the_server_is_forgotten_inside_too(ground: Ground) -> None:
    async with serving(ground) as roost:
        sandbox = await roost.sandbox()
        await roost.hands.take(await control(roost, sandbox))
    async with serving(ground) as roost:
        await roost.quiet()
        assert believed(ground, sandbox) is not None, "they have time to come back"
        await pass_time(roost, GRACE_S)
        assert believed(ground, sandbox) is None


async def test_a_kill_ends_the_drive(roost: Roost) -> None:
    awake, asleep = await roost.sandbox(), await roost.sandbox()
    for sandbox in (awake, asleep):
        await roost.hands.take(await control(roost, sandbox))
    roost.ground.clock.advance(3)
    await roost.power.pause(ME, asleep.id)
    for sandbox in (awake, asleep):
        await roost.sandboxes.kill(ME, sandbox.id)
        assert await ends(roost.ground, sandbox) == ["the sandbox was killed"]
        assert (await roost.ground.record(sandbox.id)).driver is None
    await roost.flights.drain()


async def test_a_kill_that_outlives_its_server_ends_the_drive_once(ground: Ground) -> None:
    async with serving(ground) as roost:
        sandbox = await roost.sandbox()
        await roost.hands.take(await control(roost, sandbox))
    await dies_at(ground, "before kill", lambda roost: roost.sandboxes.kill(ME, sandbox.id))
    async with serving(ground) as roost:
        await roost.quiet()
    assert await ends(ground, sandbox) == ["the sandbox was killed"]
    await ground.check_invariants()


async def test_a_death_ends_the_drive(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    await roost.hands.take(await control(roost, sandbox))
    roost.ground.node.end(sandbox.id, "shut down", in_order=True)
    await roost.quiet()
    assert await ends(roost.ground, sandbox) == ["the sandbox died"]
    assert (await roost.ground.record(sandbox.id)).driver is None


async def test_who_leaves_a_sleeper_has_left(roost: Roost) -> None:
    """Sleep itself ends nothing: whoever drives and stays before the screen wakes it by the next key."""
    sandbox = await roost.sandbox()
    link, token = await roost.links.make(ME, sandbox.id, mode=LinkMode.CONTROL, label="anna")
    await roost.hands.take(token)
    await roost.power.pause(ME, sandbox.id)
    roost.ground.ledger.watched[link.id] = roost.ground.clock.now() + 30  # before the screen until then
    await pass_time(roost, 30)
    assert (await roost.ground.record(sandbox.id)).driver is not None
    await pass_time(roost, GRACE_S)
    assert await ends(roost.ground, sandbox) == ["the browser went away"]
