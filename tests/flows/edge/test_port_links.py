"""Ports that are not public, opened in a browser by a link."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosedError, InvalidStatus

from roost.contracts.routes import Route
from roost.domain.ids import LinkId, TeamId
from roost.domain.link import Link, link_digest
from roost.domain.sandbox import Ingress
from tests.flows.edge.conftest import Sandbox, World
from tests.flows.edge.test_tls import Secured, certificate, secured

pytestmark = pytest.mark.anyio
__all__ = ["certificate", "secured"]
CLOSED = Ingress(public=False, token="let me in")
BROWSER = {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


@dataclass
class Shared:
    """A sandbox that is not public, one port of it, and the links that were made."""

    world: World
    sandbox: Sandbox
    port: int

    @property
    def route(self) -> Route:
        route = self.world.routes.locate(self.sandbox.id)
        assert route is not None
        return route

    def link(self, *, port: int | None = None, lives_s: float = 3600.0) -> str:
        """The token of a new one."""
        token, now = random.randbytes(32).hex(), self.world.clock.now()
        link = Link(
            LinkId(token[:8]),
            self.sandbox.id,
            TeamId("team"),
            None,
            "ben",
            link_digest(token),
            now,
            now + lives_s,
            port or self.port,
        )
        self.world.routes.place(replace(self.route, links={**self.route.links, link.digest: link}))
        return token

    def revoke(self, token: str) -> None:
        kept = {digest: link for digest, link in self.route.links.items() if digest != link_digest(token)}
        self.world.routes.place(replace(self.route, links=kept))

    async def get(self, path: str = "/", *, cookie: str = "", port: int | None = None) -> httpx.Response:
        host = self.world.host(self.sandbox, port or self.port)
        headers = {"Host": host, **BROWSER} | ({"Cookie": cookie} if cookie else {})
        async with self.world.client() as client:
            return await client.get(path, headers=headers)

    @asynccontextmanager
    async def socket(self, cookie: str, origin: str | None = None) -> AsyncIterator[ClientConnection]:
        headers = {"Cookie": cookie, "Origin": origin or f"http://{self.world.host(self.sandbox, self.port)}"}
        url = f"ws://{self.world.host(self.sandbox, self.port)}/live"
        async with connect(url, host="127.0.0.1", port=self.world.port, additional_headers=headers, proxy=None) as socket:
            yield socket


def closed(world: World) -> Sandbox:
    sandbox = world.sandbox()
    route = world.routes.locate(sandbox.id)
    assert route is not None
    world.routes.place(replace(route, ingress=CLOSED))
    return sandbox


@pytest.fixture
async def shared(world: World) -> Shared:
    sandbox = closed(world)
    return Shared(world, sandbox, await sandbox.echo())


@pytest.fixture
async def chatty(world: World) -> AsyncIterator[Shared]:
    """What listens there echoes a WebSocket's messages, and the Cookie header if it got one."""
    sandbox = closed(world)

    async def echo(socket: ServerConnection) -> None:
        assert socket.request is not None
        await socket.send(f"cookie: {socket.request.headers.get('Cookie')}")
        async for message in socket:
            await socket.send(message)

    async with serve(echo, sandbox.address, 0) as server:
        yield Shared(world, sandbox, next(iter(server.sockets)).getsockname()[1])


async def opened(shared: Shared, token: str, path: str = "/") -> str:
    """What a browser has in its jar after it opened the link."""
    answer = await shared.get(f"{path}?roost_link={token}")
    assert (answer.status_code, answer.headers["location"]) == (303, path)
    assert (answer.headers["cache-control"], answer.headers["referrer-policy"]) == ("no-store", "no-referrer")
    return answer.headers["set-cookie"].partition(";")[0]


async def test_a_browser_comes_in_by_a_link_and_the_program_does_not_see_how(shared: Shared) -> None:
    assert (await shared.get()).status_code == 403
    jar = await opened(shared, shared.link(), "/deep/page")
    assert not shared.sandbox.heard, "the exchange is between the browser and the edge"
    for sent, seen in ((jar, None), (f"a=1; {jar}; b=2", "a=1; b=2")):
        assert (await shared.get("/deep/page?q", cookie=sent)).content == b"GET /deep/page?q HTTP/1.1"
        assert shared.sandbox.heard[-1].get("cookie") == seen


async def test_one_connection_is_judged_request_by_request(shared: Shared) -> None:
    jar = await opened(shared, shared.link())
    host = {"Host": shared.world.host(shared.sandbox, shared.port), **BROWSER}
    async with shared.world.client() as client:
        told = [(await client.get("/", headers=host | more)).status_code for more in ({}, {"Cookie": jar}, {}, {"Cookie": jar})]
    assert told == [403, 200, 403, 200]


async def test_other_ports_other_sandboxes_and_ended_links_are_refused(shared: Shared) -> None:
    world = shared.world
    stranger = closed(world)
    other = Shared(world, stranger, await stranger.echo())
    second = await shared.sandbox.echo()
    token, short, revoked = shared.link(), shared.link(lives_s=10), shared.link()
    jars = [await opened(shared, each) for each in (token, short, revoked)]
    shared.revoke(revoked)
    world.clock.advance(10)
    attempts = (
        await shared.get(f"/?roost_link={token}", port=second),
        await shared.get(cookie=jars[0], port=second),
        await other.get(f"/?roost_link={token}"),
        await other.get(cookie=jars[0]),
        await shared.get(f"/?roost_link={short}"),
        await shared.get(cookie=jars[1]),
        await shared.get(f"/?roost_link={revoked}"),
        await shared.get(cookie=jars[2]),
        await shared.get(f"/?roost_link={token[:-1]}x"),
        await shared.get(cookie=jars[0] + "0"),
    )
    for answer in attempts:
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "link_ended")
    assert not shared.sandbox.heard and not other.sandbox.heard
    assert (await shared.get(cookie=jars[0])).status_code == 200


async def test_a_sleeper_wakes_for_who_has_a_link_and_for_nobody_else(shared: Shared) -> None:
    token = shared.link()
    shared.world.routes.sleep(shared.sandbox.id)
    jar = await opened(shared, token)
    assert (await shared.get()).status_code == 403
    assert (await shared.get(cookie="roost_link=guessed")).status_code == 401
    assert not shared.world.routes.flights
    assert (await shared.get("/wake", cookie=jar)).status_code == 200
    assert [why for _, why in shared.world.routes.flights] == [f"GET /wake on port {shared.port}"]


async def test_websockets_come_in_by_the_cookie(chatty: Shared) -> None:
    jar = await opened(chatty, chatty.link())
    async with chatty.socket(f"{jar}; theme=dark") as socket:
        assert await socket.recv() == "cookie: theme=dark"
        await socket.send("hello")
        assert await socket.recv() == "hello"
    with pytest.raises(InvalidStatus, match="403"):
        async with chatty.socket("theme=dark"):
            pass


async def test_another_sandboxs_page_cannot_open_one(chatty: Shared) -> None:
    """To a browser they are one site, so it sends the cookie; and no CORS keeps a page from reading a WebSocket."""
    jar = await opened(chatty, chatty.link())
    stranger = closed(chatty.world)
    with pytest.raises(InvalidStatus, match="403"):
        async with chatty.socket(jar, f"http://{chatty.world.host(stranger, chatty.port)}"):
            pass


async def test_what_a_link_opened_is_cut_when_it_is_revoked(chatty: Shared) -> None:
    token, other = chatty.link(), chatty.link()
    async with chatty.socket(await opened(chatty, token)) as socket, chatty.socket(await opened(chatty, other)) as stays:
        await socket.recv()
        await stays.recv()
        chatty.revoke(token)
        with pytest.raises(ConnectionClosedError):
            await socket.recv()
        await stays.send("still here")
        assert await stays.recv() == "still here"


async def test_what_a_link_opened_is_cut_when_it_expires(chatty: Shared) -> None:
    async with chatty.socket(await opened(chatty, chatty.link(lives_s=30))) as socket:
        await socket.recv()
        chatty.world.clock.advance(30)
        chatty.world.routes.place(chatty.route)
        with pytest.raises(ConnectionClosedError):
            await socket.recv()


async def test_a_websocket_outlives_a_sleep(chatty: Shared) -> None:
    async with chatty.socket(await opened(chatty, chatty.link())) as socket:
        await socket.recv()
        chatty.world.routes.sleep(chatty.sandbox.id)
        await socket.send("wake up")
        assert await socket.recv() == "wake up"
    assert len(chatty.world.routes.flights) == 1


async def secure_cookie_opens(shared: Shared, client: httpx.AsyncClient, **headers: str) -> None:
    host = {"Host": shared.world.host(shared.sandbox, shared.port), **BROWSER, **headers}
    cookie = (await client.get(f"/?roost_link={shared.link()}", headers=host)).headers["set-cookie"]
    assert cookie.startswith("__Host-roost_link=") and cookie.endswith("; Secure")
    assert (await client.get("/", headers=host | {"Cookie": cookie.partition(";")[0]})).status_code == 200
    assert shared.sandbox.heard[-1].get("cookie") is None


async def test_behind_tls_the_cookie_is_secure(shared: Shared, secured: Secured) -> None:
    async with secured.client() as client:
        await secure_cookie_opens(shared, client)


async def test_behind_a_proxy_that_ends_tls_the_cookie_is_secure(shared: Shared) -> None:
    async with shared.world.client() as client:
        await secure_cookie_opens(shared, client, **{"X-Forwarded-Proto": "https"})
