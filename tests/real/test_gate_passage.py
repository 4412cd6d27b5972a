"""What passes a gate on the real kernel: headers that are put on, bodies, other protocols, and the way through a proxy."""

from __future__ import annotations

import http.client
import json
import socket
from pathlib import Path
from typing import Any

import pytest
from anyio import to_thread

from roost.domain.proxy import Proxy
from tests.real import sites
from tests.real.gate_ground import API, CLOSED, EVIL, OTHER, WWW, World, fetch, headers, site, slots, world
from tests.real.server import eventually
from tests.real.slot_ground import INTERNET, METADATA, PATIENCE_S, command, dial, guest_of

pytestmark = pytest.mark.anyio
HIDDEN = "*" * len("Bearer secret")  # as it comes back from a site that says what it got
__all__ = ["slots", "world"]


async def test_requests_to_a_host_with_rules_are_given_its_headers(world: World) -> None:
    await world.set(rules={API: {"Authorization": "Bearer secret", "X-Added": "yes"}}, plain=(API,))
    ours = await world.slots.authority()
    told = await world.inside(lambda: fetch(INTERNET, 80, [(API, "/1"), (API, "/2")]))
    told.append(await world.get_tls(API, trust=ours))
    for each in told:
        assert headers(each, "Authorization") == [HIDDEN]
        assert headers(each, "X-Added") == ["yes"]
        assert headers(each, "X-Mine") == ["guest"]
    other = [await world.get(WWW), await world.get_tls(WWW, trust=world.trusted.read_text())]  # its own certificate
    assert [headers(each, "Authorization") for each in other] == [["guest"], ["guest"]]


async def test_a_secret_header_goes_to_its_host_alone(world: World, internet: str, tmp_path: Path) -> None:
    """A guest that says the host's name to somebody else's address."""
    command("ip", "-n", internet, "address", "add", f"{OTHER}/32", "dev", "eth0")
    await world.set(rules={API: {"Authorization": "Bearer secret"}}, plain=(API,))
    folder = tmp_path / "evil"
    folder.mkdir()
    (folder / "zone.json").write_text("{}")
    with site(internet, folder, OTHER):
        assert headers(await world.get(API, to=OTHER), "Authorization") == [HIDDEN]
        assert headers(await world.get(EVIL, to=OTHER), "Authorization") == ["guest"]
    assert (folder / "asked.log").read_text().splitlines() == [f"web {EVIL} /"]


async def test_a_host_that_cannot_prove_itself_gets_no_headers(world: World) -> None:
    await world.set(rules={EVIL: {"Authorization": "Bearer secret"}})
    with pytest.raises(AssertionError, match=r"certificate of evil\.example is not trusted"):
        await world.get_tls(EVIL, trust=await world.slots.authority())
    assert not [line for line in world.asked() if line.startswith("web")]


async def test_bodies_and_switched_protocols_pass(world: World) -> None:
    await world.set(**CLOSED, allow=(API,), rules={API: {"X-Added": "yes"}}, plain=(API,))

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
