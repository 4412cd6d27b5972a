"""Who may reach a sandbox's ports, and what the services there see."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlencode

import pytest
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve

from roost.domain.sandbox import Ingress
from roost.edge.admission.access import sign
from roost.edge.limits import AGENT_PORT
from roost.setup.tls import ensure_certificate, make_context
from tests.flows.edge.conftest import TOKEN, Sandbox, World, answer, hear

pytestmark = pytest.mark.anyio
CLOSED = Ingress(public=False, token="let me in")
TRAFFIC = "E2b-Traffic-Access-Token"


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    """A service's own certificate, which nobody outside trusts."""
    folder: Path = tmp_path_factory.mktemp("tls")
    return make_context(ensure_certificate(folder, "inside.localhost", "127.0.0.1", datetime.now(UTC)))


def make(world: World, ingress: Ingress) -> Sandbox:
    sandbox = world.sandbox()
    change(world, sandbox, ingress)
    return sandbox


def change(world: World, sandbox: Sandbox, ingress: Ingress) -> None:
    route = world.routes.locate(sandbox.id)
    assert route is not None
    world.routes.place(replace(route, ingress=ingress))


async def test_closed_ports_open_to_who_brings_the_token(world: World) -> None:
    sandbox = make(world, CLOSED)
    port = await sandbox.echo()
    headers = world.headers(sandbox, port)
    async with world.client() as client:
        for wrong in ({}, {TRAFFIC: ""}, {TRAFFIC: "let me in!"}, {"X-Access-Token": TOKEN}):
            refused = await client.get("/", headers=headers | wrong)
            assert refused.status_code == 403
            assert refused.json()["code"] == 403 and refused.json()["sandboxId"] == sandbox.id
        assert not sandbox.heard
        page = await client.get("/", headers=headers | {"Accept": "text/html"})
        assert page.status_code == 403 and "not public" in page.text
        assert (await client.get("/", headers=headers | {TRAFFIC: "let me in"})).status_code == 200
        by_host = await client.get("/", headers={"Host": world.host(sandbox, port), TRAFFIC: "let me in"})
        assert by_host.status_code == 200
        assert (await client.get("/", headers={"Host": world.host(sandbox, port)})).status_code == 403


async def test_the_agent_is_exempt(world: World) -> None:
    sandbox = make(world, CLOSED)
    await sandbox.echo(port=AGENT_PORT)
    async with world.client() as client:
        assert (await client.get("/health", headers=world.headers(sandbox, AGENT_PORT))).status_code == 200


async def test_strangers_do_not_wake_a_closed_sandbox(world: World) -> None:
    sandbox = make(world, CLOSED)
    port = await sandbox.echo()
    world.routes.sleep(sandbox.id)
    async with world.client() as client:
        assert (await client.get("/", headers=world.headers(sandbox, port))).status_code == 403
        assert not world.routes.flights
        welcome = world.headers(sandbox, port) | {TRAFFIC: "let me in"}
        assert (await client.get("/", headers=welcome)).status_code == 200
    assert len(world.routes.flights) == 1


async def test_services_see_the_masked_host_and_the_agent_the_real_one(world: World) -> None:
    sandbox = make(world, Ingress(mask_host="localhost:${PORT}"))
    port = await sandbox.echo()
    await sandbox.echo(port=AGENT_PORT)
    async with world.client() as client:
        for target in (port, AGENT_PORT):
            await client.get("/", headers={"Host": world.host(sandbox, target)})
    service, agent = sandbox.heard
    assert service.get("host") == f"localhost:{port}"
    assert [name for name, _ in service.fields()].count("host") == 1
    assert service.get("x-forwarded-host") == world.host(sandbox, port)
    assert agent.get("host") == world.host(sandbox, AGENT_PORT)


async def serve_tls(sandbox: Sandbox, tls: ssl.SSLContext, address: str) -> int:
    async def service(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (request := await hear(reader)) is not None:
                sandbox.heard.append(request)
                writer.write(answer(request.body or request.line))
        finally:
            writer.close()

    server = await asyncio.start_server(service, address, 0, ssl=tls)
    sandbox.stack.callback(server.close)
    return server.sockets[0].getsockname()[1]


async def test_tls_is_spoken_to_the_ports_that_speak_it(world: World, tls: ssl.SSLContext) -> None:
    sandbox = world.sandbox()
    port = await serve_tls(sandbox, tls, sandbox.address)
    plain = await sandbox.echo()
    change(world, sandbox, Ingress(https_ports=(port,)))
    body = bytes(range(256)) * 4096
    async with world.client() as client:
        for _ in range(3):
            echoed = await client.post("/", content=body, headers=world.headers(sandbox, port))
            assert echoed.status_code == 200 and echoed.content == body
        assert (await client.get("/", headers=world.headers(sandbox, plain))).status_code == 200


async def test_tls_on_the_sandboxs_own_loopback_goes_through_the_bridge(world: World, tls: ssl.SSLContext) -> None:
    sandbox = world.sandbox()
    port = await serve_tls(sandbox, tls, "127.0.0.1")

    async def bridge(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await hear(reader)
        assert request is not None and f"port={port}".encode() in request.line
        there_reader, there_writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: roost-bridge\r\n\r\n")

        async def pump(source: asyncio.StreamReader, into: asyncio.StreamWriter) -> None:
            while data := await source.read(65536):
                into.write(data)
            into.close()

        await asyncio.gather(pump(reader, there_writer), pump(there_reader, writer))

    await sandbox.serve(bridge, port=AGENT_PORT)
    change(world, sandbox, Ingress(https_ports=(port,)))
    async with world.client() as client:
        assert (await client.get("/in", headers=world.headers(sandbox, port))).content == b"GET /in HTTP/1.1"


async def test_a_port_that_does_not_speak_the_tls_it_should_is_said_to_be_unreachable(world: World) -> None:
    sandbox = world.sandbox()

    async def service(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    port = await sandbox.serve(service)
    change(world, sandbox, Ingress(https_ports=(port,)))
    async with world.client() as client:
        refused = await client.get("/", headers=world.headers(sandbox, port))
    assert refused.status_code == 502 and "cannot be reached" in refused.json()["message"]


async def test_websockets_pass_to_a_tls_service(world: World, tls: ssl.SSLContext) -> None:
    sandbox = world.sandbox()

    async def echo(socket: ServerConnection) -> None:
        async for message in socket:
            await socket.send(message)

    async with serve(echo, sandbox.address, 0, ssl=tls) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        change(world, sandbox, Ingress(https_ports=(port,)))
        url = f"ws://127.0.0.1:{world.port}/"
        async with connect(url, additional_headers=world.headers(sandbox, port), proxy=None) as socket:
            await socket.send("through two tunnels")
            assert await socket.recv() == "through two tunnels"


def signed(path: str, token: str = TOKEN, *, write: bool = False, expiration: str | None = None) -> str:
    query = {"path": path, "signature": sign(path, "", token, write=write, expiration=expiration)}
    return "/files?" + urlencode(query | ({"signature_expiration": expiration} if expiration else {}))


async def test_a_signed_file_url_without_an_id_finds_its_sandbox(world: World) -> None:
    sandbox = world.sandbox()
    await sandbox.echo(port=AGENT_PORT)
    async with world.client() as client:
        assert (await client.get(signed("a b.txt"))).content.startswith(b"GET /files?path=a+b.txt&signature=")
        assert (await client.post(signed("up", write=True), content=b"content")).content == b"content"
        refused = await client.get(signed("x", "not a token"))
        assert refused.status_code == 401 and refused.json() == {"code": 401, "message": "invalid signature"}
        assert (await client.get("/hello")).json() == {"from": "api"}, "the API is where it was"


async def test_a_signed_file_url_wakes_its_sandbox_until_it_expires(world: World) -> None:
    sandbox = world.sandbox()
    await sandbox.echo(port=AGENT_PORT)
    world.routes.sleep(sandbox.id)
    good = str(int(world.clock.now()) + 10)
    late = str(int(world.clock.now()) - 1)
    async with world.client() as client:
        refused = await client.get(signed("f", expiration=late))
        assert refused.status_code == 401 and refused.json()["message"] == "signature is already expired"
        assert not world.routes.flights
        assert (await client.get(signed("f", expiration=good))).status_code == 200
    assert len(world.routes.flights) == 1


async def test_a_signed_file_url_of_a_dead_sandbox_is_nobodys(world: World) -> None:
    sandbox = world.sandbox()
    await sandbox.echo(port=AGENT_PORT)
    async with world.client() as client:
        assert (await client.get(signed("f"))).status_code == 200
        world.routes.remove(sandbox.id)
        gone = await client.get(signed("f"))
    assert gone.status_code == 502 and gone.json()["message"] == "The sandbox was not found"
