"""The node's orders on the real engine: what they leave, what they take back, what a repeated one finds."""

from __future__ import annotations

import contextlib
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
from roost.domain.errors import (
    GuestUnreachable,
    SandboxLost,
    SnapshotDamaged,
    SnapshotForeign,
    SnapshotHasNoMemory,
    SnapshotNotFound,
)
from roost.domain.ids import SnapshotId
from roost.domain.node import KillOrder
from roost.domain.snapshot import SnapshotKind
from roost.drivers.guest.envd import Envd
from roost.node.service import NodeService
from tests.real.ground import SIZE, TEMPLATE, Ground, capture_order, create_order, resume_order

pytestmark = pytest.mark.anyio

GUEST = Envd(now=lambda: 0.0)


async def run(address: str, command: str, user: str = "root") -> str:
    code, output = await GUEST.run(address, command, user=user, timeout_s=60)
    assert code == 0, output
    return output.strip()


async def test_a_created_sandbox_runs_commands_as_user_and_as_root(node: NodeService) -> None:
    placed = await node.create(create_order())
    assert await run(placed.endpoint, "id -un", "user") == "user"
    assert await run(placed.endpoint, "sudo id -un", "user") == "root"
    assert await run(placed.endpoint, "id -un") == "root"


async def test_a_repeated_create_finds_what_is_there(node: NodeService) -> None:
    order = create_order()
    first = await node.create(order)
    await run(first.endpoint, "echo here > /root/mark")
    assert await node.create(order) == first
    assert await run(first.endpoint, "cat /root/mark") == "here"


async def test_pause_keeps_memory_and_disk_and_resume_goes_on(node: NodeService) -> None:
    order = create_order()
    placed = await node.create(order)
    await run(placed.endpoint, "echo disk > /root/mark; echo memory > /dev/shm/mark; sleep 1000 >/dev/null 2>&1 & disown")
    await run(placed.endpoint, "until pgrep -x sleep; do :; done")
    boot = await run(placed.endpoint, "cat /proc/sys/kernel/random/boot_id")
    capture = capture_order(order)
    captured = await node.pause(capture)
    assert captured.kind is SnapshotKind.MEMORY
    assert (await node.pause(capture)).snapshot == captured.snapshot  # a repeated order finds the manifest
    await node.kill(KillOrder(order.sandbox, 1, asleep=True))
    assert (await node.report()).present == ()
    again = await node.resume(resume_order(order, capture.snapshot, 2))
    assert await run(again.endpoint, "cat /root/mark /dev/shm/mark") == "disk\nmemory"
    assert await run(again.endpoint, "pgrep -c sleep") == "1"
    assert await run(again.endpoint, "cat /proc/sys/kernel/random/boot_id") == boot


async def test_a_resume_right_after_a_pause_thaws_the_frozen_source(node: NodeService) -> None:
    order = create_order()
    placed = await node.create(order)
    capture = capture_order(order)
    await node.pause(capture)
    again = await node.resume(resume_order(order, capture.snapshot, 2))
    assert again.endpoint == placed.endpoint
    await node.kill(KillOrder(order.sandbox, 1, asleep=True))  # late word of the pause: of an older incarnation
    assert await run(again.endpoint, "echo alive") == "alive"


async def test_a_cancelled_pause_leaves_the_source_running_and_no_trace(node: NodeService, ground: Ground) -> None:
    order = create_order()
    placed = await node.create(order)
    capture = capture_order(order)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(node.pause, capture)
        while not ground.volume.snapshot(capture.snapshot).home.exists():
            await anyio.lowlevel.checkpoint()  # until its first step is done
        tasks.cancel_scope.cancel()
    assert not ground.volume.snapshot(capture.snapshot).home.exists()
    assert await run(placed.endpoint, "echo alive") == "alive"
    await node.pause(capture)
    assert ground.volume.snapshot(capture.snapshot).manifest.exists()


async def test_a_snapshot_leaves_the_source_running_and_children_diverge(node: NodeService) -> None:
    order = create_order()
    placed = await node.create(order)
    await run(placed.endpoint, "echo parent > /root/mark")
    capture = capture_order(order)
    await node.snapshot(capture)
    assert await run(placed.endpoint, "echo later > /root/mark; cat /root/mark") == "later"
    child = await node.create(create_order(source=capture.snapshot))
    assert await run(child.endpoint, "cat /root/mark") == "parent"
    assert await run(child.endpoint, "cat /etc/machine-id") != await run(placed.endpoint, "cat /etc/machine-id")


async def test_a_disk_pause_boots_cold_with_every_file(node: NodeService) -> None:
    order = create_order()
    placed = await node.create(order)
    await run(placed.endpoint, "echo written > /root/mark; echo memory > /dev/shm/mark")
    boot = await run(placed.endpoint, "cat /proc/sys/kernel/random/boot_id")
    capture = capture_order(order, keep_memory=False)
    captured = await node.pause(capture)
    assert captured.kind is SnapshotKind.DISK
    await node.kill(KillOrder(order.sandbox, 1, asleep=True))
    with pytest.raises(SnapshotHasNoMemory):
        await node.resume(resume_order(order, capture.snapshot, 2))
    again = await node.resume(resume_order(order, capture.snapshot, 2, cold=True))
    assert again.cold
    assert await run(again.endpoint, "cat /root/mark; test ! -e /dev/shm/mark") == "written"
    assert await run(again.endpoint, "cat /proc/sys/kernel/random/boot_id") != boot


@pytest.mark.parametrize("file", ["memory/pages.img", "memory/checkpoint.img", "memory/pages_meta.img", "spec.json"])
async def test_a_flipped_byte_is_refused_and_the_disk_still_boots(node: NodeService, ground: Ground, file: str) -> None:
    order = create_order()
    placed = await node.create(order)
    await run(placed.endpoint, "echo safe > /root/mark; setsid sleep infinity < /dev/null > /dev/null 2>&1 &")
    await run(placed.endpoint, "until pgrep -x sleep; do :; done")
    capture = capture_order(order)
    await node.pause(capture)
    await node.kill(KillOrder(order.sandbox, 1, asleep=True))
    image = ground.volume.snapshot(capture.snapshot).home / file
    with image.open("r+b") as content:
        content.seek(image.stat().st_size // 2)
        byte = content.read(1)
        content.seek(-1, 1)
        content.write(bytes([byte[0] ^ 1]))
    with pytest.raises(SnapshotDamaged) as refusal:
        await node.resume(resume_order(order, capture.snapshot, 2))
    assert refusal.value.facts["file"] == file
    again = await node.resume(resume_order(order, capture.snapshot, 2, cold=True))
    assert "sleep infinity" in again.lost  # it says what ran in the memory that was left out
    assert not any("/.roost/" in command for command in again.lost), "the agent is back"
    assert await run(again.endpoint, "cat /root/mark") == "safe"


async def test_an_image_of_another_engine_is_refused(node: NodeService, ground: Ground) -> None:
    order = create_order()
    await node.create(order)
    capture = capture_order(order)
    await node.snapshot(capture)
    paths = ground.volume.snapshot(capture.snapshot)
    text = paths.manifest.read_text().replace(manifests.load(paths, capture.snapshot).engine, "gvisor of-another-time")
    paths.manifest.write_text(text)
    with pytest.raises(SnapshotForeign) as refusal:
        await node.create(create_order(source=capture.snapshot))
    assert "of-another-time" in refusal.value.message


async def test_an_unknown_snapshot_leaves_nothing_half_made(node: NodeService, ground: Ground) -> None:
    order = create_order(source=SnapshotId("s" + "x" * 20))
    with pytest.raises(SnapshotNotFound):
        await node.create(order)
    assert not ground.volume.sandbox(order.sandbox).home.exists()


async def test_a_process_that_is_lost_is_told_and_its_disk_survives(node: NodeService, ground: Ground) -> None:
    order = create_order()
    placed = await node.create(order)
    await run(placed.endpoint, "echo left > /root/mark; sync")
    _kill_sentry(ground, f"{order.sandbox}-1")
    with anyio.fail_after(30):
        assert (await anext(aiter(node.watch()))).sandbox == order.sandbox
    assert (await node.report()).surviving_disks == {order.sandbox}
    with pytest.raises(SandboxLost):
        await node.pause(capture_order(order))
    capture = capture_order(order, keep_memory=False)
    await node.snapshot(capture)
    again = await node.resume(resume_order(order, capture.snapshot, 2, cold=True))
    assert await run(again.endpoint, "cat /root/mark") == "left"


async def test_a_shutdown_from_inside_is_told_apart_from_a_loss(node: NodeService) -> None:
    placed = await node.create(create_order())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_shut_down, placed.endpoint)
        with anyio.fail_after(30):
            assert (await anext(aiter(node.watch()))).in_order
        tasks.cancel_scope.cancel()


async def _shut_down(address: str) -> None:
    """Ends PID 1, and with it the command that asked for it."""
    with contextlib.suppress(GuestUnreachable):
        await GUEST.run(address, "kill -TERM 1", user="root", timeout_s=60)


def _kill_sentry(ground: Ground, container: str) -> None:
    """As a crash of the engine would."""
    [state] = Path(f"/run/roost/{ground.instance}/runsc").glob(f"{container}_*.state")
    os.kill(json.loads(state.read_text())["sandbox"]["pid"], signal.SIGKILL)


async def test_what_survived_of_a_lost_sandbox_boots_in_place(node: NodeService, ground: Ground) -> None:
    order = create_order()
    placed = await node.create(order)
    await run(placed.endpoint, "echo left > /root/mark; sync")
    _kill_sentry(ground, f"{order.sandbox}-1")
    with anyio.fail_after(30):
        assert not (await anext(aiter(node.watch()))).in_order
    again = await node.create(replace(order, incarnation=2, cold=True, in_place=True))
    assert await run(again.endpoint, "cat /root/mark") == "left"


async def test_the_disk_limit_holds_over_a_sleep_and_is_given_back(node: NodeService) -> None:
    order = create_order()
    placed = await node.create(order)
    fill = "head -c 200M /dev/urandom > /root/big && sync"
    await run(placed.endpoint, fill)
    capture = capture_order(order)
    await node.pause(capture)
    await node.kill(KillOrder(order.sandbox, 1, asleep=True))
    again = await node.resume(resume_order(order, capture.snapshot, 2))
    code, output = await GUEST.run(again.endpoint, "head -c 200M /dev/urandom > /root/more && sync", user="root", timeout_s=60)
    assert code != 0, output
    assert await run(again.endpoint, "rm -f /root/more /root/big; echo kept > /root/small; sync; cat /root/small") == "kept"


async def test_memory_beyond_the_limit_kills_the_process_alone(node: NodeService) -> None:
    placed = await node.create(create_order())
    code, _ = await GUEST.run(placed.endpoint, "python3 -c 'x = bytearray(3 << 30)'", user="user", timeout_s=60)
    assert code != 0
    assert await run(placed.endpoint, "echo alive") == "alive"


async def test_another_size_than_the_templates_holds_over_a_sleep(node: NodeService) -> None:
    order = create_order(size=replace(SIZE, memory_mb=SIZE.memory_mb // 2, disk_mb=SIZE.disk_mb // 2))
    placed = await node.create(order)
    await _refused(placed.endpoint, "python3 -c 'x = bytearray(768 << 20)'")
    capture = capture_order(order)
    await node.pause(capture)
    await node.kill(KillOrder(order.sandbox, 1, asleep=True))
    again = await node.resume(resume_order(order, capture.snapshot, 2))
    await _refused(again.endpoint, "python3 -c 'x = bytearray(768 << 20)'")
    await _refused(again.endpoint, "head -c 200M /dev/urandom > /root/big && sync")
    assert await run(again.endpoint, "rm -f /root/big; echo alive") == "alive"


async def test_what_still_runs_is_adopted_and_what_was_half_made_is_not(ground: Ground) -> None:
    order, asleep, half = create_order(), create_order(), create_order()
    sleep = capture_order(asleep)
    async with ground.opened(leave_running=True) as node:
        placed = await node.create(order)
        await run(placed.endpoint, "echo before > /dev/shm/mark")
        await node.create(asleep)
        await node.pause(sleep)
        await node.kill(KillOrder(asleep.sandbox, 1, asleep=True))
        ground.volume.sandbox(half.sandbox).bundle.mkdir(parents=True)
    async with ground.opened() as node:
        report = await node.report()
        assert {presence.sandbox for presence in report.present if presence.alive} == {order.sandbox}
        assert await run(placed.endpoint, "cat /dev/shm/mark") == "before"
        assert not ground.volume.sandbox(half.sandbox).home.exists()
        again = await node.resume(resume_order(asleep, sleep.snapshot, 2))
        assert await run(again.endpoint, "echo awake") == "awake"


async def test_warm_clones_are_claimed_and_refilled(node: NodeService) -> None:
    await node.snapshots.keep_warm([WarmTarget(TEMPLATE, 1)])
    await _until_warm(node, 1)
    order = create_order()
    placed = await node.create(order)
    assert await run(placed.endpoint, "hostname") == order.sandbox
    await _until_warm(node, 1)
    await node.snapshots.keep_warm([])


async def _refused(address: str, command: str) -> None:
    code, output = await GUEST.run(address, command, user="root", timeout_s=60)
    assert code != 0, output


async def _until_warm(node: NodeService, count: int) -> None:
    with anyio.fail_after(60):
        while (await node.report()).warm.get(TEMPLATE, 0) != count:  # noqa: ASYNC110
            await anyio.sleep(0.01)  # the pool tells nobody when it is full
