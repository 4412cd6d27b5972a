"""A network slot is used by one sandbox after another. The next one hears nothing that was meant for the former one, cannot go on
with its connections, and is not held to its rules.

The guests are sockets of this process in the slot's namespace (`tests.real.slot_ground`). Root inside may listen to every
frame of its link: so does the test.
"""

from __future__ import annotations

import secrets
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from roost.domain.address import GUEST_ADDRESS
from roost.domain.egress import Egress
from roost.node.network.slots import Slot, Slots
from tests.real.slot_ground import (
    INTERNET,
    PATIENCE_S,
    OpenSlots,
    claim_again,
    command,
    connection,
    converse,
    dial,
    guest,
    guest_of,
    instance,  # noqa: F401
    internet,  # noqa: F401
    listen,
    names,  # noqa: F401
    open_slots,  # noqa: F401
    router_of,
    silence_kernel,
    wake_kernel,
    within,
)

pytestmark = pytest.mark.anyio

_IP = 0x0800
SYN, ACK = 0x02, 0x10


@pytest.fixture
async def slots(open_slots: OpenSlots, instance: str) -> Slots:  # noqa: F811
    return await open_slots(instance, rest_s=0.0)


class Ear:
    """Hears every frame that arrives in a slot."""

    def __init__(self, slot: Slot) -> None:
        self._slot = slot
        self._socket = within(
            guest_of(slot), lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.htons(_IP))
        )
        self._socket.settimeout(PATIENCE_S)

    def heard(self) -> bytes:
        """All that has arrived so far. The host says the last word: what was under way before it has come before it."""
        last, frames = secrets.token_bytes(16), b""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as host:
            host.sendto(last, (self._slot.address, 9))
        while last not in frames:
            frames += self._socket.recv(65536)
        return frames

    def close(self) -> None:
        self._socket.close()


@contextmanager
def listening_in(slot: Slot) -> Iterator[Ear]:
    ear = Ear(slot)
    try:
        yield ear
    finally:
        ear.close()


def say(slot: Slot, source: tuple[str, int], target: tuple[str, int], flags: int) -> None:
    """One packet of a connection, by hand: a guest's own kernel would reset what it does not know."""
    head = struct.pack(">HHIIBBHHH", source[1], target[1], 1, 1, 5 << 4, flags, 65535, 0, 0)
    addresses = socket.inet_aton(source[0]) + socket.inet_aton(target[0])
    words = struct.unpack(">16H", addresses + struct.pack(">HH", socket.IPPROTO_TCP, len(head)) + head)
    total = sum(words)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    head = head[:16] + struct.pack(">H", ~total & 0xFFFF) + head[18:]
    with within(guest_of(slot), lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP)) as raw:
        raw.sendto(head, (target[0], 0))


def vanish(slot: Slot, *sockets: socket.socket) -> None:
    """The sandbox is killed: its connections end without a word to anybody."""
    silence_kernel(slot)
    for each in sockets:
        each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        each.close()


async def test_what_the_internet_still_sends_to_the_former_sandbox(slots: Slots, internet: str) -> None:  # noqa: F811
    former = await guest(slots)
    with connection(guest_of(former), internet, INTERNET) as (near, far):
        converse(near, far)
        vanish(former, near)
        await slots.release(former)
        again = await claim_again(slots, former)
        await slots.prepare(again)
        with listening_in(again) as ear:
            far.sendall(b"for the former one")
            with pytest.raises(ConnectionResetError):  # the machine knows nothing of it any more, and says so
                far.recv(1)
            assert b"for the former one" not in ear.heard()


@pytest.mark.parametrize("flags", [SYN, ACK])
async def test_the_next_sandbox_cannot_take_up_a_connection_of_the_former(
    slots: Slots,
    internet: str,  # noqa: F811
    flags: int,
) -> None:
    """It knows whom the former one talked to, from which port, and begins there before the other end has noticed."""
    former = await guest(slots)
    with connection(guest_of(former), internet, INTERNET) as (near, far):
        converse(near, far)
        port, site = near.getsockname()[1], near.getpeername()
        vanish(former, near)
        await slots.release(former)
        again = await claim_again(slots, former)
        await slots.prepare(again)
        with listening_in(again) as ear:
            say(again, (str(GUEST_ADDRESS), port), site, flags)
            far.sendall(b"for the former one")
            assert b"for the former one" not in ear.heard()
            with pytest.raises(ConnectionResetError):
                far.recv(1)


async def test_datagrams_that_answer_the_former_sandbox(slots: Slots, internet: str) -> None:  # noqa: F811
    former = await guest(slots)
    with within(internet, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as site:
        site.bind((INTERNET, 0))
        site.settimeout(PATIENCE_S)
        with within(guest_of(former), lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as asking:
            asking.sendto(b"question", site.getsockname())
            _, asker = site.recvfrom(100)
        with listening_in(former) as ear:
            site.sendto(b"first answer", asker)
            assert b"first answer" in ear.heard(), "while it is there, answers come"
        vanish(former)
        await slots.release(former)
        again = await claim_again(slots, former)
        await slots.prepare(again)
        with listening_in(again) as ear:
            site.sendto(b"second answer", asker)
            assert b"second answer" not in ear.heard()


async def test_what_the_host_still_sends_to_the_former_sandbox(slots: Slots) -> None:
    """Somebody's upload, say, that the edge was in the middle of."""
    former = await guest(slots)
    with connection(None, guest_of(former), former.address) as (near, far):
        converse(near, far)
        vanish(former, far)
        await slots.release(former)
        again = await claim_again(slots, former)
        await slots.prepare(again)
        with listening_in(again) as ear:
            near.sendall(b"for the former one")
            assert b"for the former one" not in ear.heard()
            with connection(None, guest_of(await awake(again)), again.address) as both:
                converse(*both)  # while what is the next one's own comes through


async def awake(slot: Slot) -> Slot:
    wake_kernel(slot)
    return slot


@pytest.mark.parametrize("former_rules", [Egress(internet=False), Egress(internet=False, allow=("example.com",))])
async def test_the_former_ones_rules_end_with_it(slots: Slots, internet: str, former_rules: Egress) -> None:  # noqa: F811
    former = await guest(slots)
    await slots.set_egress(former, former_rules)
    vanish(former)
    await slots.release(former)
    again = await claim_again(slots, former)
    await slots.prepare(again)
    wake_kernel(again)
    with listen(internet) as server:
        dial(guest_of(again), INTERNET, server.getsockname()[1]).close()
    table = command("ip", "netns", "exec", router_of(again), "nft", "list", "table", "ip", "roost")
    assert "detour" not in table, "nobody's gate is on its way"


async def test_what_the_former_one_was_allowed_ends_with_it(slots: Slots, internet: str) -> None:  # noqa: F811
    """A connection that was open under open rules is not a way out for a sandbox without egress."""
    former = await guest(slots)
    with connection(guest_of(former), internet, INTERNET) as (near, far):
        port, site = near.getsockname()[1], near.getpeername()
        converse(near, far)
        vanish(former, near)
        await slots.release(former)
        again = await claim_again(slots, former)
        await slots.set_egress(again, Egress(internet=False))
        await slots.prepare(again)
        wake_kernel(again)
        with within(guest_of(again), socket.socket) as thief:
            thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            thief.bind((str(GUEST_ADDRESS), port))
            thief.settimeout(PATIENCE_S)
            with pytest.raises(ConnectionRefusedError):
                thief.connect(site)
