"""Screens: who sees them, whose input counts, and what sleep, links and takeovers do to open ones."""

from __future__ import annotations

import asyncio
import random
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
import httpx
import pytest
import websockets
from websockets.exceptions import ConnectionClosed

from roost.domain.errors import SandboxLost
from roost.domain.ids import LinkId, TeamId
from roost.domain.link import LinkMode, ScreenLink, link_digest
from roost.domain.sandbox import Driver
from roost.edge.limits import AGENT_PORT, SCREEN_PORT, Limits
from tests.flows.edge.conftest import TOKEN, Heard, answer, hear

pytestmark = pytest.mark.anyio

GREETING = b"RFB 003.008\n"
FRAME = b"\x00\x00\x00\x01" + bytes(12) + b"picture"
KEY = struct.pack(">BBHI", 4, 1, 0, 0x61)
KEY_UP = struct.pack(">BBHI", 4, 0, 0, 0x61)
POINTER = struct.pack(">BBHH", 5, 1, 10, 20)
POINTER_UP = struct.pack(">BBHH", 5, 0, 10, 20)
UPDATE = struct.pack(">BBHHHH", 3, 1, 0, 0, 640, 480)


@dataclass
class Desktop:
    """A sandbox with the agent's bridge, an RFB server behind it, and the agent's desktop API."""

    world: Any
    sandbox: Any
    said: list[bytearray] = field(default_factory=list)  # by viewers, after they were let in
    screens: list[asyncio.StreamWriter] = field(default_factory=list)
    heard: list[Heard] = field(default_factory=list)
    gate: anyio.Event = field(default_factory=anyio.Event)  # a POST to the agent is answered when it is open
    numbers: list[int] = field(default_factory=list)

    async def open(self, *, has_screen: bool = True) -> Desktop:
        await self.sandbox.serve(self._agent if has_screen else self._blind_agent, port=AGENT_PORT)
        self.gate.set()
        return self

    async def _agent(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await hear(reader)
        if request is None:
            return
        if not request.line.startswith(b"GET /roost/bridge?port=%d " % SCREEN_PORT):
            self.heard.append(request)
            if request.line.startswith(b"GET /desktop/frames"):
                writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nframe\r\n")
                await reader.read()
                return
            if request.line.startswith(b"POST"):
                await self.gate.wait()
            writer.write(answer(request.line))
            return
        # As one packet: a server that speaks first may be heard together with the bridge's own answer.
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: roost-bridge\r\n\r\n" + GREETING)
        await reader.readexactly(12)
        writer.write(b"\x01\x01")
        assert await reader.readexactly(1) == b"\x01"
        writer.write(b"\0\0\0\0")
        assert await reader.readexactly(1) == b"\x01", "every viewer shares"
        said = bytearray()
        self.said.append(said)
        self.screens.append(writer)
        writer.write(FRAME)
        while data := await reader.read(65536):
            said += data

    async def _blind_agent(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await hear(reader) is not None:
            writer.write(answer(b"{}", status=b"502 Bad Gateway"))

    # Links, as control would put them

    def link(self, mode: LinkMode = LinkMode.CONTROL, *, lives_s: float = 3600.0) -> str:
        token = random.SystemRandom().randbytes(32).hex()
        now = self.world.clock.now()
        link = ScreenLink(
            LinkId(f"l{len(self.numbers)}"), self.sandbox.id, TeamId("team"), mode, "anna", link_digest(token), now, now + lives_s
        )
        self.numbers.append(0)
        route = self.world.routes.locate(self.sandbox.id)
        self.world.routes.place(replace(route, links={**route.links, link.digest: link}))
        return token

    def record(self, token: str) -> ScreenLink:
        return self.world.routes.locate(self.sandbox.id).links[link_digest(token)]

    def revoke(self, token: str) -> None:
        route = self.world.routes.locate(self.sandbox.id)
        kept = {digest: link for digest, link in route.links.items() if digest != link_digest(token)}
        self.world.routes.place(replace(route, links=kept))

    def drives(self, token: str | None) -> None:
        route = self.world.routes.locate(self.sandbox.id)
        driver = Driver(self.record(token).id, "anna", self.world.clock.now()) if token else None
        self.world.routes.place(replace(route, driver=driver))

    # People

    def url(self, token: str) -> str:
        return f"ws://127.0.0.1:{self.world.port}/desktop/rfb?link={token}"

    @asynccontextmanager
    async def watch(self, token: str, **options: Any) -> AsyncIterator[Person]:
        """Somebody before the screen, past the first picture."""
        headers = self.world.headers(self.sandbox, AGENT_PORT)
        async with websockets.connect(
            self.url(token), additional_headers=headers, proxy=None, ping_interval=None, **options
        ) as socket:
            person = Person(socket)
            assert await person.read(12) == GREETING
            await socket.send(GREETING)
            assert await person.read(2) == b"\x01\x01"
            await socket.send(b"\x01")
            assert await person.read(4) == b"\0\0\0\0"
            await socket.send(b"\0")  # wants to be alone, and is not asked
            assert await person.read(len(FRAME)) == FRAME
            yield person

    async def refused(self, token: str) -> tuple[int | None, str]:
        headers = self.world.headers(self.sandbox, AGENT_PORT)
        async with websockets.connect(self.url(token), additional_headers=headers, proxy=None) as socket:
            return await Person(socket).closed()

    async def ask(self, method: str, path: str, *, token: str | None = TOKEN, **headers: str) -> Any:
        given = {"X-Access-Token": token} if token else {}
        async with self.world.client() as client:
            return await client.request(
                method, path, headers={**self.world.headers(self.sandbox, AGENT_PORT), **given, **headers}, content=b"{}"
            )


class Person:
    def __init__(self, socket: websockets.ClientConnection) -> None:
        self.socket = socket
        self.buffer = bytearray()

    async def read(self, size: int) -> bytes:
        with anyio.fail_after(20):
            while len(self.buffer) < size:
                piece = await self.socket.recv()
                assert isinstance(piece, bytes)
                self.buffer += piece
        data = bytes(self.buffer[:size])
        del self.buffer[:size]
        return data

    async def closed(self) -> tuple[int | None, str]:
        with anyio.fail_after(20):
            try:
                while True:
                    await self.socket.recv()
            except ConnectionClosed as end:
                return (end.rcvd.code, end.rcvd.reason) if end.rcvd else (None, "")


@pytest.fixture
async def desktop(world: Any) -> Desktop:
    return await Desktop(world, world.sandbox()).open()


async def test_who_watches_sees_the_picture_and_moves_nothing(world: Any, desktop: Desktop) -> None:
    async with desktop.watch(desktop.link(LinkMode.VIEW)) as person:
        await person.socket.send(KEY + UPDATE)
        await world.until(lambda: len(desktop.said[0]) >= len(UPDATE))
        desktop.screens[0].write(b"more")
        assert await person.read(4) == b"more"
    assert bytes(desktop.said[0]) == UPDATE
    await world.until(lambda: world.ledger.traffic(desktop.sandbox.id).open_connections == 0)


async def test_only_the_link_that_drives_is_heard_of_many(world: Any, desktop: Desktop) -> None:
    anna, ben = desktop.link(), desktop.link()
    async with desktop.watch(anna) as first, desktop.watch(ben) as second:
        desktop.drives(anna)
        await second.socket.send(KEY + UPDATE)
        await first.socket.send(KEY)
        await world.until(lambda: bytes(desktop.said[0]) == KEY and bytes(desktop.said[1]) == UPDATE)
        desktop.drives(ben)
        await world.until(lambda: bytes(desktop.said[0]) == KEY + KEY_UP)
        await first.socket.send(POINTER + UPDATE)
        await second.socket.send(POINTER)
        await world.until(lambda: bytes(desktop.said[0]) == KEY + KEY_UP + UPDATE)
        await world.until(lambda: bytes(desktop.said[1]) == UPDATE + POINTER)
    assert bytes(desktop.said[1]) == UPDATE + POINTER + POINTER_UP, "what is pressed when the browser goes is let go"


async def test_messages_may_come_in_pieces_and_fragments(world: Any, desktop: Desktop) -> None:
    token = desktop.link()
    async with desktop.watch(token) as person:
        desktop.drives(token)
        await person.socket.send([KEY[:3], KEY[3:] + UPDATE[:1], UPDATE[1:]])
        await world.until(lambda: bytes(desktop.said[0]) == KEY + UPDATE)


@pytest.mark.parametrize("offered", [None, ["binary"], ["base64", "binary"], ["base64"]])
async def test_the_subprotocol_is_binary_if_that_is_offered(desktop: Desktop, offered: Any) -> None:
    async with desktop.watch(desktop.link(), subprotocols=offered) as person:
        assert person.socket.subprotocol == ("binary" if offered and "binary" in offered else None)


async def test_links_that_open_nothing_say_why(world: Any, desktop: Desktop) -> None:
    expired, revoked = desktop.link(lives_s=10), desktop.link()
    world.clock.advance(10)
    desktop.revoke(revoked)
    assert (await desktop.refused(expired))[0] == 4003
    assert (await desktop.refused(revoked))[0] == 4001
    assert (await desktop.refused("0" * 64))[0] == 4001
    assert desktop.said == []


async def test_a_link_of_one_sandbox_opens_no_other(world: Any, desktop: Desktop) -> None:
    other = await Desktop(world, world.sandbox()).open()
    assert (await other.refused(desktop.link()))[0] == 4001
    picture = await other.ask("GET", f"/desktop/screenshot?link={desktop.link()}", token=None)
    assert (picture.status_code, picture.json()["error"]["code"]) == (401, "link_ended")
    assert other.said == [] and other.heard == []


@pytest.mark.parametrize("end", ["revoked", "expired"])
async def test_an_open_screen_ends_with_its_link(world: Any, desktop: Desktop, end: str) -> None:
    token, stays = desktop.link(lives_s=10), desktop.link()
    async with desktop.watch(token) as person, desktop.watch(stays) as other:
        if end == "revoked":
            desktop.revoke(token)
        else:
            world.clock.advance(10)
            world.routes.place(world.routes.locate(desktop.sandbox.id))
        code, reason = await person.closed()
        assert (code, "expired" in reason) == ((4001, False) if end == "revoked" else (4003, True))
        desktop.screens[1].write(b"more")
        assert await other.read(4) == b"more"


async def test_expiry_holds_for_input_before_anybody_announced_it(world: Any, desktop: Desktop) -> None:
    token = desktop.link(lives_s=10)
    async with desktop.watch(token) as person:
        desktop.drives(token)
        await anyio.wait_all_tasks_blocked()
        world.clock.advance(10)
        await person.socket.send(KEY + UPDATE)
        await world.until(lambda: bytes(desktop.said[0]) == UPDATE)


async def test_opening_the_screen_of_a_sleeper_wakes_it(world: Any, desktop: Desktop) -> None:
    gate = world.routes.hold_wakes(desktop.sandbox.id)
    token = desktop.link()
    world.routes.sleep(desktop.sandbox.id)
    async with anyio.create_task_group() as tasks:

        async def watch() -> None:
            async with desktop.watch(token):
                pass

        tasks.start_soon(watch)
        await world.until(lambda: world.routes.waiting(desktop.sandbox.id) == 1)
        gate.set()
    assert world.routes.flights == [(desktop.sandbox.id, "somebody opened its screen")]


async def test_a_bad_link_wakes_nobody(world: Any, desktop: Desktop) -> None:
    world.routes.sleep(desktop.sandbox.id)
    assert (await desktop.refused("0" * 64))[0] == 4001
    assert world.routes.flights == []


async def test_a_wake_that_fails_is_told(world: Any, desktop: Desktop) -> None:
    token = desktop.link()
    world.routes.sleep(desktop.sandbox.id)
    world.routes.fail_wakes(desktop.sandbox.id, SandboxLost(desktop.sandbox.id, "nothing is left"))
    assert await desktop.refused(token) == (1013, f"The process of sandbox {desktop.sandbox.id} is gone: nothing is left.")


async def test_a_sandbox_without_a_screen_says_so(world: Any) -> None:
    blind = await Desktop(world, world.sandbox()).open(has_screen=False)
    assert (await blind.refused(blind.link()))[0] == 4005


async def test_a_viewer_waits_over_sleep_and_the_input_of_who_drives_wakes(world: Any, desktop: Desktop) -> None:
    token, other = desktop.link(), desktop.link(LinkMode.VIEW)
    async with desktop.watch(token) as person, desktop.watch(other) as viewer:
        desktop.drives(token)
        world.routes.sleep(desktop.sandbox.id)
        await anyio.wait_all_tasks_blocked()
        await viewer.socket.send(KEY + UPDATE)
        await person.socket.send(UPDATE)
        await (await person.socket.ping())  # both were read: the edge itself answers
        await (await viewer.socket.ping())
        assert world.routes.flights == [], "who only looks wakes nobody"
        await person.socket.send(KEY)
        await world.until(lambda: bytes(desktop.said[0]) == UPDATE + KEY and bytes(desktop.said[1]) == UPDATE)
        assert world.routes.flights == [(desktop.sandbox.id, "traffic on an open connection")]


async def test_what_is_pressed_when_it_sleeps_is_let_go_when_it_wakes(world: Any, desktop: Desktop) -> None:
    token = desktop.link()
    async with desktop.watch(token) as person:
        desktop.drives(token)
        await person.socket.send(KEY)
        await world.until(lambda: bytes(desktop.said[0]) == KEY)
        world.routes.sleep(desktop.sandbox.id)
        desktop.drives(None)
        await anyio.wait_all_tasks_blocked()
        assert world.routes.flights == []
        await world.routes.wake(desktop.sandbox.id, "test")
        await world.until(lambda: bytes(desktop.said[0]) == KEY + KEY_UP)


async def test_death_and_another_address_end_it(world: Any, desktop: Desktop) -> None:
    async with desktop.watch(desktop.link()) as person:
        world.routes.sleep(desktop.sandbox.id, home="127.9.9.9")
        await world.routes.wake(desktop.sandbox.id, "test")
        assert (await person.closed())[0] == 1012
    dying = await Desktop(world, world.sandbox()).open()
    async with dying.watch(dying.link()) as person:
        world.routes.bury(dying.sandbox.id)
        assert (await person.closed())[0] == 4004


async def test_a_screen_server_that_hangs_up_is_told(desktop: Desktop) -> None:
    async with desktop.watch(desktop.link()) as person:
        desktop.screens[0].close()
        assert (await person.closed())[0] == 1011


async def test_who_cannot_be_followed_is_told_why(desktop: Desktop) -> None:
    async with desktop.watch(desktop.link()) as person:
        await person.socket.send(b"\x07")
        why = "This viewer cannot be followed: it sends a message of type 7, which is not known here."
        assert await person.closed() == (1008, why)
    async with desktop.watch(desktop.link()) as person:
        await person.socket.send("text")
        assert (await person.closed())[0] == 1003


async def test_a_slow_viewer_stops_the_screen_and_nobody_else(worlds: Any) -> None:
    async with worlds(
        Limits(linger_s=0.2, shutdown_grace_s=0.05, high_water_bytes=64 * 1024, low_water_bytes=16 * 1024)
    ) as world:
        desktop = await Desktop(world, world.sandbox()).open()
        async with desktop.watch(desktop.link(), max_queue=1) as slow, desktop.watch(desktop.link()) as quick:
            written = [0]

            async def paint() -> None:
                while written[0] < 32:
                    desktop.screens[0].write(bytes(1 << 20))
                    await desktop.screens[0].drain()
                    written[0] += 1

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(paint)
                await world.stalls(lambda: written[0])
                assert written[0] < 32
                desktop.screens[1].write(b"more")
                assert await quick.read(4) == b"more"
                assert await slow.read(32 << 20) == bytes(32 << 20)


# Who is there


async def test_a_browser_that_drives_and_answers_no_more_is_let_go(world: Any, desktop: Desktop) -> None:
    token = desktop.link()
    headers = "".join(f"{name}: {value}\r\n" for name, value in world.headers(desktop.sandbox, AGENT_PORT).items())
    async with world.raw() as (reader, writer):  # speaks WebSocket, and does not answer pings
        writer.write(
            f"GET /desktop/rfb?link={token} HTTP/1.1\r\nHost: x\r\n{headers}Connection: Upgrade\r\nUpgrade: websocket\r\n"
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        await reader.readuntil(GREETING)
        began = world.clock.now()
        desktop.drives(token)
        link = desktop.record(token).id
        for _ in range(3):
            await world.until(lambda: world.clock.next_alarm is not None)
            world.clock.advance(3)
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await reader.readexactly(1 << 20)
        assert world.ledger.watched_at(desktop.sandbox.id, link) == began, "it is not known to have been there since"


async def test_a_browser_that_answers_is_known_to_be_there(world: Any, desktop: Desktop) -> None:
    token = desktop.link()
    async with desktop.watch(token) as person:
        desktop.drives(token)
        link = desktop.record(token).id
        for _ in range(5):
            await world.until(lambda: world.clock.next_alarm is not None)
            world.clock.advance(3)
            await world.until(lambda: world.ledger.watched_at(desktop.sandbox.id, link) == world.clock.now())
        desktop.drives(None)
        await world.until(lambda: not person.buffer)
    await world.until(lambda: world.ledger.traffic(desktop.sandbox.id).open_connections == 0)


# The agent's own requests


async def test_the_agents_hands_are_refused_while_a_person_drives(world: Any, desktop: Desktop) -> None:
    token = desktop.link()
    assert (await desktop.ask("POST", "/desktop/click")).status_code == 200
    desktop.drives(token)
    for method, path in (("POST", "/desktop/click"), ("POST", "/%64esktop/type?x=1"), ("PUT", "/desktop/clipboard")):
        refused = await desktop.ask(method, path)
        assert refused.status_code == 409
        error = refused.json()["error"]
        assert (error["code"], error["who"], error["since"]) == ("person_drives", "anna", "2023-11-14T22:13:20.000Z")
    assert (await desktop.ask("POST", "/desktop/click", token="wrong")).status_code == 401, "strangers are told nothing"
    assert (await desktop.ask("GET", "/desktop/screenshot")).status_code == 200
    assert (await desktop.ask("POST", "/files")).status_code == 200
    desktop.drives(None)
    assert (await desktop.ask("POST", "/desktop/click")).status_code == 200


async def test_a_click_under_way_is_refused_when_somebody_takes_over(world: Any, desktop: Desktop) -> None:
    token = desktop.link()
    desktop.gate = anyio.Event()
    results: list[Any] = []

    async def click() -> None:
        results.append(await desktop.ask("POST", "/desktop/click"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(click)
        await world.until(lambda: len(desktop.heard) == 1)
        desktop.drives(token)
    assert results[0].status_code == 409
    desktop.gate.set()


async def test_a_click_that_waits_for_its_sandbox_is_refused_too(world: Any, desktop: Desktop) -> None:
    token = desktop.link()
    gate = world.routes.hold_wakes(desktop.sandbox.id)
    world.routes.sleep(desktop.sandbox.id)
    results: list[Any] = []

    async def click() -> None:
        results.append(await desktop.ask("POST", "/desktop/click"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(click)
        await world.until(lambda: world.routes.waiting(desktop.sandbox.id) == 1)
        desktop.drives(token)
    gate.set()
    assert (results[0].status_code, desktop.heard) == (409, [])


async def test_a_link_opens_pictures_and_is_not_shown_to_the_sandbox(desktop: Desktop) -> None:
    token = desktop.link(LinkMode.VIEW)
    seen = await desktop.ask("GET", f"/desktop/screenshot?format=png&link={token}&scale=0.5", token=None)
    assert seen.text == "GET /desktop/screenshot?format=png&scale=0.5 HTTP/1.1"
    assert desktop.heard[0].get("x-access-token") == TOKEN
    assert token not in desktop.heard[0].head.decode()
    elsewhere = await desktop.ask("GET", f"/desktop?link={token}", token=None)
    assert elsewhere.text == f"GET /desktop?link={token} HTTP/1.1", "it stands for nothing there"
    assert desktop.heard[1].get("x-access-token") is None


async def test_frames_end_with_their_link(world: Any, desktop: Desktop) -> None:
    token = desktop.link()
    async with world.client() as client:
        headers = world.headers(desktop.sandbox, AGENT_PORT)
        async with client.stream("GET", f"/desktop/frames?link={token}", headers=headers) as response:
            pieces = response.aiter_raw()
            assert await anext(pieces) == b"frame"
            desktop.revoke(token)
            with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
                await anext(pieces)


# Quiet requests


async def test_quiet_requests_wake_nobody_and_count_for_nothing(world: Any, desktop: Desktop) -> None:
    for path, headers in (("/desktop/screenshot?a=b&quiet=1", {}), ("/desktop/screenshot?a=b", {"Roost-Quiet": "1"})):
        seen = await desktop.ask("GET", path, **headers)
        assert seen.text == "GET /desktop/screenshot?a=b HTTP/1.1"
    traffic = world.ledger.traffic(desktop.sandbox.id)
    assert (traffic.last_byte_at, traffic.quiet_requests) == (None, 2)
    assert traffic.quiet_bytes == traffic.received_bytes + traffic.sent_bytes > 0
    world.routes.sleep(desktop.sandbox.id)
    asleep = await desktop.ask("GET", "/processes?quiet=1")
    assert (asleep.status_code, asleep.json()["error"]["code"]) == (409, "asleep")
    assert (await desktop.ask("GET", "/processes?quiet=1", token="wrong")).status_code == 401
    linked = await desktop.ask("GET", f"/desktop/screenshot?quiet=1&link={desktop.link()}", token=None)
    assert linked.json()["error"]["code"] == "asleep"
    assert world.routes.flights == []
    assert (await desktop.ask("GET", "/processes")).status_code == 200
    assert world.ledger.traffic(desktop.sandbox.id).last_byte_at is not None


async def test_a_quiet_request_under_way_is_told_when_it_falls_asleep(world: Any, desktop: Desktop) -> None:
    desktop.gate = anyio.Event()
    results: list[Any] = []

    async def ask() -> None:
        results.append(await desktop.ask("POST", "/desktop/click?quiet=1"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await world.until(lambda: len(desktop.heard) == 1)
        world.routes.sleep(desktop.sandbox.id)
    assert results[0].json()["error"]["code"] == "asleep"
    assert world.routes.flights == []
    desktop.gate.set()


async def test_a_quiet_stream_waits_over_sleep(world: Any, desktop: Desktop) -> None:
    async with world.client() as client:
        headers = {**world.headers(desktop.sandbox, AGENT_PORT), "X-Access-Token": TOKEN}
        async with client.stream("GET", "/desktop/frames?quiet=1", headers=headers) as response:
            pieces = response.aiter_raw()
            assert await anext(pieces) == b"frame"
            world.routes.sleep(desktop.sandbox.id)
            await anyio.wait_all_tasks_blocked()
            await world.routes.wake(desktop.sandbox.id, "test")
            await anyio.wait_all_tasks_blocked()
            assert world.ledger.traffic(desktop.sandbox.id).open_connections == 1
    assert world.ledger.traffic(desktop.sandbox.id).last_byte_at is None


async def test_a_screen_is_no_page(desktop: Desktop) -> None:
    answer = await desktop.ask("GET", f"/desktop/rfb?link={desktop.link()}")
    assert (answer.status_code, answer.headers["upgrade"]) == (426, "websocket")
