"""The edge behind TLS: the same traffic, but a connection ends both ways at once."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve

from roost.edge.limits import AGENT_PORT
from roost.setup.tls import Certificate, ensure_certificate, make_context
from tests.flows.edge.conftest import DOMAIN, PATIENCE_S, Sandbox, World, answer, hear
from tests.flows.edge.desktop import GREETING, Desktop, Person

pytestmark = pytest.mark.anyio
BODY = bytes(range(256)) * (4 << 12)  # 4 MiB


@dataclass(frozen=True, slots=True)
class Secured:
    port: int
    trust: ssl.SSLContext

    def client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            base_url=f"https://127.0.0.1:{self.port}", verify=self.trust, timeout=PATIENCE_S, trust_env=False
        )

    @asynccontextmanager
    async def raw(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, ssl=self.trust, server_hostname=f"x.{DOMAIN}")
        try:
            yield reader, writer
        finally:
            writer.transport.abort()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    folder: Path = tmp_path_factory.mktemp("tls")
    return ensure_certificate(folder, DOMAIN, "127.0.0.1", datetime.now(UTC))


@pytest.fixture
async def secured(world: World, certificate: Certificate) -> AsyncIterator[Secured]:
    """The world's edge, on a second port that speaks TLS."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(world.edge.connection, "127.0.0.1", 0, ssl=make_context(certificate))
    yield Secured(server.sockets[0].getsockname()[1], ssl.create_default_context(cafile=certificate.ca))
    server.close()


async def test_api_and_sandboxes_share_a_connection(world: World, secured: Secured) -> None:
    sandbox = world.sandbox()
    port = await sandbox.echo()
    async with secured.client() as client:
        for _ in range(3):
            assert (await client.get("/hello")).json() == {"from": "api"}
            assert (await client.post("/", content=BODY, headers=world.headers(sandbox, port))).content == BODY
            assert (await client.post("/size", content=BODY)).json() == {"size": len(BODY)}
        assert len(world.edge.connections) == 1
    assert sandbox.heard[0].get("x-forwarded-proto") == "https"


async def test_websockets(world: World, secured: Secured) -> None:
    sandbox = world.sandbox()

    async def echo(socket: ServerConnection) -> None:
        async for message in socket:
            await socket.send(message)

    async with serve(echo, sandbox.address, 0) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        address, headers = f"wss://127.0.0.1:{secured.port}/", world.headers(sandbox, port)
        async with connect(address, ssl=secured.trust, additional_headers=headers, proxy=None, max_size=None) as socket:
            await socket.send(BODY[: 1 << 20])
            assert await socket.recv() == BODY[: 1 << 20]
    async with connect(f"wss://127.0.0.1:{secured.port}/ws", ssl=secured.trust, proxy=None) as socket:
        await socket.send("hello")
        assert await socket.recv() == "api says hello"


async def test_screens(world: World, secured: Secured) -> None:
    desktop = await Desktop(world, world.sandbox()).open()
    token, headers = desktop.link(), world.headers(desktop.sandbox, AGENT_PORT)
    address = f"wss://127.0.0.1:{secured.port}/desktop/rfb?link={token}"
    async with connect(address, ssl=secured.trust, additional_headers=headers, proxy=None) as socket:
        assert await socket.recv() == GREETING
        desktop.revoke(token)
        assert (await Person(socket).closed())[0] == 4001


async def streaming(sandbox: Sandbox, gone: asyncio.Event) -> int:
    async def service(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert await hear(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n")
        try:
            await reader.read()
        finally:
            gone.set()

    return await sandbox.serve(service)


async def test_a_dead_sandboxs_stream_is_reset(world: World, secured: Secured) -> None:
    sandbox = world.sandbox()
    port = await streaming(sandbox, asyncio.Event())
    async with secured.client() as client:
        with pytest.raises(httpx.ReadError):  # not RemoteProtocolError, which is a server that speaks wrongly
            async with client.stream("GET", "/", headers=world.headers(sandbox, port)) as stream:
                async for piece in stream.aiter_raw():
                    assert piece == b"first"
                    world.routes.remove(sandbox.id)


async def test_a_client_that_leaves_is_noticed(world: World, secured: Secured) -> None:
    sandbox, gone = world.sandbox(), asyncio.Event()
    port = await streaming(sandbox, gone)
    async with secured.client() as client, client.stream("GET", "/", headers=world.headers(sandbox, port)) as stream:
        assert await anext(stream.aiter_raw()) == b"first"
    await world.until(gone.is_set)


async def test_a_tunnel_ends_when_either_side_does(world: World, secured: Secured) -> None:
    sandbox, gone = world.sandbox(), asyncio.Event()

    async def service(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert await hear(reader)
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\nhello")
        if await reader.read(4) == b"bye!":
            return
        gone.set()

    port = await sandbox.serve(service)
    request = f"GET / HTTP/1.1\r\nHost: {world.host(sandbox, port)}\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\n".encode()
    async with secured.raw() as (reader, writer):
        writer.write(request)
        assert (await reader.readuntil(b"hello")).startswith(b"HTTP/1.1 101")
        writer.write(b"bye!")
        assert await reader.read() == b"", "the service ended, so the tunnel did"
    async with secured.raw() as (reader, writer):
        writer.write(request)
        await reader.readuntil(b"hello")
        writer.close()
        await world.until(gone.is_set)


async def test_plain_http_on_the_tls_port_gets_no_answer(world: World, secured: Secured) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", secured.port)
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    assert not (await reader.read()).startswith(b"HTTP/")
    writer.close()


async def test_a_refused_upload_is_answered_before_its_end(world: World, secured: Secured) -> None:
    async with secured.raw() as (reader, writer):
        fields = b"Host: x\r\nE2b-Sandbox-Id: nobody\r\nE2b-Sandbox-Port: 80\r\nContent-Length: 9999"
        writer.write(b"POST / HTTP/1.1\r\n" + fields + b"\r\n\r\nx")
        assert (await reader.readuntil(b"\r\n")).startswith(b"HTTP/1.1 502")
        writer.write(answer(b"more"))
        assert b"was not found" in await reader.read()
