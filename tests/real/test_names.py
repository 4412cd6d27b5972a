"""The names that a guest asks for, on the real kernel: who answers, how much it may ask, and when it gets no answer."""

from __future__ import annotations

import secrets
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.abc
import anyio.lowlevel
import anyio.to_thread
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream

from roost.domain.address import GATEWAY_ADDRESS
from roost.domain.egress import Egress
from roost.domain.errors import Fault
from roost.node.network.slots import Slots, SlotSettings
from tests.real.server import eventually
from tests.real.slot_ground import (
    INTERNET,
    PATIENCE_S,
    command,
    dial,
    guest,
    guest_of,
    opened,
    router_of,
    within,
)

pytestmark = pytest.mark.anyio


async def test_a_flood_of_questions_stops_at_the_router(slots: Slots) -> None:
    slot = await guest(slots)
    with within(guest_of(slot), lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as sock:
        for _ in range(3000):
            sock.sendto(question("flood.example"), (str(GATEWAY_ADDRESS), 53))

    def dropped() -> None:
        chain = command("ip", "netns", "exec", router_of(slot), "nft", "list", "chain", "ip", "roost", "from_guest")
        (limit,) = (line for line in chain.splitlines() if "limit rate" in line)
        assert 0 < int(limit.split("packets")[-1].split()[0]) < 3000

    await anyio.to_thread.run_sync(eventually, dropped)  # the kernel may get to them behind the last call


async def test_a_forwarder_that_cannot_listen_fails_the_opening(instance: str) -> None:
    with socket.create_server(("0.0.0.0", 0)) as other:
        async with anyio.create_task_group() as tasks:
            settings = SlotSettings(spare=0, dns_port=other.getsockname()[1])
            slots = Slots(instance=instance, tasks=tasks, settings=settings)
            with pytest.raises(Fault, match="cannot listen"):
                await slots.open(())
            await slots.close(remove=True)


def question(name: str) -> bytes:
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return secrets.token_bytes(2) + struct.pack(">HHHHH", 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">HH", 1, 1)


def reply(query: bytes, *, truncated: bool = False) -> bytes:
    flags = 0x8180 | (0x0200 if truncated else 0)
    record = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 60, 4) + socket.inet_aton(INTERNET)
    header = query[:2] + struct.pack(">HHHHH", flags, 1, 0 if truncated else 1, 0, 0)
    return header + query[12:] + (b"" if truncated else record)


@asynccontextmanager
async def resolver(directory: Path) -> AsyncIterator[Path]:
    """A resolver on a loopback address of its own, and the resolv.conf that names it. By UDP it says that its answer is
    too long.
    """
    address = f"127.{1 + secrets.randbelow(250)}.{secrets.randbelow(250)}.{1 + secrets.randbelow(250)}"
    path = directory / "resolv.conf"
    path.write_text(f"search example\nnameserver {address}\n")

    async def serve_stream(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            incoming = BufferedByteReceiveStream(stream)
            query = await incoming.receive_exactly(int.from_bytes(await incoming.receive_exactly(2)))
            answer = reply(query)
            await stream.send(struct.pack(">H", len(answer)) + answer)

    async def serve_datagrams(datagrams: anyio.abc.UDPSocket) -> None:
        async for query, source in datagrams:
            await datagrams.sendto(reply(query, truncated=b"\x04long" in query), *source)

    async with (
        await anyio.create_tcp_listener(local_host=address, local_port=53) as listener,
        await anyio.create_udp_socket(local_host=address, local_port=53) as datagrams,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(listener.serve, serve_stream)
        tasks.start_soon(serve_datagrams, datagrams)
        yield path
        tasks.cancel_scope.cancel()


def ask_datagram(netns: str, query: bytes, at: str = str(GATEWAY_ADDRESS)) -> bytes:
    with within(netns, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as sock:
        sock.settimeout(PATIENCE_S)
        sock.connect((at, 53))
        sock.send(query)
        return sock.recv(4096)


def ask_stream(netns: str, query: bytes) -> bytes:
    with dial(netns, str(GATEWAY_ADDRESS), 53) as sock:
        sock.sendall(struct.pack(">H", len(query)) + query)
        with sock.makefile("rb") as stream:
            return stream.read(int.from_bytes(stream.read(2)))


async def test_names_resolve_by_datagram_and_stream(instance: str, tmp_path: Path) -> None:
    seen: list[tuple[int, str]] = []

    def note(slot: int, name: str) -> None:
        seen.append((slot, name))

    async with (
        resolver(tmp_path) as resolv_conf,
        opened(instance, resolv_conf=resolv_conf, on_query=note) as slots,
    ):
        slot = await guest(slots)
        short, long = question("Www.example"), question("long.example")
        assert await anyio.to_thread.run_sync(ask_datagram, guest_of(slot), short) == reply(short)
        assert await anyio.to_thread.run_sync(ask_datagram, guest_of(slot), long) == reply(long, truncated=True)
        assert await anyio.to_thread.run_sync(ask_stream, guest_of(slot), long) == reply(long)
        assert seen == [(slot.index, "www.example"), (slot.index, "long.example"), (slot.index, "long.example")]

        resolv_conf.write_text("# no resolver at all\n")
        failed = await anyio.to_thread.run_sync(ask_datagram, guest_of(slot), short)
        assert failed[:2] == short[:2]
        assert failed[3] & 0x0F == 2

        await slots.set_egress(slot, Egress(internet=False))
        refused = await anyio.to_thread.run_sync(ask_datagram, guest_of(slot), short)
        assert (refused[:2], refused[3] & 0x0F) == (short[:2], 5)
