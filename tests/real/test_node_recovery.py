"""What a node makes of what went wrong before: failed orders, a dead server, a machine that was restarted."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from roost.archive import manifest as manifests
from roost.contracts.snapshots import WarmTarget
from roost.domain.errors import GuestUnreachable, SandboxLost, SnapshotHasNoMemory
from roost.domain.node import CreateOrder, Identity, KillOrder, Placed
from roost.drivers.guest.envd import Envd
from roost.node import inventory
from roost.node.inventory import Phase
from roost.node.service import NodeService
from tests.real.ground import SIZE, TEMPLATE, Ground, capture_order, create_order, resume_order

pytestmark = pytest.mark.anyio

GUEST = Envd(now=lambda: 0.0)


async def run(address: str, command: str) -> str:
    code, output = await GUEST.run(address, command, user="root", timeout_s=60)
    assert code == 0, output
    return output.strip()


def kill_sentry(ground: Ground, container: str) -> None:
    [state] = Path(f"/run/roost/{ground.instance}/runsc").glob(f"{container}_*.state")
    os.kill(json.loads(state.read_text())["sandbox"]["pid"], signal.SIGKILL)


async def until_lost(node: NodeService) -> None:
    with anyio.fail_after(30):
        await anext(aiter(node.watch()))


async def test_a_sleeper_whose_resume_failed_can_be_laid_down_and_killed_again(node: NodeService, ground: Ground) -> None:
    order = create_order()
    await node.create(order)
    capture = capture_order(order, keep_memory=False)
    await node.pause(capture)
    await node.kill(KillOrder(order.sandbox, 1, asleep=True))
    with pytest.raises(SnapshotHasNoMemory):
        await node.resume(resume_order(order, capture.snapshot, 2))
    await node.kill(KillOrder(order.sandbox, 2, asleep=True))
    await node.kill(KillOrder(order.sandbox, 2))
    assert not ground.volume.sandbox(order.sandbox).home.exists()


async def test_a_create_repeated_after_its_process_died_takes_a_warm_one(node: NodeService, ground: Ground) -> None:
    order = create_order()
    await node.create(order)
    await node.snapshots.keep_warm([WarmTarget(TEMPLATE, 1)])
    with anyio.fail_after(60):
        while not (await node.report()).warm:  # noqa: ASYNC110
            await anyio.sleep(0.01)  # the pool tells nobody when it is full
    kill_sentry(ground, f"{order.sandbox}-1")
    await until_lost(node)
    again = await node.create(order)
    await node.snapshots.keep_warm([])
    assert await run(again.endpoint, "hostname") == order.sandbox


async def test_a_disk_that_is_gone_is_not_replaced_by_an_older_one(node: NodeService) -> None:
    order = replace(create_order(), incarnation=2, cold=True, in_place=True)
    with pytest.raises(SandboxLost):
        await node.create(order)
    assert (await node.report()).present == ()


async def test_an_order_for_an_older_incarnation_captures_nothing(node: NodeService) -> None:
    order = replace(create_order(), incarnation=2)
    await node.create(order)
    late = capture_order(order, 1)
    with pytest.raises(SandboxLost) as refusal:
        await node.pause(late)
    assert refusal.value.facts["sandbox"] == order.sandbox
    assert late.snapshot not in (await node.report()).snapshots


class Deaf(Envd):
    """Reaches no guest that was restored."""

    deaf = True

    async def after_restore(self, address: str, identity: Identity) -> None:
        if self.deaf:
            raise GuestUnreachable(address, "it is deaf")
        await super().after_restore(address, identity)


async def test_an_agent_that_does_not_answer_is_told_by_the_name_of_its_sandbox(ground: Ground) -> None:
    guest = Deaf(now=lambda: 0.0)
    async with ground.opened(guest=guest) as node:
        order = create_order()
        with pytest.raises(GuestUnreachable) as refusal:
            await node.create(order)
        assert refusal.value.facts["sandbox"] == order.sandbox
        assert not ground.volume.sandbox(order.sandbox).home.exists()


async def test_a_source_that_cannot_be_woken_sleeps_on_at_its_snapshot(ground: Ground) -> None:
    guest = Deaf(now=lambda: 0.0)
    guest.deaf = False
    async with ground.opened(guest=guest) as node:
        order = create_order()
        capture = capture_order(order)
        await node.create(order)
        await node.pause(capture)
        guest.deaf = True
        with pytest.raises(GuestUnreachable):
            await node.resume(resume_order(order, capture.snapshot, 2))
        assert (await node.report()).present == ()
        guest.deaf = False
        placed = await node.resume(resume_order(order, capture.snapshot, 3))
        assert await run(placed.endpoint, "echo awake") == "awake"


async def test_orders_that_wait_for_a_kill_still_run_one_by_one(node: NodeService) -> None:
    order = create_order()
    await node.create(order)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(node.kill, KillOrder(order.sandbox, 1))
        await anyio.lowlevel.checkpoint()
        tasks.start_soon(node.create, order)
        await anyio.lowlevel.checkpoint()
        tasks.start_soon(node.create, order)
    assert len((await node.report()).present) == 1


async def test_a_pause_that_is_cancelled_at_any_moment_is_undone_or_done(node: NodeService, ground: Ground) -> None:
    order = create_order()
    placed = await node.create(order)
    incarnation = 1
    for wait_s in (0.0, 0.02, 0.05, 0.1, 0.2, 0.3):
        capture = capture_order(order, incarnation)
        with anyio.move_on_after(wait_s):
            await node.pause(capture)
        if ground.volume.snapshot(capture.snapshot).manifest.exists():
            incarnation += 1
            placed = await node.resume(resume_order(order, capture.snapshot, incarnation))
        else:
            assert not ground.volume.snapshot(capture.snapshot).home.exists()
        with anyio.fail_after(60):
            assert await run(placed.endpoint, "echo alive") == "alive"


async def test_only_so_many_sleepers_keep_their_slot(ground: Ground) -> None:
    orders = [create_order() for _ in range(2)]
    captures = [capture_order(order) for order in orders]
    async with ground.opened(parked_limit=1) as node:
        for order, capture in zip(orders, captures, strict=True):
            await node.create(order)
            await node.pause(capture)
            await node.kill(KillOrder(order.sandbox, 1, asleep=True))
        with anyio.fail_after(30):
            while ground.volume.sandbox(orders[0].sandbox).home.exists():  # noqa: ASYNC110
                await anyio.sleep(0.01)  # it is let go in the background
        assert ground.volume.sandbox(orders[1].sandbox).home.exists()
        for order, capture in zip(orders, captures, strict=True):
            placed = await node.resume(resume_order(order, capture.snapshot, 2))
            assert await run(placed.endpoint, "echo awake") == "awake"


@pytest.mark.parametrize("servers", [1, 2])
async def test_a_number_that_a_restart_made_free_is_not_taken_from_its_new_owner(ground: Ground, servers: int) -> None:
    """Neither by the server that gave it to the new owner, nor by the one after that."""
    lost = create_order()
    async with ground.opened(leave_running=True) as node:
        await node.create(lost)
        kill_sentry(ground, f"{lost.sandbox}-1")
        await until_lost(node)
    # Nothing ran any more, so the slots went with the server, as they go with the machine: the journal still has the number.
    stale = inventory.read(ground.volume.sandbox(lost.sandbox))
    assert stale is not None and stale.slot is not None
    async with ground.opened(leave_running=servers > 1) as node:
        assert lost.sandbox in (await node.report()).surviving_disks
        placed, taken = [], set[int | None]()
        while stale.slot not in taken:  # one of the first, in whatever order the spare ones are ready
            assert len(placed) < 8, f"{stale.slot} was given to none of those with {taken}"
            order = create_order()
            placed.append(await node.create(order))
            journal = inventory.read(ground.volume.sandbox(order.sandbox))
            taken.add(journal.slot if journal else None)
        if servers == 1:
            await _bury(node, lost, placed)
    if servers > 1:
        async with ground.opened() as node:
            await _bury(node, lost, placed)


async def _bury(node: NodeService, lost: CreateOrder, others: list[Placed]) -> None:
    """The others notice nothing of it."""
    await node.kill(KillOrder(lost.sandbox, 1))
    for each in others:
        assert await run(each.endpoint, "echo reachable") == "reachable"


async def test_a_disk_whose_journal_is_spoilt_survives(ground: Ground) -> None:
    order = create_order()
    async with ground.opened(leave_running=True) as node:
        placed = await node.create(order)
        await run(placed.endpoint, "echo left > /root/mark; sync")
        kill_sentry(ground, f"{order.sandbox}-1")
        await until_lost(node)
    ground.volume.sandbox(order.sandbox).journal.write_bytes(b"")
    async with ground.opened() as node:
        assert (await node.report()).surviving_disks == {order.sandbox}
        again = await node.create(replace(order, incarnation=2, cold=True, in_place=True))
        assert await run(again.endpoint, "cat /root/mark") == "left"


async def test_one_that_is_adopted_keeps_the_size_it_was_given(ground: Ground) -> None:
    order = create_order(size=replace(SIZE, memory_mb=SIZE.memory_mb + 512))
    capture = capture_order(order)
    async with ground.opened(leave_running=True) as node:
        await node.create(order)
    async with ground.opened() as node:
        await node.snapshot(capture)
        assert manifests.load(ground.volume.snapshot(capture.snapshot), capture.snapshot).size == order.size


@pytest.mark.parametrize("phase", [Phase.RUNNING, Phase.CAPTURING, Phase.THAWING])
@pytest.mark.parametrize("frozen", [True, False])
async def test_what_a_dead_server_froze_or_was_about_to_freeze_runs_on(ground: Ground, phase: Phase, frozen: bool) -> None:
    order = create_order()
    paths = ground.volume.sandbox(order.sandbox)
    async with ground.opened(leave_running=True) as node:
        placed = await node.create(order)
    journal = inventory.read(paths)
    assert journal is not None
    inventory.write(paths, replace(journal, phase=phase))
    if frozen:
        await ground.runtime().freeze(journal.container)
    async with ground.opened() as node:
        with anyio.fail_after(60):
            assert await run(placed.endpoint, "echo alive") == "alive"
        assert (await node.create(order)).endpoint == placed.endpoint
