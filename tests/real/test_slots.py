"""Slots on the real kernel: what a guest reaches, what reaches a guest, what survives, what is left behind.

The guests here are sockets of this process (`slot_ground`). `test_slots_engine` has the real engine as the guest.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import anyio
import anyio.abc
import anyio.lowlevel
import anyio.to_thread
import pytest

from roost.domain.address import GUEST_ADDRESS, dns_address
from roost.domain.egress import Egress
from roost.domain.errors import NotFound
from roost.node.network import wires
from roost.node.network.slots import Slots
from tests.real.slot_ground import (
    INTERNET,
    METADATA,
    PATIENCE_S,
    PRIVATE,
    OpenSlots,
    assert_refused,
    claim_again,
    command,
    connection,
    converse,
    dial,
    disarm_host,
    disarm_router,
    guest,
    guest_of,
    listen,
    opened,
    router_of,
    silence_kernel,
    wake_kernel,
    within,
)

pytestmark = pytest.mark.anyio


async def test_host_reaches_every_port_of_a_guest(slots: Slots) -> None:
    slot = await guest(slots)
    for _ in range(3):
        with connection(None, guest_of(slot), slot.address) as (near, far):
            converse(near, far)
            assert far.getsockname()[0] == str(GUEST_ADDRESS)


async def test_guests_with_the_same_address_inside_are_told_apart(slots: Slots) -> None:
    first, second = await guest(slots), await guest(slots)
    with (
        connection(None, guest_of(first), first.address) as one,
        connection(None, guest_of(second), second.address) as two,
    ):
        converse(*one)
        converse(*two)


async def test_guest_reaches_the_internet_and_counts_its_bytes(slots: Slots, internet: str) -> None:
    slot = await guest(slots)
    before = await slots.counters(slot)
    with connection(guest_of(slot), internet, INTERNET) as (near, far):
        converse(near, far)
        near.sendall(b"x" * 100_000)
        received = 0
        while received < 100_000:
            received += len(far.recv(65536))
        converse(near, far)
    after = await slots.counters(slot)
    assert after.sent_bytes - before.sent_bytes >= 100_000
    assert 0 < after.received_bytes - before.received_bytes < 100_000


async def test_guest_reaches_nothing_private(slots: Slots, internet: str, instance: str) -> None:
    slot = await guest(slots)
    with listen(internet) as server:
        port = server.getsockname()[1]
        for address in (PRIVATE, METADATA):
            assert_refused(guest_of(slot), address, port)
        # The host refuses when the router does not ...
        disarm_router(slot)
        for address in (PRIVATE, METADATA):
            assert_refused(guest_of(slot), address, port)
        # ... the router refuses when the host does not ...
        for egress in (Egress(internet=False), Egress()):  # what it already has is not applied again
            await slots.set_egress(slot, egress)
        disarm_host(instance)
        for address in (PRIVATE, METADATA):
            assert_refused(guest_of(slot), address, port)
        # ... and without either the address answers: it was the firewalls that refused.
        disarm_router(slot)
        dial(guest_of(slot), PRIVATE, port).close()
        dial(guest_of(slot), METADATA, port).close()


async def test_guest_reaches_no_other_guest(slots: Slots, open_slots: OpenSlots, names: Callable[[], str]) -> None:
    neighbours = await open_slots(names())
    assert not neighbours.network.overlaps(slots.network)
    slot, sibling, stranger = await guest(slots), await guest(slots), await guest(neighbours)
    for other in (sibling, stranger):
        with listen(guest_of(other)) as server:
            port = server.getsockname()[1]
            assert_refused(guest_of(slot), other.address, port)
            disarm_router(slot)
            assert_refused(guest_of(slot), other.address, port)
            await slots.set_egress(slot, Egress())
            socket.create_connection((other.address, port), timeout=PATIENCE_S).close()


async def test_guest_reaches_no_address_of_the_host(slots: Slots) -> None:
    slot, sibling = await guest(slots), await guest(slots)
    disarm_router(slot)
    addresses = addresses_of_host()
    assert {"127.0.0.1", str(dns_address(slots.network))} < addresses
    with socket.create_server(("0.0.0.0", 0)) as server:
        server.setblocking(False)
        port = server.getsockname()[1]
        for address in sorted(addresses - {"127.0.0.1"}):
            for netns in (guest_of(slot), guest_of(sibling)):
                try:
                    dial(netns, address, port).close()
                except ConnectionRefusedError:
                    continue
                except OSError:
                    # Other Roosts come and go beside this one: to an address that went with one of them no host answers.
                    assert address not in addresses_of_host(), f"{address} does not refuse"
                else:
                    pytest.fail(f"{address} answers")
        with pytest.raises(BlockingIOError):
            server.accept()
        server.settimeout(PATIENCE_S)
        socket.create_connection((str(dns_address(slots.network)), port), timeout=PATIENCE_S).close()
        server.accept()[0].close()


def addresses_of_host() -> set[str]:
    return {line.split()[3].split("/")[0] for line in command("ip", "-o", "-4", "address").splitlines()}


async def test_a_false_sender_gets_nowhere(slots: Slots, internet: str) -> None:
    slot = await guest(slots)
    command("ip", "-n", guest_of(slot), "address", "add", "192.0.2.77/32", "dev", "eth0")
    with within(internet, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as receiver:
        receiver.bind((INTERNET, 0))
        receiver.settimeout(PATIENCE_S)
        for source in ("192.0.2.77", str(GUEST_ADDRESS)):
            with within(guest_of(slot), lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as sender:
                sender.bind((source, 0))
                sender.sendto(source.encode(), receiver.getsockname())
        # In order on one path: had the first got through, it would be here before the second.
        assert receiver.recv(100) == str(GUEST_ADDRESS).encode()


@pytest.mark.parametrize("armed", ["host and router", "router alone"])
async def test_strangers_cannot_open_connections_into_a_guest(slots: Slots, internet: str, instance: str, armed: str) -> None:
    slot = await guest(slots)
    command("ip", "-n", internet, "route", "add", "default", "via", "203.0.113.1")
    with (
        within(guest_of(slot), lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as receiver,
        within(internet, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as stranger,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as host,
    ):
        receiver.bind(("0.0.0.0", 0))
        receiver.settimeout(PATIENCE_S)
        port = receiver.getsockname()[1]
        if armed == "router alone":
            disarm_host(instance)
        stranger.sendto(b"stranger", (slot.address, port))
        host.sendto(b"host", (slot.address, port))
        assert receiver.recv(100) == b"host"


async def test_egress_changes_while_connections_are_open(slots: Slots, internet: str) -> None:
    slot = await guest(slots)
    with connection(guest_of(slot), internet, INTERNET) as (near, far), listen(internet) as server:
        port = server.getsockname()[1]
        with connection(None, guest_of(slot), slot.address) as inwards:
            await slots.set_egress(slot, Egress(internet=False))
            assert_refused(guest_of(slot), INTERNET, port)
            near.sendall(b"out")
            with pytest.raises(ConnectionResetError):
                near.recv(1)
            converse(*inwards)  # the way in, and its answers, are no egress
        far.close()
        await slots.set_egress(slot, Egress(internet=False, allow=("203.0.113.0/24",)))
        dial(guest_of(slot), INTERNET, port).close()
        await slots.set_egress(slot, Egress(deny=("203.0.113.2",)))
        assert_refused(guest_of(slot), INTERNET, port)
        await slots.set_egress(slot, Egress(allow=("203.0.113.2",), deny=("0.0.0.0/0",)))
        dial(guest_of(slot), INTERNET, port).close()
        await slots.set_egress(slot, Egress(allow=("0.0.0.0/0",)))
        assert_refused(guest_of(slot), PRIVATE, port)


async def test_connections_outlive_the_server(open_slots: OpenSlots, instance: str) -> None:
    with ExitStack() as stack:
        async with opened(instance, ending="keep", spare=1) as slots:
            slot, other = await guest(slots), await guest(slots)
            near, far = stack.enter_context(connection(None, guest_of(slot), slot.address))
            converse(near, far)
        converse(near, far)
        restarted = await open_slots(instance, adopt=(slot.index, 900))
        converse(near, far)
        assert await restarted.get(slot.index) == slot
        assert restarted.network == slots.network
        for gone in (other.index, 900):
            with pytest.raises(NotFound):
                await restarted.get(gone)
        assert wires.traces(instance) == {slot.index}
        assert (await restarted.claim()).index != slot.index
        converse(near, far)


async def test_connections_outlive_the_guests_absence(slots: Slots) -> None:
    slot = await guest(slots)
    with connection(None, guest_of(slot), slot.address) as (near, far):
        converse(near, far)
        silence_kernel(slot)
        near.sendall(b"are you there?")
        await slots.prepare(slot)  # an address, and still nobody behind it
        with socket.socket() as newcomer:
            newcomer.settimeout(0.3)
            with pytest.raises(TimeoutError):  # neither accepted nor refused
                newcomer.connect((slot.address, far.getsockname()[1]))
        wake_kernel(slot)
        assert far.recv(100) == b"are you there?"
        converse(near, far)


async def test_a_claim_takes_a_spare_and_another_is_made(open_slots: OpenSlots, instance: str) -> None:
    slots = await open_slots(instance, spare=2)
    claimed = [await slots.claim() for _ in range(8)]
    assert len({slot.address for slot in claimed}) == 8
    for slot in claimed:
        wake_kernel(slot)
        with connection(None, guest_of(slot), slot.address) as (near, far):
            converse(near, far)


async def test_a_released_slot_rests_before_it_is_used_again(open_slots: OpenSlots, instance: str) -> None:
    slots = await open_slots(instance, rest_s=3600.0)
    slot = await slots.claim()
    await slots.release(slot)
    await slots.release(slot)
    with pytest.raises(NotFound):
        await slots.prepare(slot)
    assert (await slots.claim()).index != slot.index
    await slots.close(remove=False)
    assert slot.index not in wires.traces(instance)


async def test_a_released_slot_serves_the_next_sandbox(open_slots: OpenSlots, instance: str) -> None:
    slots = await open_slots(instance, rest_s=0.0)
    slot = await guest(slots)
    silence_kernel(slot)  # as gVisor leaves it
    await slots.release(slot)
    again = await claim_again(slots, slot)
    await slots.prepare(again)
    wake_kernel(again)
    with connection(None, guest_of(again), again.address) as (near, far):
        converse(near, far)
    assert wires.traces(instance) == {slot.index}, "none was made besides"


async def test_no_more_slots_are_kept_than_asked_for(open_slots: OpenSlots, instance: str) -> None:
    slots = await open_slots(instance, kept=2)
    for slot in [await slots.claim() for _ in range(5)]:
        await slots.release(slot)
    with anyio.fail_after(PATIENCE_S):
        while len(wires.traces(instance)) > 2:  # noqa: ASYNC110  nothing tells
            await anyio.sleep(0.01)
    assert slots.counts().spare == 2


async def test_fifty_slots_leave_nothing(slots: Slots, instance: str) -> None:
    async with anyio.create_task_group() as tasks:
        for _ in range(50):
            tasks.start_soon(slots.claim)
    assert len(wires.traces(instance)) == 50
    await slots.close(remove=True)
    assert wires.traces(instance) == set()


async def test_a_claim_given_up_leaves_nothing(slots: Slots, instance: str) -> None:
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(slots.claim)
            await anyio.lowlevel.checkpoint()
            scope.cancel()
    assert wires.traces(instance) == set()


async def test_what_a_crash_left_is_removed(open_slots: OpenSlots, instance: str) -> None:
    async with opened(instance, ending="crash", spare=2) as slots:
        half, whole = await slots.claim(), await slots.claim()
    command("ip", "netns", "del", router_of(half))
    restarted = await open_slots(instance, adopt=(half.index, whole.index))
    assert wires.traces(instance) == {whole.index}
    with pytest.raises(NotFound):
        await restarted.get(half.index)


async def test_the_range_of_an_instance_that_is_gone_is_free(open_slots: OpenSlots, instance: str, tmp_path: Path) -> None:
    leases = tmp_path / "networks"
    leases.mkdir()
    for address in ("198.18.0.0", "198.18.16.0", "198.19.240.0"):
        (leases / f"{address}_20").write_text("ghost\n")
    slots = await open_slots(instance, run_directory=tmp_path)
    lease = leases / f"{slots.network.network_address}_20"
    assert {path.name for path in leases.iterdir()} == {"lock", lease.name}
    assert lease.read_text().strip() == instance
    await slots.close(remove=True)
    assert [path.name for path in leases.iterdir()] == ["lock"]


# Run where /run/netns is a plain directory. Somebody else is about to mount it, and holds the lock, when a server wants to.
SHARE_BESIDE_ANOTHER = """
import fcntl, os, subprocess, threading
from pathlib import Path
from roost.node.network import wires

def mounts():
    return [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()].count(str(wires.NETNS_DIRECTORY))

before = mounts()
other = os.open(wires.NETNS_DIRECTORY, os.O_RDONLY)
fcntl.flock(other, fcntl.LOCK_EX)
server = threading.Thread(target=wires.share_netns_directory)
server.start()
while server.is_alive() and "->" not in Path("/proc/locks").read_text():
    pass
subprocess.run(["mount", "--bind", "--make-shared", wires.NETNS_DIRECTORY, wires.NETNS_DIRECTORY], check=True)
os.close(other)
server.join()
print(mounts() - before)
"""


def test_servers_that_start_side_by_side_mount_the_directory_of_namespaces_once() -> None:
    alone = 'mount -t tmpfs none /run && mkdir /run/netns && exec "$@"'
    words = ("unshare", "--mount", "--propagation", "private", "sh", "-c", alone, "-", sys.executable, "-c", SHARE_BESIDE_ANOTHER)
    assert command(*words) == "1\n"
