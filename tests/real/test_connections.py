"""New connections after a sleep: inside, and to hosts that remember the sandbox's last ones.

On an engine without Roost's patch these fail: it draws new TCP secrets at every restore and goes on remembering connections by
the old ones, so that half of those that use a remembered pair of ports are ignored for a minute.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from roost.client import Process, Sandbox
from roost.domain.address import GATEWAY_ADDRESS, GUEST_ADDRESS
from roost.domain.ids import SandboxId
from roost.domain.node import KillOrder
from roost.edge.limits import AGENT_PORT
from roost.node.service import NodeService
from tests.real import connector
from tests.real.ground import Ground, capture_order, create_order, resume_order
from tests.real.server import Server, eventually, said, sandbox_of
from tests.real.slot_ground import command, within

pytestmark = pytest.mark.anyio

SLEEPS = 6
RATE = 50  # connections a second
REMEMBERED = 3000  # at first: as many as a minute of that rate leaves
MAY_WAIT_S = 1.0  # besides the sleep itself

PORTS = (20001, 20002, 20003)
NEAR_S = 2.0  # of the 275 in which sequence numbers go round
TICK_S = 64e-9  # what the engine counts by, from a secret start
ETH_P_IP, SYN = 0x0800, 2


def test_no_connection_inside_waits_longer_than_the_sleep(server: Server) -> None:
    with sandbox_of(server) as sandbox, connecting(sandbox) as process:
        for _ in range(SLEEPS):
            sleep_once(server, sandbox)
        report = told(process)
    assert report["count"] > REMEMBERED + SLEEPS * RATE // 4, "it went on connecting"
    assert overlong(report) == []


def test_nor_does_one_in_a_fork(server: Server) -> None:
    """A fork forgets the connections that its parent remembers: it counts by other secrets."""
    with sandbox_of(server) as sandbox, connecting(sandbox) as process:
        (child,), failures = sandbox.fork(1)
        assert failures == ()
        try:
            with child.attach(process.pid) as its_own:
                said(child, "sleep 3")
                report = told(its_own)
            assert report["count"] > REMEMBERED + RATE
            assert overlong(report) == []
        finally:
            child.kill()


async def test_sequence_numbers_go_on_over_a_sleep(node: NodeService, ground: Ground) -> None:
    """As every host outside expects that still remembers a connection of the sandbox."""
    created = create_order()
    await node.create(created)
    before = [await first_number(ground, created.sandbox, port) for port in PORTS]
    order = capture_order(created)
    await node.pause(order)
    await node.kill(KillOrder(created.sandbox, 1, asleep=True))
    await node.resume(resume_order(created, order.snapshot, 2))
    after = [await first_number(ground, created.sandbox, port) for port in PORTS]
    assert [advance_s(*each) for each in zip(before, after, strict=True)] == pytest.approx([0.0, 0.0, 0.0], abs=NEAR_S)


async def test_clones_of_one_image_cannot_predict_each_others(node: NodeService, ground: Ground) -> None:
    """Everybody's sandboxes are clones of one template, and have one address inside. With the same secrets each would know what
    another's connections look like from afar, and a host outside could break into them."""
    one, other = create_order(), create_order()
    for order in (one, other):
        await node.create(order)
    ones = [await first_number(ground, one.sandbox, port) for port in PORTS]
    others = [await first_number(ground, other.sandbox, port) for port in PORTS]
    distances = [abs(advance_s(*each)) for each in zip(ones, others, strict=True)]
    assert max(distances) > NEAR_S, distances


@contextmanager
def connecting(sandbox: Sandbox) -> Iterator[Process]:
    sandbox.files.write("connector.py", Path(connector.__file__).read_bytes())
    with sandbox.start(["python3", "-u", "connector.py", str(RATE), str(REMEMBERED)], stdin=True) as process:
        first = next(iter(process)).data
        assert first == b"ready\n", (first, *process)
        yield process


def sleep_once(server: Server, sandbox: Sandbox) -> None:
    """It is really gone in between: a resume that comes at once only thaws it."""
    sandbox.pause()
    eventually(lambda: is_asleep(server, sandbox))
    sandbox.resume()
    said(sandbox, "sleep 1")  # it has to be awake for a while to connect


def is_asleep(server: Server, sandbox: Sandbox) -> None:
    journal = json.loads((server.volume / "sandboxes" / sandbox.id / "journal.json").read_text())
    assert journal["phase"] == "asleep"


def told(process: Process) -> dict[str, Any]:
    """What it says when it is told to end."""
    process.send(b"\n")
    output = b"".join(each.data for each in process)
    return json.loads(output.splitlines()[-1])


def overlong(report: dict[str, Any]) -> list[str]:
    """The waits that the time in which nothing ran there does not explain."""
    found: list[str] = []
    for began, ended in report["slow"]:
        still = sum(max(0.0, min(ended, end) - max(began, start)) for start, end in report["missed"])
        if ended - began > still + MAY_WAIT_S:
            found.append(f"{ended - began:.1f} s, {still:.1f} of them asleep")
    return found


async def first_number(ground: Ground, sandbox: SandboxId, port: int) -> tuple[float, int]:
    """The sequence number with which the guest answers a connection to its agent from this port, and when."""
    namespaces = json.loads(ground.volume.sandbox(sandbox).spec.read_text())["linux"]["namespaces"]
    guest = next(Path(each["path"]).name for each in namespaces if each["type"] == "network")
    router = guest.replace("-g", "-r")
    # It takes in no answers of the guest, which it never asks anything.
    answers = ("nft", "insert", "rule", "ip", "roost", "input", "ct", "state", "established", "accept")
    await anyio.to_thread.run_sync(command, "ip", "netns", "exec", router, *answers)
    return await anyio.to_thread.run_sync(within, router, lambda: _ask_for_number(port))


def _ask_for_number(port: int) -> tuple[float, int]:
    """From the router, which has the same address in every slot: so the number depends on nothing else."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_IP)) as tap, socket.socket() as connection:
        tap.bind(("lan", ETH_P_IP))
        tap.settimeout(30)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # leave nothing behind
        connection.settimeout(30)
        connection.bind((str(GATEWAY_ADDRESS), port))
        connection.connect((str(GUEST_ADDRESS), AGENT_PORT))
        while True:
            packet = tap.recv(65536)
            header = (packet[0] & 15) * 4
            source, target, number = struct.unpack_from("!HHI", packet, header)
            if packet[9] == socket.IPPROTO_TCP and (source, target) == (AGENT_PORT, port) and packet[header + 13] & SYN:
                return time.monotonic(), number


def advance_s(before: tuple[float, int], after: tuple[float, int]) -> float:
    """By how much the numbers went further than time did; anything within half a round where the secrets are not the same."""
    round_s = TICK_S * (1 << 32)
    went = (after[1] - before[1]) % (1 << 32) * TICK_S - (after[0] - before[0])
    return (went + round_s / 2) % round_s - round_s / 2
