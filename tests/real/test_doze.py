"""Dozing on the real engine: who falls asleep stays in memory, stopped as a whole, and loses nothing when that is dropped."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from roost.domain.ids import SandboxId, SnapshotId
from roost.domain.node import CreateOrder, KillOrder, Placed
from roost.domain.placement import MEMORY_FLOOR_BYTES
from roost.drivers.guest.envd import AGENT_PORT, Envd
from roost.node.service import NodeService
from tests.real.ground import Ground, capture_order, create_order, resume_order

pytestmark = pytest.mark.anyio

GUEST = Envd(now=time.time)
PLENTY = 4 << 30
COUNT = "import time\nn = 0\nwhile True:\n    n += 1\n    open('/dev/shm/count', 'w').write(str(n))\n    time.sleep(0.01)\n"


async def run(placed: Placed, command: str) -> str:
    code, output = await GUEST.run(placed.endpoint, command, user="root", timeout_s=60)
    assert code == 0, output
    return output.strip()


async def lull(node: NodeService, order: CreateOrder, incarnation: int = 1) -> SnapshotId:
    """It sleeps, at this snapshot."""
    capture = capture_order(order, incarnation)
    await node.pause(capture)
    await node.kill(KillOrder(order.sandbox, incarnation, asleep=True))
    return capture.snapshot


async def dozers(node: NodeService) -> set[SandboxId]:
    return set((await node.report()).dozing)


def sentry(ground: Ground, order: CreateOrder) -> int:
    [file] = Path(f"/run/roost/{ground.instance}/runsc").glob(f"{order.sandbox}-*.state")
    return json.loads(file.read_text())["sandbox"]["pid"]


def processor_ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


async def test_a_dozer_goes_on_in_the_same_process_with_its_memory_and_disk(ground: Ground) -> None:
    async with ground.opened(doze_bytes=PLENTY) as node:
        order = create_order()
        placed = await node.create(order)
        await run(
            placed, f'echo disk > /root/mark; python3 -c "{COUNT}" >/dev/null 2>&1 & while ! test -s /dev/shm/count; do :; done'
        )
        pid, snapshot = sentry(ground, order), await lull(node, order)
        assert await dozers(node) == {order.sandbox}
        again = await node.resume(resume_order(order, snapshot, 2))
        assert sentry(ground, order) == pid, "thawed, not restored"
        assert again.endpoint == placed.endpoint
        before = int(await run(again, "cat /dev/shm/count"))
        assert await run(again, "cat /root/mark; rm /root/mark") == "disk"
        with anyio.fail_after(30):
            while int(await run(again, "cat /dev/shm/count")) <= before:
                pass
        assert abs(float(await run(again, "date +%s.%N")) - time.time()) < 2
        # What it did since is not in the snapshot: a fork of the sleep has the mark.
        fork = replace(create_order(source=snapshot), size=order.size)
        assert await run(await node.create(fork), "cat /root/mark") == "disk"


async def test_a_dozer_takes_no_processor_and_answers_nobody(ground: Ground) -> None:
    async with ground.opened(doze_bytes=PLENTY) as node:
        order = create_order()
        placed = await node.create(order)
        snapshot = await lull(node, order)
        pid = sentry(ground, order)
        ticks = processor_ticks(pid)
        with pytest.raises(TimeoutError), socket.create_connection((placed.endpoint, AGENT_PORT), timeout=0.5):
            pass
        assert processor_ticks(pid) == ticks
        assert await run(await node.resume(resume_order(order, snapshot, 2)), "echo awake") == "awake"


async def test_a_connection_outlives_a_doze_also_if_it_is_dropped(ground: Ground) -> None:
    echo = (
        "import socket\ns = socket.create_server(('', 7000))\nopen('/root/up', 'w')\nc, _ = s.accept()\n"
        "while data := c.recv(1000):\n    c.sendall(data)\n"
    )
    async with ground.opened(doze_bytes=PLENTY) as node:
        order = create_order()
        placed = await node.create(order)
        await run(placed, f'python3 -c "{echo}" >/dev/null 2>&1 & while ! test -e /root/up; do :; done')
        with socket.create_connection((placed.endpoint, 7000), timeout=30) as line:
            line.sendall(b"one")
            assert line.recv(1000) == b"one"
            snapshot = await lull(node, order)
            line.sendall(b"two")  # into the doze: nobody may acknowledge it
            await node.resume(resume_order(order, snapshot, 2))
            assert await anyio.to_thread.run_sync(line.recv, 1000) == b"two"
            snapshot = await lull(node, order, 2)
            line.sendall(b"three")
            os.kill(sentry(ground, order), signal.SIGKILL)
            with anyio.fail_after(30):
                while await dozers(node):  # noqa: ASYNC110  nobody is told that a cache is gone
                    await anyio.sleep(0.01)
            await node.resume(resume_order(order, snapshot, 3))
            assert await anyio.to_thread.run_sync(line.recv, 1000) == b"three"


async def test_the_one_that_dozes_longest_goes_first_and_loses_nothing(ground: Ground) -> None:
    async with ground.opened(doze_bytes=PLENTY) as node:
        first = create_order()
        await node.create(first)
        await lull(node, first)
        each_bytes = (await node.report()).dozing[first.sandbox]
        await node.kill(KillOrder(first.sandbox, 1))
    async with ground.opened(doze_bytes=int(each_bytes * 2.5)) as node:
        orders = [create_order() for _ in range(3)]
        snapshots: list[SnapshotId] = []
        for order in orders:
            await run(await node.create(order), "echo kept > /dev/shm/mark")
            snapshots.append(await lull(node, order))
        with anyio.fail_after(30):
            while len(await dozers(node)) > 2:  # noqa: ASYNC110  dropped behind the answer
                await anyio.sleep(0.01)
        assert await dozers(node) == {order.sandbox for order in orders[1:]}
        for order, snapshot in zip(orders, snapshots, strict=True):
            assert await run(await node.resume(resume_order(order, snapshot, 2)), "cat /dev/shm/mark") == "kept"


async def test_memory_that_is_needed_is_given_up_at_once(ground: Ground) -> None:
    free = [64 << 30]
    async with ground.opened(doze_bytes=PLENTY, free_bytes=lambda: free[0]) as node:
        first, second = create_order(), create_order()
        for order in (first, second):
            await node.create(order)
            await lull(node, order)
        assert await dozers(node) == {first.sandbox, second.sandbox}
        held = (await node.report()).dozing[first.sandbox]
        reserve = (await node.report()).memory_reserve_bytes
        free[0] = reserve + MEMORY_FLOOR_BYTES  # a create needs more than that: its image
        await node.create(create_order())
        assert await dozers(node) == {second.sandbox}, "the one that dozed longest was given up before it was made"
        free[0] = reserve - held // 2  # and without any order: others grow
        with anyio.fail_after(30):
            while await dozers(node):  # noqa: ASYNC110  nobody is told
                await anyio.sleep(0.01)
        third = create_order()
        await node.create(third)
        await lull(node, third)
        assert not await dozers(node), "nobody dozes while memory is short"


async def test_a_server_that_comes_back_takes_a_dozer_up_as_one_that_sleeps(ground: Ground) -> None:
    """As after a kill -9: the process is there, stopped, and nobody knows whether it is frozen."""
    order, other = create_order(), create_order()
    async with ground.opened(doze_bytes=PLENTY, leave_running=True) as node:
        await run(await node.create(order), "echo kept > /dev/shm/mark")
        await node.create(other)
        capture, second = capture_order(order), capture_order(other)
        await node.pause(capture)
        await node.pause(second)
        os.kill(sentry(ground, order), signal.SIGSTOP)
        os.kill(sentry(ground, other), signal.SIGSTOP)
    async with ground.opened(doze_bytes=PLENTY) as node:
        present = {presence.sandbox for presence in (await node.report()).present}
        assert {order.sandbox, other.sandbox} <= present, "until control says that they sleep"
        await node.kill(KillOrder(order.sandbox, 1, asleep=True))
        assert await dozers(node) == {order.sandbox}
        again = await node.resume(resume_order(order, capture.snapshot, 2))
        assert await run(again, "cat /dev/shm/mark") == "kept"
        assert await run(await node.resume(resume_order(other, second.snapshot, 2)), "echo awake") == "awake"


async def test_a_server_that_ends_in_order_leaves_no_dozer(ground: Ground) -> None:
    order = create_order()
    async with ground.opened(doze_bytes=PLENTY) as node:
        await run(await node.create(order), "echo kept > /dev/shm/mark")
        snapshot = await lull(node, order)
        assert (await ground.runtime().inspect(f"{order.sandbox}-1")).alive
    assert not (await ground.runtime().inspect(f"{order.sandbox}-1")).alive
    async with ground.opened(doze_bytes=PLENTY) as node:
        assert await run(await node.resume(resume_order(order, snapshot, 2)), "cat /dev/shm/mark") == "kept"


async def test_a_token_that_changed_meanwhile_is_the_one_that_counts(ground: Ground) -> None:
    async with ground.opened(doze_bytes=PLENTY) as node:
        order = create_order()
        await node.create(replace(order, identity=replace(order.identity, access_token="a" * 64)))
        snapshot = await lull(node, order)
        wake = resume_order(order, snapshot, 2)
        placed = await node.resume(replace(wake, identity=replace(wake.identity, access_token="b" * 64)))
        assert [await status(placed, token) for token in ("a" * 64, "b" * 64)] == [401, 200]


async def status(placed: Placed, token: str) -> int:
    """How the agent answers somebody with this token."""
    request = (
        f"GET /files?path=/etc/hostname&username=root HTTP/1.1\r\nHost: x\r\nX-Access-Token: {token}\r\nConnection: close\r\n\r\n"
    )
    async with await anyio.connect_tcp(placed.endpoint, AGENT_PORT) as stream:
        await stream.send(request.encode())
        return int((await stream.receive()).split()[1])
