"""Gates on the real kernel: which names are reached and resolve, and what ends with a gate, against sites in a namespace."""

from __future__ import annotations

import socket
import ssl
import struct
from pathlib import Path

import pytest
from anyio import to_thread

from roost.domain.address import GATEWAY_ADDRESS
from roost.domain.egress import Egress
from roost.node.network.dns_wire import query_for
from roost.node.network.slots import Slot, Slots
from tests.real.gate_ground import API, CLOSED, EVIL, INSIDE, OTHER, WWW, World, fetch, headers, slots, world
from tests.real.slot_ground import INTERNET, METADATA, PATIENCE_S, OpenSlots, command, dial, guest, guest_of, opened, within

pytestmark = pytest.mark.anyio
__all__ = ["slots", "world"]


async def test_only_the_allowed_names_are_reached(world: World) -> None:
    await world.set(**CLOSED, allow=(API, "*.other.example"))
    for name in (API, WWW):
        assert headers(await world.get(name), "Host") == [name]
        assert headers(await world.get(name, port=8080), "Host") == [name]
        await world.get_tls(name, trust=world.trusted.read_text())
    for name in (EVIL, INTERNET):
        with pytest.raises(ConnectionResetError):
            await world.get(name)
    with pytest.raises(ConnectionResetError):
        await world.get_tls(EVIL, trust=world.trusted.read_text())


async def test_an_allowed_name_leads_to_its_own_address_wherever_the_guest_went(world: World) -> None:
    await world.set(**CLOSED, allow=(API, INSIDE, "unknown.example"))
    told = await world.get(API, to=OTHER)  # nobody is there
    assert headers(told, "Host") == [API]
    for name in (INSIDE, "unknown.example"):  # one has an address that no sandbox reaches, the other none
        with pytest.raises(AssertionError, match="could not pass this request on"):
            await world.get(name)
        with pytest.raises((ConnectionResetError, ssl.SSLError)):
            await world.get_tls(name, trust=world.trusted.read_text())
    with pytest.raises(ConnectionRefusedError):
        await world.get(API, to=METADATA)


async def test_a_kept_connection_is_no_way_around(world: World) -> None:
    await world.set(**CLOSED, allow=(API, WWW))
    told = await world.inside(lambda: fetch(INTERNET, 80, [(API, "/1"), (WWW, "/2"), (API, "/3")]))
    assert [(each["path"], headers(each, "Host")) for each in told] == [("/1", [API]), ("/2", [WWW]), ("/3", [API])]
    with pytest.raises(ConnectionResetError):
        await world.inside(lambda: fetch(INTERNET, 80, [(API, "/"), (EVIL, "/")]))


async def test_who_names_no_host_is_reset(world: World) -> None:
    await world.set(**CLOSED, allow=(API,))

    def say(words: bytes, port: int = 80) -> bytes:
        with dial(guest_of(world.slot), INTERNET, port) as sock:
            sock.sendall(words)
            return sock.recv(100)

    two = f"GET / HTTP/1.1\r\nHost: {API}\r\nHost: {EVIL}\r\n\r\n".encode()
    absolute = f"GET http://{EVIL}/ HTTP/1.1\r\nHost: {API}\r\n\r\n".encode()
    for words in (
        b"GET / HTTP/1.0\r\n\r\n",
        two,
        absolute,
        b"\x16\x03\x01\x00\x05hello",
        b"SSH-2.0-x\r\n",
        b"PRI * HTTP/2.0\r\n\r\n",
    ):
        with pytest.raises(ConnectionResetError):
            await to_thread.run_sync(say, words)
    assert not [line for line in world.asked() if line.startswith("web")]


async def test_addresses_are_allowed_beside_names_and_need_no_gate(world: World) -> None:
    await world.set(**CLOSED, allow=(API, f"{INTERNET}/32"))
    assert headers(await world.get(EVIL), "Host") == [EVIL]

    def hear() -> bytes:
        with dial(guest_of(world.slot), INTERNET, 2222) as sock:
            return sock.recv(6)

    assert await to_thread.run_sync(hear) == b"hello\n"


async def test_only_allowed_names_resolve(world: World) -> None:
    await world.set(**CLOSED, allow=(API, "*.other.example"))

    def ask(name: str, kind: int = 1) -> tuple[int, int]:
        """Code and number of answers."""
        query = query_for(name, b"\1\2")[:-4] + struct.pack(">HH", kind, 1)
        with within(guest_of(world.slot), lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as sock:
            sock.settimeout(PATIENCE_S)
            sock.sendto(query, (str(GATEWAY_ADDRESS), 53))
            answer = sock.recv(4096)
            return answer[3] & 15, struct.unpack_from(">H", answer, 6)[0]

    assert await to_thread.run_sync(ask, API) == (0, 1)
    assert await to_thread.run_sync(ask, WWW) == (0, 1)
    assert await to_thread.run_sync(ask, "data-to-carry-out.evil.example") == (5, 0)
    assert await to_thread.run_sync(ask, API, 65) == (0, 0)  # would let the guest hide the name
    assert not [line for line in world.asked() if "evil" in line or line.endswith(" 65")]


async def test_names_are_asked_of_the_servers_that_were_named(world: World, slots: Slots, tmp_path: Path) -> None:
    (tmp_path / "resolv.conf").write_text("# the host knows nobody\n")
    await world.set(**CLOSED, allow=(API,), dns=(INTERNET,))
    assert headers(await world.get(API, to=OTHER), "Host") == [API]
    assert f"dns {API} 1" in world.asked()

    def ask(at: str) -> bytes:
        with within(guest_of(world.slot), lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as sock:
            sock.settimeout(PATIENCE_S)
            sock.connect((at, 53))
            sock.send(query_for(API, b"\1\2"))
            return sock.recv(4096)

    for at in (str(GATEWAY_ADDRESS), INTERNET):  # through the node, and straight
        assert (await to_thread.run_sync(ask, at))[-4:] == socket.inet_aton(INTERNET)
    await world.set(**CLOSED, allow=(API,), dns=())
    asked = len(world.asked())
    assert (await to_thread.run_sync(ask, str(GATEWAY_ADDRESS)))[3] & 15 == 5
    with pytest.raises(ConnectionRefusedError):
        await to_thread.run_sync(ask, INTERNET)
    assert len(world.asked()) == asked


async def test_the_next_server_tells_nothing_before_it_knows_the_policy(
    open_slots: OpenSlots, instance: str, tmp_path: Path
) -> None:
    def ask(slot: Slot) -> int:
        with within(guest_of(slot), lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as sock:
            sock.settimeout(PATIENCE_S)
            sock.sendto(query_for("carry.evil.example", b"\1\2"), (str(GATEWAY_ADDRESS), 53))
            return sock.recv(4096)[3] & 15

    refused, failed = 5, 2  # there is no resolver here that could know
    (tmp_path / "none.conf").touch()
    async with opened(instance, ending="keep", resolv_conf=tmp_path / "none.conf") as first:
        limited, plain = await guest(first), await guest(first)
        await first.set_egress(limited, Egress(**CLOSED, allow=(API,)))
    again = await open_slots(instance, adopt=(limited.index, plain.index), resolv_conf=tmp_path / "none.conf")
    assert await to_thread.run_sync(ask, limited) == refused
    assert await to_thread.run_sync(ask, plain) == failed
    await again.set_egress(limited, Egress())
    assert await to_thread.run_sync(ask, limited) == failed


@pytest.mark.parametrize("ending", ["another policy", "sleep", "release", "the server's end"])
async def test_what_went_through_a_gate_ends_with_it(world: World, ending: str) -> None:
    await world.set(**CLOSED, allow=(API,))
    slots, slot = world.slots, world.slot

    def begin() -> socket.socket:
        sock = dial(guest_of(slot), INTERNET, 80)
        sock.sendall(f"GET / HTTP/1.1\r\nHost: {API}\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n".encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            received = sock.recv(4096)
            assert received, "it was closed"
            head += received
        assert head.startswith(b"HTTP/1.1 101 ")
        return sock

    with await to_thread.run_sync(begin) as sock:
        match ending:
            case "another policy":
                await slots.set_egress(slot, Egress(internet=False, allow=(API, WWW)))
            case "sleep":
                await slots.rest(slot)
            case "release":
                await slots.release(slot)
            case _:
                await slots.close(remove=False)
        if ending != "release":  # then there is nobody left to tell it
            with pytest.raises(ConnectionResetError):
                assert await to_thread.run_sync(sock.recv, 1) == b"", "an end that is no reset"
                raise AssertionError("it was closed, not reset")


async def test_plain_policies_have_no_gate(world: World) -> None:
    def chains() -> str:
        netns = guest_of(world.slot).replace("-g", "-r")
        return command("ip", "netns", "exec", netns, "nft", "list", "table", "ip", "roost")

    assert "detour" not in chains()
    await world.set(**CLOSED, allow=(API,))
    assert "detour" in chains()
    await world.set(**CLOSED, allow=(INTERNET,))
    assert "detour" not in chains()
    await world.get(EVIL)
