"""Each request goes to whom it is for, on one connection in turn."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
import websockets

pytestmark = pytest.mark.anyio


async def test_by_headers_and_by_host(world: Any) -> None:
    sandbox = world.sandbox()
    port = await sandbox.echo()
    async with world.client() as client:
        by_headers = await client.get("/a?b=c", headers=world.headers(sandbox, port))
        by_host = await client.get("/a?b=c", headers={"Host": world.host(sandbox, port)})
    assert by_headers.text == by_host.text == "GET /a?b=c HTTP/1.1"
    assert sandbox.heard[1].get("host") == world.host(sandbox, port)


async def test_api_and_sandbox_take_turns_on_one_connection(world: Any) -> None:
    sandbox = world.sandbox()
    port = await sandbox.echo()
    async with world.client(limits=httpx.Limits(max_connections=1)) as client:
        for number in range(3):
            assert (await client.get("/hello")).json() == {"from": "api"}
            body = bytes([number]) * 100_000
            assert (await client.post("/x", content=body, headers=world.headers(sandbox, port))).content == body
            assert (await client.post("/size", content=body)).json() == {"size": 100_000}
            assert "data: 2" in (await client.get("/events")).text
        assert len(world.edge.connections) == 1
        assert len(world.api.connections) == 1, "the connection to the API is used again"
    assert sandbox.connections == 1, "the connection to the sandbox is used again"


async def test_pipelined_requests_are_answered_in_order(world: Any) -> None:
    sandbox = world.sandbox()
    port = await sandbox.echo()
    lines = f"E2b-Sandbox-Id: {sandbox.id}\r\nE2b-Sandbox-Port: {port}\r\n"
    requests = (
        f"POST /1 HTTP/1.1\r\nHost: localhost\r\n{lines}Content-Length: 3\r\n\r\none"
        "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n"
        f"POST /2 HTTP/1.1\r\nHost: localhost\r\n{lines}Transfer-Encoding: chunked\r\n\r\n3\r\ntwo\r\n0\r\n\r\n"
        "POST /early HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello"
        f"GET /3 HTTP/1.1\r\nHost: localhost\r\n{lines}Connection: close\r\n\r\n"
    )
    async with world.raw() as (reader, writer):
        writer.write(requests.encode())
        everything = await reader.read()
        assert await reader.read() == b""
    bodies = [everything.index(part) for part in (b"one", b'{"from":"api"}', b"two", b'{"read":"nothing"}', b"GET /3")]
    assert bodies == sorted(bodies)
    assert everything.count(b"HTTP/1.1 200 OK") == 5


async def test_a_request_in_single_bytes(world: Any) -> None:
    sandbox = world.sandbox()
    port = await sandbox.echo()
    request = (
        f"POST / HTTP/1.1\r\nHost: {world.host(sandbox, port)}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        "4;x=y\r\nab\r\n\r\n2\r\ncd\r\n0\r\nTrailer: t\r\n\r\n"
    )
    async with world.raw() as (reader, writer):
        for byte in request.encode():
            writer.write(bytes([byte]))
            await writer.drain()
        everything = await reader.read()
    assert everything.endswith(b"\r\n\r\nab\r\ncd")


async def test_thousands_of_refused_requests_in_one_packet(world: Any) -> None:
    request = b"GET / HTTP/1.1\r\nHost: x\r\nE2b-Sandbox-Id: inone\r\nE2b-Sandbox-Port: 80\r\n\r\n"
    async with world.raw() as (reader, writer):
        writer.write(request * 3000 + b"GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        everything = await reader.read()
    assert everything.count(b"HTTP/1.1 502") == 3000
    assert everything.endswith(b'{"from":"api"}')


async def test_websocket_of_the_api(world: Any) -> None:
    async with websockets.connect(f"ws://127.0.0.1:{world.port}/ws", proxy=None) as socket:
        await socket.send("hello")
        assert await socket.recv() == "api says hello"


async def test_other_upgrades_do_not_confuse_the_api(world: Any) -> None:
    upgrade = {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2-Settings": "AAMAAABk"}
    async with world.client(limits=httpx.Limits(max_connections=1)) as client:
        assert (await client.post("/size", content=b"x" * 9, headers=upgrade)).json() == {"size": 9}
        assert (await client.get("/hello")).json() == {"from": "api"}


async def test_missing_one_of_the_two_headers(world: Any) -> None:
    sandbox = world.sandbox()
    async with world.client() as client:
        for header in ({"E2b-Sandbox-Id": sandbox.id}, {"E2b-Sandbox-Port": "80"}):
            response = await client.get("/", headers=header)
            assert response.status_code == 400
            assert response.json()["code"] == 400


async def test_unknown_sandbox(world: Any) -> None:
    async with world.client() as client:
        response = await client.get("/health", headers=world.headers("inosuchsandbox", 49983))
        assert response.status_code == 502
        assert response.json() == {"sandboxId": "inosuchsandbox", "message": "The sandbox was not found", "code": 502}
        page = await client.get("/", headers={"Accept": "text/html,*/*", **world.headers("inosuchsandbox", 80)})
        assert page.status_code == 502
        assert page.headers["content-type"].startswith("text/html")
        assert "inosuchsandbox" in page.text
        head = await client.head("/health", headers=world.headers("inosuchsandbox", 49983))
        assert head.status_code == 502
        assert (await client.get("/hello")).status_code == 200


async def test_a_refused_requests_body_is_skipped(world: Any) -> None:
    refused = b"POST / HTTP/1.1\r\nHost: x\r\nE2b-Sandbox-Id: inone\r\nE2b-Sandbox-Port: 80\r\n"
    async with world.raw() as (reader, writer):
        writer.write(refused + b"Content-Length: 5\r\n\r\nhello")
        writer.write(refused + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
        writer.write(b"GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        everything = await reader.read()
    assert everything.count(b"HTTP/1.1 502") == 2
    assert everything.endswith(b'{"from":"api"}')


async def test_the_api_answers_before_the_requests_end(world: Any) -> None:
    async with world.raw() as (reader, writer):
        writer.write(b"POST /early HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf.")
        await reader.readuntil(b'{"read":"nothing"}')
        writer.write(b"half.GET /hello HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readuntil(b'{"from":"api"}')


async def test_connect_is_refused(world: Any) -> None:
    async with world.raw() as (reader, writer):
        writer.write(b"CONNECT 10.0.0.1:80 HTTP/1.1\r\nHost: 10.0.0.1:80\r\n\r\n")
        assert (await reader.readline()).startswith(b"HTTP/1.1 405 ")


async def test_absolute_form(world: Any) -> None:
    sandbox = world.sandbox()
    port = await sandbox.echo()
    host = world.host(sandbox, port)
    async with world.raw() as (reader, writer):
        writer.write(f"GET http://{host}/x?y HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        assert (await reader.read()).endswith(b"GET /x?y HTTP/1.1")
    async with world.raw() as (reader, writer):
        writer.write(f"GET http://elsewhere/x HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        assert (await reader.readline()).startswith(b"HTTP/1.1 400 ")


async def test_forwarded_headers_and_hop_by_hop_ones(world: Any) -> None:
    sandbox = world.sandbox()
    port = await sandbox.echo()
    sent = {
        **world.headers(sandbox, port),
        "Connection": "keep-alive, X-Private, Content-Length, Host",
        "X-Private": "1",
        "Keep-Alive": "timeout=5",
        "TE": "trailers",
        "X-Kept": "2",
        "X-Forwarded-For": "203.0.113.9",
        "X-Forwarded-Proto": "https",
    }
    async with world.client() as client:
        response = await client.post("/", content=b"four", headers=sent)
    assert response.content == b"four"
    heard = sandbox.heard[0]
    names = [name for name, _ in heard.fields()]
    assert not {"connection", "x-private", "keep-alive", "te"} & set(names)
    assert heard.get("x-kept") == "2"
    assert heard.get("x-forwarded-for") == "203.0.113.9, 127.0.0.1"
    assert heard.get("x-forwarded-proto") == "https"
    assert heard.get("host") == f"127.0.0.1:{world.port}"
    assert "x-forwarded-host" not in names, "its host is not another one"
    assert json.dumps(names).count("content-length") == 1
