"""What happens without being asked: deadlines, idle sleep, ends that nobody ordered, collecting."""

from __future__ import annotations

import pytest

from roost.contracts.ledger import Traffic
from roost.domain.activity import ReasonKind
from roost.domain.errors import EngineFailed
from roost.domain.events import EventKind
from roost.domain.lifecycle import State
from roost.domain.sandbox import OnTimeout, Sandbox, SleepPolicy
from roost.testing.node import used
from tests.flows.world import ME, Ground, Roost, serving

pytestmark = pytest.mark.anyio


async def pass_time(roost: Roost, seconds: float, *, step: float = 5.0) -> None:
    """Time passes in steps, and after each everybody does what they do then."""
    end = roost.ground.clock.now() + seconds
    await roost.quiet()
    while (left := end - roost.ground.clock.now()) > 0:
        roost.ground.clock.advance(min(step, left))
        await roost.quiet()


async def state(roost: Roost, sandbox: Sandbox) -> State:
    return (await roost.ground.record(sandbox.id)).state


# Deadlines


async def test_without_a_policy_it_runs_until_told_otherwise(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    await pass_time(roost, 7 * 24 * 3600, step=3600 * 24)
    assert await state(roost, sandbox) is State.RUNNING
    activity = await roost.sandboxes.activity(ME, sandbox.id)
    assert (activity.awake, activity.sleeps_at) == (True, None)
    assert [reason.kind for reason in activity.awake_because] == [ReasonKind.ALWAYS]


@pytest.mark.parametrize(("then", "end"), [(OnTimeout.PAUSE, State.PAUSED), (OnTimeout.KILL, State.DEAD)])
async def test_at_its_deadline_it_sleeps_or_ends(roost: Roost, then: OnTimeout, end: State) -> None:
    sandbox = await roost.sandbox(policy=SleepPolicy(timeout_s=12.5, on_timeout=then))
    assert sandbox.expires_at == roost.ground.clock.now() + 12.5
    await pass_time(roost, 12.4)
    assert await state(roost, sandbox) is State.RUNNING
    await pass_time(roost, 0.1)
    assert await state(roost, sandbox) is end
    await roost.ground.check_invariants()


async def test_a_deadline_before_the_next_look_is_kept_to_the_second(roost: Roost) -> None:
    await roost.quiet()
    sandbox = await roost.sandbox(policy=SleepPolicy(timeout_s=1.0))
    await roost.quiet()
    roost.ground.clock.advance(1.0)
    await roost.ground.until_state(sandbox.id, State.PAUSED)
    [event] = await roost.ground.events(EventKind.PAUSED)
    assert event.facts["why"] == "its timeout came"


async def test_extending_moves_the_deadline_and_shortening_needs_to_be_allowed(roost: Roost) -> None:
    sandbox = await roost.sandbox(policy=SleepPolicy(timeout_s=10))
    now = roost.ground.clock.now()
    assert (await roost.sandboxes.extend(ME, sandbox.id, 60)).expires_at == now + 60
    assert (await roost.sandboxes.extend(ME, sandbox.id, 5, allow_shorter=False)).expires_at == now + 60
    await pass_time(roost, 30)
    assert await state(roost, sandbox) is State.RUNNING
    await roost.sandboxes.extend(ME, sandbox.id, 2)
    await pass_time(roost, 2)
    assert await state(roost, sandbox) is State.PAUSED


async def test_a_timeout_begins_anew_when_it_wakes(roost: Roost) -> None:
    sandbox = await roost.sandbox(policy=SleepPolicy(timeout_s=10))
    await pass_time(roost, 10)
    awake = await roost.power.resume(ME, sandbox.id)
    assert awake.sandbox.expires_at == roost.ground.clock.now() + 10
    await pass_time(roost, 10)
    assert await state(roost, sandbox) is State.PAUSED


async def test_a_deadline_that_passed_while_no_server_ran_is_met_at_the_start(ground: Ground) -> None:
    async with serving(ground) as roost:
        sandbox = await roost.sandbox(policy=SleepPolicy(timeout_s=10))
    ground.clock.advance(3600)
    async with serving(ground):
        await ground.until_state(sandbox.id, State.PAUSED)


async def test_a_sleep_that_fails_is_tried_again_but_not_at_once(roost: Roost) -> None:
    sandbox = await roost.sandbox(policy=SleepPolicy(timeout_s=5))
    other = await roost.sandbox(policy=SleepPolicy(timeout_s=6))
    roost.ground.node.fail("pause", EngineFailed("checkpoint", "disk on fire"), sandbox=sandbox.id)
    await pass_time(roost, 6)
    assert await state(roost, other) is State.PAUSED, "one that makes trouble does not hold up the others"
    await pass_time(roost, 30)
    assert await state(roost, sandbox) is State.RUNNING
    assert len(await roost.ground.events(EventKind.FAILED)) == 1
    await pass_time(roost, 60)
    assert await state(roost, sandbox) is State.PAUSED


# Idleness


async def test_an_idle_sandbox_sleeps_after_idle_s(roost: Roost) -> None:
    sandbox = await roost.sandbox(policy=SleepPolicy(idle_s=60))
    await pass_time(roost, 55)
    assert await state(roost, sandbox) is State.RUNNING
    await pass_time(roost, 10)
    assert await state(roost, sandbox) is State.PAUSED
    [event] = await roost.ground.events(EventKind.PAUSED)
    assert event.facts["why"] == "idle"


async def test_traffic_holds_cpu_and_network_each_keep_it_awake(roost: Roost) -> None:
    policy = SleepPolicy(idle_s=60)
    names = ("traffic", "hold", "cpu", "network", "quiet")
    by_name = {name: await roost.sandbox(name=name, policy=policy) for name in names}
    await roost.sandboxes.hold(ME, "hold", 110, "a person is watching")
    for round in range(1, 21):
        now = roost.ground.clock.now()
        roost.ground.ledger.seen[by_name["traffic"].id] = Traffic(last_byte_at=now, open_connections=1)
        for name in ("cpu", "network", "quiet"):
            guest = roost.ground.node.guests.get(by_name[name].id)
            if guest is not None:
                busy_s = 0.5 * round if name == "cpu" else 0.01 * round
                used(guest, at=now, cpu_s=busy_s, network_bytes=5000 * round if name == "network" else 10 * round)
        await pass_time(roost, 5)
    states = {name: await state(roost, sandbox) for name, sandbox in by_name.items()}
    assert states == {name: State.PAUSED if name == "quiet" else State.RUNNING for name in names}
    kinds = {name: {reason.kind for reason in (await roost.sandboxes.activity(ME, name)).awake_because} for name in names}
    assert kinds["traffic"] == {ReasonKind.TRAFFIC}
    assert kinds["hold"] == {ReasonKind.HOLD}
    assert kinds["cpu"] == {ReasonKind.CPU}
    assert kinds["network"] == {ReasonKind.NETWORK}
    assert kinds["quiet"] == set()
    await roost.sandboxes.release(ME, "hold")
    await pass_time(roost, 70)
    assert {await state(roost, sandbox) for sandbox in by_name.values()} == {State.PAUSED}


async def test_an_open_connection_on_which_nothing_moves_does_not_keep_it_awake(roost: Roost) -> None:
    sandbox = await roost.sandbox(policy=SleepPolicy(idle_s=30))
    roost.ground.ledger.seen[sandbox.id] = Traffic(last_byte_at=roost.ground.clock.now(), open_connections=3)
    await pass_time(roost, 40)
    assert await state(roost, sandbox) is State.PAUSED


async def test_a_restarted_server_does_not_put_anybody_to_sleep_too_early(ground: Ground) -> None:
    async with serving(ground) as roost:
        sandbox = await roost.sandbox(policy=SleepPolicy(idle_s=60))
    ground.clock.advance(3600)
    async with serving(ground) as roost:
        await pass_time(roost, 50)
        assert await state(roost, sandbox) is State.RUNNING
        await pass_time(roost, 20)
        assert await state(roost, sandbox) is State.PAUSED


# Ends that nobody ordered


async def test_a_sandbox_that_is_shut_down_from_inside_is_dead(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    await roost.snapshots.take(ME, sandbox.id)
    roost.ground.node.end(sandbox.id, "it was shut down from inside", in_order=True)
    record = await roost.ground.until_state(sandbox.id, State.DEAD)
    assert record.reason == "it was shut down from inside"
    await roost.flights.drain()
    await roost.ground.check_invariants()


async def test_a_process_that_is_lost_boots_again_from_its_disk(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    roost.guest(sandbox).disk = "work"
    roost.ground.node.end(sandbox.id, "its process ended unexpectedly")

    async def boots_again() -> bool:
        record = await roost.ground.record(sandbox.id)
        return record.state is State.RUNNING and record.incarnation == 2

    await roost.ground.until(boots_again)
    assert roost.guest(sandbox).disk == "work"
    [rewound] = await roost.ground.events(EventKind.REWOUND)
    assert (rewound.facts["cold"], rewound.facts["reason"]) == (True, "its process ended unexpectedly")
    await roost.ground.check_invariants()


async def test_a_process_that_is_lost_again_and_again_is_dead_in_the_end(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    for incarnation in (1, 2):
        roost.ground.node.end(sandbox.id)

        async def follows(incarnation: int = incarnation) -> bool:
            record = await roost.ground.record(sandbox.id)
            return record.state is State.DEAD or (record.state is State.RUNNING and record.incarnation > incarnation)

        await roost.ground.until(follows)
    assert await state(roost, sandbox) is State.DEAD
    await roost.flights.drain()
    await roost.ground.check_invariants()


async def test_losses_that_lie_far_apart_do_not_add_up(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    for incarnation in (1, 2, 3):
        await pass_time(roost, 60, step=30)
        roost.ground.node.end(sandbox.id)
        await roost.quiet()
        record = await roost.ground.record(sandbox.id)
        assert (record.state, record.incarnation) == (State.RUNNING, incarnation + 1)


async def test_a_process_that_is_lost_falls_back_to_its_last_snapshot(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    kept = await roost.snapshots.take(ME, sandbox.id)
    roost.ground.node.end(sandbox.id)
    record = await roost.ground.until_state(sandbox.id, State.PAUSED)
    assert record.snapshot == kept.id
    await roost.flights.drain()
    await roost.ground.check_invariants()


async def test_news_of_an_older_incarnation_changes_nothing(roost: Roost) -> None:
    roost.ground.node.dozers = 0
    sandbox = await roost.sandbox()
    guest = roost.guest(sandbox)
    await roost.power.pause(ME, sandbox.id)
    await roost.flights.drain()
    await roost.power.resume(ME, sandbox.id)
    roost.ground.node.guests, new = {sandbox.id: guest}, dict(roost.ground.node.guests)
    roost.ground.node.end(sandbox.id)
    roost.ground.node.guests = new
    await roost.quiet()
    assert await state(roost, sandbox) is State.RUNNING


async def test_a_process_missing_at_two_looks_is_lost(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    kept = await roost.snapshots.take(ME, sandbox.id)
    await roost.quiet()
    del roost.ground.node.guests[sandbox.id]
    await pass_time(roost, 5)
    assert await state(roost, sandbox) is State.RUNNING, "it may be a departure that is not heard yet"
    await pass_time(roost, 5)
    record = await roost.ground.record(sandbox.id)
    assert (record.state, record.snapshot) == (State.PAUSED, kept.id)


async def test_a_node_that_cannot_report_does_not_stop_the_keeper(roost: Roost) -> None:
    sandbox = await roost.sandbox(policy=SleepPolicy(timeout_s=30))
    roost.ground.node.fail("report", EngineFailed("report", "busy"), times=2)
    roost.ground.node.fail("report", ValueError("a bug"), times=1)
    await pass_time(roost, 30)
    assert await state(roost, sandbox) is State.PAUSED


# Metering and collecting


async def test_metering_is_kept_and_can_be_asked_for_before_it_is_saved(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    begin = roost.ground.clock.now()
    for round in range(1, 16):
        used(roost.guest(sandbox), at=roost.ground.clock.now(), cpu_s=float(round))
        await pass_time(roost, 5)
    samples = await roost.sandboxes.usage(ME, sandbox.id, begin, roost.ground.clock.now())
    times = [sample.at for sample in samples]
    assert times == sorted(set(times)) and len(times) >= 14
    assert len(await roost.ground.store.usage(sandbox.id, 0, 1e12, 1000)) == 12, "a minute is one write"


async def test_the_last_samples_are_saved_when_the_server_stops(ground: Ground) -> None:
    async with serving(ground) as roost:
        sandbox = await roost.sandbox()
        used(roost.guest(sandbox), at=ground.clock.now(), cpu_s=1)
        await pass_time(roost, 5)
        assert await ground.store.usage(sandbox.id, 0, 1e12, 10) == []
    assert len(await ground.store.usage(sandbox.id, 0, 1e12, 10)) == 1


async def test_the_dead_are_remembered_for_a_day(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    await roost.sandboxes.kill(ME, sandbox.id)
    await pass_time(roost, 23 * 3600, step=3600)
    assert len(await roost.ground.records()) == 1
    await pass_time(roost, 2 * 3600, step=3600)
    assert await roost.ground.records() == []
    await roost.ground.check_invariants()
