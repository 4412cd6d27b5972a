"""Gates on the real kernel: rules by name, headers, proxies and DNS servers, against sites in a namespace."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import struct
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest
from anyio import to_thread

from roost.domain.address import GATEWAY_ADDRESS
from roost.domain.egress import Egress
from roost.domain.proxy import Proxy
from roost.node.dns_wire import query_for
from roost.node.slots import Slot, Slots
from tests.real import sites
from tests.real.server import eventually
from tests.real.slot_ground import INTERNET, METADATA, PATIENCE_S, OpenSlots, command, dial, guest, guest_of, opened, within

pytestmark = pytest.mark.anyio

T = TypeVar("T")
OTHER = "203.0.113.3"
API, WWW, EVIL, INSIDE = "api.example.com", "www.other.example", "evil.example", "inside.example.com"
ZONE = {API: INTERNET, WWW: INTERNET, EVIL: INTERNET, INSIDE: METADATA, "proxy.example": INTERNET}
CLOSED: dict[str, Any] = {"internet": False}


@dataclass(slots=True)
class World:
    """A guest in a slot, and sites in the internet."""

    slots: Slots
    slot: Slot
    folder: Path
    trusted: Path

    async def set(self, **policy: Any) -> None:
        await self.slots.set_egress(self.slot, Egress(**policy))

    async def inside(self, work: Callable[[], T]) -> T:
        """Runs with the network of the guest."""
        return await to_thread.run_sync(lambda: within(guest_of(self.slot), work))

    async def get(self, name: str, *, to: str = INTERNET, port: int = 80, path: str = "/") -> dict[str, Any]:
        return await self.inside(lambda: fetch(to, port, [(name, path)])[0])

    async def get_tls(self, name: str, *, trust: str, to: str = INTERNET) -> dict[str, Any]:
        return await self.inside(lambda: fetch(to, 443, [(name, "/")], trust=trust)[0])

    def asked(self) -> list[str]:
        return (self.folder / "asked.log").read_text().splitlines()


def fetch(to: str, port: int, wanted: list[tuple[str, str]], trust: str | None = None) -> list[dict[str, Any]]:
    """Requests on one connection, as (host, path). With `trust` by TLS, checking the certificate against it."""
    connection = http.client.HTTPConnection(to, port, timeout=PATIENCE_S)
    connection.connect()
    if trust is not None:
        context = ssl.create_default_context(cadata=trust)
        connection.sock = context.wrap_socket(connection.sock, server_hostname=wanted[0][0])
    try:
        told: list[dict[str, Any]] = []
        for name, path in wanted:
            connection.request("GET", path, headers={"Host": name, "X-Mine": "guest", "Authorization": "guest"})
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            told.append(json.loads(answer.read()))
        return told
    finally:
        connection.close()


def headers(told: dict[str, Any], name: str) -> list[str]:
    return [value for key, value in told["headers"] if key.lower() == name.lower()]


@contextmanager
def site(netns: str, folder: Path, address: str = INTERNET) -> Iterator[None]:
    words = ("ip", "netns", "exec", netns, sys.executable, sites.__file__, address, str(folder))
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == b"ready\n"
            yield
        finally:
            process.kill()


@pytest.fixture
async def slots(open_slots: OpenSlots, instance: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Slots:
    resolv_conf, folder = tmp_path / "resolv.conf", tmp_path / "sites"
    resolv_conf.write_text(f"nameserver {INTERNET}\n")
    folder.mkdir()
    trusted = sites.make_certificates(folder, API, "proxy.example", "*.other.example")
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    return await open_slots(instance, resolv_conf=resolv_conf, authority=tmp_path / "egress")


@pytest.fixture
async def world(slots: Slots, internet: str, tmp_path: Path) -> AsyncIterator[World]:
    folder = tmp_path / "sites"
    (folder / "zone.json").write_text(json.dumps(ZONE))
    (folder / "asked.log").touch()
    command("ip", "-n", internet, "route", "add", "default", "via", "203.0.113.1")
    with site(internet, folder):
        yield World(slots, await guest(slots), folder, folder / "authority.pem")


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


async def test_requests_to_a_host_with_rules_are_given_its_headers(world: World) -> None:
    await world.set(rules={API: {"Authorization": "Bearer secret", "X-Added": "yes"}})
    ours = await world.slots.authority()
    told = await world.inside(lambda: fetch(INTERNET, 80, [(API, "/1"), (API, "/2")]))
    told.append(await world.get_tls(API, trust=ours))
    for each in told:
        assert headers(each, "Authorization") == ["Bearer secret"]
        assert headers(each, "X-Added") == ["yes"]
        assert headers(each, "X-Mine") == ["guest"]
    other = [await world.get(WWW), await world.get_tls(WWW, trust=world.trusted.read_text())]  # its own certificate
    assert [headers(each, "Authorization") for each in other] == [["guest"], ["guest"]]


async def test_a_secret_header_goes_to_its_host_alone(world: World, internet: str, tmp_path: Path) -> None:
    """A guest that says the host's name to somebody else's address."""
    command("ip", "-n", internet, "address", "add", f"{OTHER}/32", "dev", "eth0")
    await world.set(rules={API: {"Authorization": "Bearer secret"}})
    folder = tmp_path / "evil"
    folder.mkdir()
    (folder / "zone.json").write_text("{}")
    with site(internet, folder, OTHER):
        assert headers(await world.get(API, to=OTHER), "Authorization") == ["Bearer secret"]
        assert headers(await world.get(EVIL, to=OTHER), "Authorization") == ["guest"]
    assert (folder / "asked.log").read_text().splitlines() == [f"web {EVIL} /"]


async def test_a_host_that_cannot_prove_itself_gets_no_headers(world: World) -> None:
    await world.set(rules={EVIL: {"Authorization": "Bearer secret"}})
    with pytest.raises(AssertionError, match=r"certificate of evil\.example is not trusted"):
        await world.get_tls(EVIL, trust=await world.slots.authority())
    assert not [line for line in world.asked() if line.startswith("web")]


async def test_bodies_and_switched_protocols_pass(world: World) -> None:
    await world.set(**CLOSED, allow=(API,), rules={API: {"X-Added": "yes"}})

    def post() -> dict[str, Any]:
        connection = http.client.HTTPConnection(INTERNET, 80, timeout=PATIENCE_S)
        connection.request("POST", "/", body=b"x" * 3_000_000, headers={"Host": API})
        told = json.loads(connection.getresponse().read())
        connection.close()
        return told

    def switch() -> bytes:
        with dial(guest_of(world.slot), INTERNET, 80) as sock:
            sock.sendall(f"GET / HTTP/1.1\r\nHost: {API}\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n".encode())
            head = b""
            while b"\r\n\r\n" not in head:
                head += sock.recv(4096)
            assert head.startswith(b"HTTP/1.1 101 ")
            sock.sendall(b"no longer HTTP")
            return sock.recv(100)

    told = await world.inside(post)
    assert (told["size"], headers(told, "X-Added")) == (3_000_000, ["yes"])
    assert await to_thread.run_sync(switch) == b"no longer HTTP"


async def test_a_guest_that_goes_away_ends_the_request_it_waits_for(world: World) -> None:
    """Its host says nothing: only the guest's end can tell."""
    await world.set(**CLOSED, allow=(API,))

    def begin() -> socket.socket:
        sock = dial(guest_of(world.slot), INTERNET, 80)
        sock.sendall(f"GET /never HTTP/1.1\r\nHost: {API}\r\n\r\n".encode())
        return sock

    async def told(word: str) -> None:
        def look() -> None:
            assert f"{word} {API} /never" in world.asked()

        await to_thread.run_sync(eventually, look)

    with await to_thread.run_sync(begin):
        await told("web")
    await told("gone")


@pytest.mark.parametrize(
    ("proxy", "line"),
    [
        (Proxy(f"{INTERNET}:1080", sites.USER, sites.PASSWORD), f"socks {INTERNET} 80 ada"),
        (Proxy("socks5://proxy.example:1443", tls=True), f"socks {INTERNET} 80 "),
        (Proxy("http://proxy.example:3128", sites.USER, sites.PASSWORD), f"connect {INTERNET}:80 True"),
    ],
)
async def test_everything_goes_through_the_proxy(world: World, proxy: Proxy, line: str) -> None:
    await world.set(proxy=proxy)
    assert headers(await world.get(API), "Host") == [API]
    assert line in world.asked()

    def hear() -> bytes:
        with dial(guest_of(world.slot), INTERNET, 2222) as sock:  # whoever speaks first
            said = sock.recv(6)
            sock.sendall(b"and back")
            return said + sock.recv(8)

    assert await to_thread.run_sync(hear) == b"hello\nand back"
    await world.set(**CLOSED, allow=(API,), proxy=proxy)
    await world.get_tls(API, trust=world.trusted.read_text())
    with pytest.raises(ConnectionResetError):
        await world.get(EVIL)


@pytest.mark.parametrize(
    "proxy",
    [
        Proxy(f"{INTERNET}:1080", sites.USER, "wrong"),
        Proxy("http://proxy.example:3128"),
        Proxy(f"{INTERNET}:1"),
        Proxy("unknown.example:1080"),
        Proxy(f"{INTERNET}:1080", tls=True),
        Proxy(f"{METADATA}:1080"),
    ],
)
async def test_without_its_proxy_nothing_goes_out(world: World, proxy: Proxy) -> None:
    await world.set(proxy=proxy)
    with pytest.raises(ConnectionResetError):
        await world.get(API)
    assert not [line for line in world.asked() if line.startswith("web")]


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
    for at in (str(GATEWAY_ADDRESS), INTERNET):
        with pytest.raises(ConnectionRefusedError):
            await to_thread.run_sync(ask, at)


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
    async with opened(instance, tmp_path, ending="keep", resolv_conf=tmp_path / "none.conf") as first:
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
        assert sock.recv(4096).startswith(b"HTTP/1.1 101 ")
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
