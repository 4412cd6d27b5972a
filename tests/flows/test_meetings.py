"""Two who want something of one sandbox at the same time: share, wait, overtake."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from roost.domain.errors import EngineFailed, MoveOvertaken, RoostError, SandboxDead, WrongState
from roost.domain.events import EventKind
from roost.domain.lifecycle import State
from roost.domain.sandbox import Sandbox
from roost.domain.snapshot import SnapshotKind
from tests.flows.world import ME, PATIENCE_S, Roost

pytestmark = pytest.mark.anyio


class Asked:
    """A question put in a task of its own; its answer or error, once it is there."""

    def __init__(self, roost: Roost, work: Callable[[], Awaitable[Any]]) -> None:
        self.answer: Any = None
        self.error: Exception | None = None
        self.scope = anyio.CancelScope()
        self._done = anyio.Event()
        roost.group.start_soon(self._ask, work)

    async def _ask(self, work: Callable[[], Awaitable[Any]]) -> None:
        try:
            with self.scope:
                self.answer = await work()
        except RoostError as error:
            self.error = error
        finally:
            self._done.set()

    @property
    def is_done(self) -> bool:
        return self._done.is_set()

    async def done(self) -> Asked:
        with anyio.fail_after(PATIENCE_S):
            await self._done.wait()
        return self


def orders(roost: Roost, name: str, sandbox: Sandbox) -> int:
    return sum(order[:2] == (name, sandbox.id) for order in roost.ground.node.orders)


async def test_the_same_question_shares_one_flight(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    gate = roost.ground.node.gate("pause")
    asked = [Asked(roost, lambda: roost.power.pause(ME, sandbox.id)) for _ in range(5)]
    await gate.reached.wait()
    gate.open()
    answers = [(await each.done()).answer for each in asked]
    assert {answer.snapshot for answer in answers} == {(await roost.ground.record(sandbox.id)).snapshot}
    assert orders(roost, "pause", sandbox) == 1


async def test_a_fork_does_not_share_a_snapshot_without_memory(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    roost.guest(sandbox).memory = "half a thought"
    gate = roost.ground.node.gate("snapshot")
    taking = Asked(roost, lambda: roost.snapshots.take(ME, sandbox.id, keep_memory=False))
    await gate.reached.wait()
    forking = Asked(roost, lambda: roost.forks.fork(ME, sandbox.id, 1))
    gate.open()
    assert (await taking.done()).answer.kind is SnapshotKind.DISK
    (child,) = (await forking.done()).answer
    assert roost.guest(child).memory == "half a thought", "it runs on from the moment, it does not boot"
    assert orders(roost, "snapshot", sandbox) == 2


async def test_the_same_question_shares_its_error_too(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    gate = roost.ground.node.gate("pause")
    roost.ground.node.fail("pause", EngineFailed("checkpoint", "disk on fire"))
    asked = [Asked(roost, lambda: roost.power.pause(ME, sandbox.id)) for _ in range(3)]
    await gate.reached.wait()
    gate.open()
    errors = [(await each.done()).error for each in asked]
    assert all(isinstance(error, EngineFailed) for error in errors)
    assert len({id(error) for error in errors}) == 3, "each gets an exception of its own"
    assert orders(roost, "pause", sandbox) == 1
    assert (await roost.ground.record(sandbox.id)).state is State.RUNNING


async def test_a_hundred_wakes_are_one_resume(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    await roost.power.pause(ME, sandbox.id)
    asked = [Asked(roost, lambda: roost.directory.wake(sandbox.id, "traffic")) for _ in range(100)]
    addresses = {(await each.done()).answer.address for each in asked}
    assert addresses == {roost.guest(sandbox).address}
    assert orders(roost, "resume", sandbox) == 1


async def test_pause_waits_for_the_snapshot_under_way_then_goes(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    gate = roost.ground.node.gate("snapshot")
    taken = Asked(roost, lambda: roost.snapshots.take(ME, sandbox.id))
    await gate.reached.wait()
    paused = Asked(roost, lambda: roost.power.pause(ME, sandbox.id))
    assert (await roost.ground.record(sandbox.id)).state is State.SNAPSHOTTING
    gate.open()
    assert (await taken.done()).error is None
    assert (await paused.done()).answer.state is State.PAUSED


async def test_pause_waits_for_the_create_under_way(roost: Roost) -> None:
    gate = roost.ground.node.gate("create")
    created = Asked(roost, lambda: roost.sandbox(name="web"))
    await gate.reached.wait()
    paused = Asked(roost, lambda: roost.power.pause(ME, "web"))
    gate.open()
    assert (await created.done()).answer.state is State.RUNNING
    assert (await paused.done()).answer.state is State.PAUSED


async def test_a_snapshot_under_way_does_not_keep_traffic_out(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    gate = roost.ground.node.gate("snapshot")
    taken = Asked(roost, lambda: roost.snapshots.take(ME, sandbox.id))
    await gate.reached.wait()
    route = roost.directory.locate(sandbox.id)
    assert route is not None and route.address == roost.guest(sandbox).address
    assert (await roost.power.resume(ME, sandbox.id)).sandbox.state is State.SNAPSHOTTING, "awake already"
    gate.open()
    await taken.done()


async def test_a_resume_overtakes_a_pause_whose_snapshot_is_not_there_yet(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    gate = roost.ground.node.gate("pause")
    paused = Asked(roost, lambda: roost.power.pause(ME, sandbox.id))
    await gate.reached.wait()
    assert roost.guest(sandbox).frozen
    awake = await roost.power.resume(ME, sandbox.id)
    assert (awake.sandbox.state, awake.sandbox.incarnation) == (State.RUNNING, 1), "it never slept"
    assert not roost.guest(sandbox).frozen
    assert isinstance((await paused.done()).error, MoveOvertaken)
    failed = await roost.ground.events(EventKind.FAILED, sandbox=sandbox.id)
    assert [event.facts["code"] for event in failed] == ["move_overtaken"]
    route = roost.directory.locate(sandbox.id)
    assert route is not None and route.address == roost.guest(sandbox).address
    await roost.ground.check_invariants()


async def test_a_resume_after_the_manifest_lets_the_pause_end_and_thaws_its_source(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    roost.guest(sandbox).memory = "counting"
    address = roost.guest(sandbox).address
    late = roost.ground.node.gate("pause.late")
    killed = roost.ground.node.gate("kill")  # the source stands frozen until this opens
    paused = Asked(roost, lambda: roost.power.pause(ME, sandbox.id))
    await late.reached.wait()
    resumed = Asked(roost, lambda: roost.power.resume(ME, sandbox.id))
    late.open()
    assert (await paused.done()).answer.state is State.PAUSED
    killed.open()
    awake = (await resumed.done()).answer
    assert (awake.sandbox.state, awake.sandbox.incarnation) == (State.RUNNING, 2)
    assert roost.guest(sandbox).memory == "counting"
    await roost.flights.drain()
    assert roost.guest(sandbox).address != address or not roost.guest(sandbox).frozen
    await roost.ground.check_invariants()


async def test_traffic_that_comes_while_it_falls_asleep_wakes_it(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    gate = roost.ground.node.gate("pause")
    paused = Asked(roost, lambda: roost.power.pause(ME, sandbox.id))
    await gate.reached.wait()
    falling = roost.directory.locate(sandbox.id)
    assert falling is not None and falling.address is None, "traffic is held, not sent to a frozen guest"
    route = await roost.directory.wake(sandbox.id, "traffic")
    assert route.address == roost.guest(sandbox).address
    await paused.done()


@pytest.mark.parametrize("move", ["create", "pause", "resume", "snapshot"])
async def test_kill_overtakes_every_move(roost: Roost, move: str) -> None:
    if move == "create":
        gate = roost.ground.node.gate("create")
        moving = Asked(roost, lambda: roost.sandbox(name="web"))
        await gate.reached.wait()
        sandbox = await roost.sandboxes.get(ME, "web")
    else:
        sandbox = await roost.sandbox(name="web")
        if move == "resume":
            await roost.power.pause(ME, "web")
            await roost.flights.drain()
        gate = roost.ground.node.gate(move)
        ask = {"pause": roost.power.pause, "resume": roost.power.resume, "snapshot": roost.snapshots.take}[move]
        moving = Asked(roost, lambda: ask(ME, "web"))
        await gate.reached.wait()
    assert (await roost.sandboxes.kill(ME, "web")).state is State.DEAD
    assert isinstance((await moving.done()).error, SandboxDead)
    assert (await roost.ground.record(sandbox.id)).state is State.DEAD
    assert roost.directory.locate(sandbox.id) is None
    await roost.flights.drain()
    await roost.ground.check_invariants()


@pytest.mark.parametrize("move", ["pause", "snapshot"])
async def test_a_snapshot_finished_after_the_kill_is_dropped(roost: Roost, move: str) -> None:
    sandbox = await roost.sandbox()
    late = roost.ground.node.gate(f"{move}.late")
    ask = roost.power.pause if move == "pause" else roost.snapshots.take
    moving = Asked(roost, lambda: ask(ME, sandbox.id))
    await late.reached.wait()
    killed = Asked(roost, lambda: roost.sandboxes.kill(ME, sandbox.id))
    await roost.ground.until_state(sandbox.id, State.KILLING)
    late.open()
    assert (await killed.done()).answer.state is State.DEAD
    assert isinstance((await moving.done()).error, SandboxDead)
    await roost.flights.drain()
    await roost.ground.check_invariants()


async def test_a_killing_sandbox_refuses_and_shares_kills(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    gate = roost.ground.node.gate("kill")
    kills = [Asked(roost, lambda: roost.sandboxes.kill(ME, sandbox.id)) for _ in range(3)]
    await gate.reached.wait()
    assert roost.directory.locate(sandbox.id) is None, "traffic is cut at once"
    with pytest.raises(WrongState, match="killing"):
        await roost.power.pause(ME, sandbox.id)
    gate.open()
    assert {(await kill.done()).answer.state for kill in kills} == {State.DEAD}
    assert orders(roost, "kill", sandbox) == 1


async def test_a_caller_that_goes_away_leaves_the_move_to_end(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    gate = roost.ground.node.gate("pause")
    paused = Asked(roost, lambda: roost.power.pause(ME, sandbox.id))
    await gate.reached.wait()
    paused.scope.cancel()
    await paused.done()
    assert paused.answer is None
    gate.open()
    await roost.flights.drain()
    assert (await roost.ground.record(sandbox.id)).state is State.PAUSED
    await roost.ground.check_invariants()
