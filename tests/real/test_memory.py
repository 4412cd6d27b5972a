"""A sandbox at its limits, on the real engine: what outgrows it is killed inside, and the machine around it lives on."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from roost.domain.errors import GuestUnreachable
from roost.domain.node import KillOrder, Placed
from roost.drivers.guest.envd import Envd
from roost.node.service import NodeService
from tests.real.ground import SIZE, capture_order, create_order, resume_order

pytestmark = pytest.mark.anyio

GUEST = Envd(now=lambda: 0.0)
SMALL = replace(SIZE, memory_mb=512)

# Each writes to all of its memory, so that nothing of it is shared or zero, and then stays.
HOLD = "import os, sys, time; held = bytearray(os.urandom(1 << 20) * int(sys.argv[1])); time.sleep(1000)"
# A shell's fork bomb, bounded: nobody may be left with one that a failing test did not end.
BOMB = "timeout -s KILL 60 bash -c 'ulimit -t 20; :(){ :|:& };:; sleep 60'"


async def run(placed: Placed, command: str, *, user: str = "root", timeout_s: float = 120) -> str:
    code, output = await GUEST.run(placed.endpoint, command, user=user, timeout_s=timeout_s)
    assert code == 0, output
    return output.strip()


async def start(placed: Placed, name: str, command: str, *, user: str = "root") -> None:
    """Runs in the background, in a session of its own, its process id in a file."""
    await run(placed, f"setsid {command} </dev/null >/dev/null 2>&1 & echo $! > /root/{name}.pid")


async def lives(placed: Placed, name: str) -> bool:
    code, _ = await GUEST.run(placed.endpoint, f"kill -0 $(cat /root/{name}.pid)", user="root", timeout_s=30)
    return code == 0


async def test_many_that_outgrow_it_together_do_not_take_the_machine_along(node: NodeService) -> None:
    """None of them is large. Together they are more than twice what there is."""
    placed = await node.create(create_order(size=SMALL))
    await start(placed, "bystander", "sleep 1000")
    for _ in range(3):
        await run(placed, f"for each in $(seq 60); do python3 -c '{HOLD}' 20 >/dev/null 2>&1 & done; sleep 5")
        assert await run(placed, "echo alive") == "alive"
        assert await lives(placed, "bystander")
        await run(placed, "pkill -KILL python3; true")
    (presence,) = (await node.report()).present
    assert presence.alive and presence.incarnation == 1


async def test_beside_a_hog_no_small_process_dies(node: NodeService) -> None:
    placed = await node.create(create_order(size=SMALL))
    for number in range(50):
        await start(placed, f"small-{number}", "sleep 1000")
    await start(placed, "worker", f"python3 -c '{HOLD}' 40")
    code, _ = await GUEST.run(placed.endpoint, f"python3 -c '{HOLD}' 900", user="user", timeout_s=60)
    assert code != 0
    assert await run(placed, "pgrep -xc sleep") == "50"
    assert await lives(placed, "worker")


@pytest.mark.parametrize(("memory_mb", "pids"), [(2048, 300), (256, 4096)])
async def test_a_fork_bomb_ends_with_its_processes(node: NodeService, memory_mb: int, pids: int) -> None:
    """Whatever it uses up first: processes, or memory."""
    placed = await node.create(create_order(size=replace(SIZE, memory_mb=memory_mb, pids=pids)))
    await start(placed, "bystander", "sleep 1000")
    await start(placed, "bomb", BOMB)
    with anyio.fail_after(120):
        while True:
            try:
                _, bombs = await GUEST.run(placed.endpoint, "pgrep -xc bash", user="root", timeout_s=20)
                if bombs.strip() == "0":
                    break
            except GuestUnreachable:
                assert (await node.report()).present[0].alive
            await anyio.sleep(0.5)
    assert await lives(placed, "bystander")


async def test_files_beyond_the_limit_cost_the_writer_and_survive_a_sleep(node: NodeService) -> None:
    """Only root inside can have them: it mounts what it likes. Nobody's end gives their memory back."""
    order = create_order(size=SMALL)
    placed = await node.create(order)
    code, _ = await GUEST.run(
        placed.endpoint, "mount -t tmpfs -o size=700m big /mnt && head -c 600M /dev/urandom > /mnt/big", user="root", timeout_s=60
    )
    assert code != 0
    written = int(await run(placed, "stat -c %s /mnt/big"))
    assert written > 400 << 20
    capture = capture_order(order)
    await node.pause(capture)
    await node.kill(KillOrder(order.sandbox, 1, asleep=True))
    again = await node.resume(resume_order(order, capture.snapshot, 2))
    assert await run(again, "stat -c %s /mnt/big") == str(written)
    assert await run(again, "grep MemTotal /proc/meminfo | tr -dc 0-9") == str(SMALL.memory_mb << 10)


@pytest.mark.parametrize("memory_mb", [SIZE.memory_mb, SMALL.memory_mb])
async def test_files_in_memory_cannot_fill_it(node: NodeService, memory_mb: int) -> None:
    """Also of a sandbox that has less memory than its template."""
    order = create_order(size=replace(SIZE, memory_mb=memory_mb))
    placed = await node.create(order)
    await start(placed, "bystander", "sleep 1000")
    for path in ("/tmp", "/dev/shm"):
        code, output = await GUEST.run(placed.endpoint, f"head -c 2G /dev/urandom > {path}/big", user="user", timeout_s=120)
        assert code != 0 and "No space left" in output
    capture = capture_order(order)
    await node.pause(capture)
    await node.kill(KillOrder(order.sandbox, 1, asleep=True))
    again = await node.resume(resume_order(order, capture.snapshot, 2))
    assert await lives(again, "bystander")
    assert await run(again, "cat /tmp/big /dev/shm/big | wc -c") == str(memory_mb * (1 << 20) * 3 // 4)
