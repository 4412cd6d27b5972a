"""Sandboxes reached at the API's address: whatever they answer, to a browser it is a download and no more."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
import websockets
from websockets.asyncio.server import ServerConnection, serve
from websockets.http11 import Request, Response

from roost.edge.admission.access import sign
from roost.edge.limits import AGENT_PORT
from tests.flows.edge.conftest import TOKEN, Sandbox, World, answer, hear

pytestmark = pytest.mark.anyio

PAGE = b"<script>fetch('/v1/keys', {method: 'POST'})</script>"
HOSTILE = (
    b"Content-Type: text/html",
    b"Content-Disposition: inline",
    b"Content-Security-Policy: script-src *",
    b"Cache-Control: public, max-age=31536000",
    b"Set-Cookie: roost_session=planted; Path=/",
    b"Location: https://evil.example/",
    b"Refresh: 0; url=https://evil.example/",
    b"Link: </app/x.js>; rel=preload; as=script",
    b'Clear-Site-Data: "*"',
    b"Service-Worker-Allowed: /",
    b"SourceMap: /x",
    b"WWW-Authenticate: Basic realm=roost",
    b"Strict-Transport-Security: max-age=31536000",
    b'Alt-Svc: h2="evil.example:443"',
    b"Access-Control-Allow-Credentials: true",
    b"Cross-Origin-Resource-Policy: cross-origin",
    b"X-Content-Type-Options: sniff",
    b"X-Accel-Redirect: /etc/passwd",
    b'Report-To: {"group": "x"}',
    # To a proxy these belong to one hop, and are taken out: ours must not be.
    b"Connection: Content-Disposition, Content-Security-Policy, X-Content-Type-Options, Content-Type",
)
ALLOWED = {
    "content-length",
    "content-type",
    "content-disposition",
    "content-security-policy",
    "x-content-type-options",
    "cross-origin-resource-policy",
    "cache-control",
    "access-control-allow-origin",
}


def signed(path: str = "/home/user/report.html", *, write: bool = False) -> str:
    query = {"path": path, "username": "user", "signature": sign(path, "user", TOKEN, write=write, expiration=None)}
    return "/files?" + urlencode(query)


async def agent(world: World, said: bytes) -> Sandbox:
    """A sandbox whose agent was replaced by its root: it answers everything with these bytes."""
    sandbox = world.sandbox()

    async def service(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (request := await hear(reader)) is not None:
            sandbox.heard.append(request)
            writer.write(said)

    await sandbox.serve(service, port=AGENT_PORT)
    return sandbox


def check_inert(got: httpx.Response) -> None:
    assert set(got.headers) - ALLOWED == set()
    assert got.headers.get_list("content-type") == ["application/octet-stream"]
    assert got.headers.get_list("content-security-policy") == ["sandbox; default-src 'none'"]
    assert got.headers.get_list("x-content-type-options") == ["nosniff"]
    assert got.headers.get_list("cross-origin-resource-policy") == ["same-origin"]
    assert got.headers.get_list("cache-control") == ["no-store"]
    assert got.headers["content-disposition"].startswith("attachment")


@pytest.mark.parametrize("status", [b"200 OK", b"302 Found", b"401 Unauthorized", b"404 Not Found", b"500 Broken"])
async def test_a_signed_file_is_a_download_whatever_the_agent_says(world: World, status: bytes) -> None:
    await agent(world, answer(PAGE, *HOSTILE, status=status))
    async with world.client() as client:
        got = await client.get(signed())
    assert (got.status_code, got.content) == (int(status[:3]), PAGE)
    check_inert(got)
    assert got.headers["content-disposition"] == "attachment; filename*=UTF-8''report.html"


async def test_so_is_what_comes_from_any_port_by_headers(world: World) -> None:
    sandbox = await agent(world, answer(PAGE, *HOSTILE))
    async with world.client() as client:
        for path in ("/", "/app/assets/index.js", "/files", "/v1/session"):
            got = await client.get(path, headers=world.headers(sandbox, AGENT_PORT))
            assert got.content == PAGE
            check_inert(got)


async def test_at_its_own_name_a_sandbox_says_what_it_likes(world: World) -> None:
    said = (b"Content-Type: text/html", b"Set-Cookie: a=1", b"Link: <x>; rel=next", b'Clear-Site-Data: "cookies"')
    sandbox = await agent(world, answer(PAGE, *said))
    async with world.client() as client:
        got = await client.get("/", headers={"Host": world.host(sandbox, AGENT_PORT)})
    assert (got.headers["content-type"], got.headers["set-cookie"], got.headers["link"]) == ("text/html", "a=1", "<x>; rel=next")
    assert "content-security-policy" not in got.headers
    assert "clear-site-data" not in got.headers, "but that: it holds for all of the site, which is the whole domain"


@pytest.mark.parametrize(
    ("said", "passed"),
    [
        ("application/json", "application/json"),
        ("application/connect+json", "application/connect+json"),
        ("image/png", "image/png"),
        ("text/plain; charset=utf-8", "text/plain; charset=utf-8"),
        ("application/json; charset=utf-8, text/html", "application/octet-stream"),
        ("application/json;profile=x", "application/octet-stream"),
        ("image/svg+xml", "application/octet-stream"),
        ("text/javascript", "application/octet-stream"),
        ("application/xhtml+xml", "application/octet-stream"),
        ("multipart/x-mixed-replace; boundary=x", "application/octet-stream"),
        ("application/pdf", "application/octet-stream"),
        ("", "application/octet-stream"),
    ],
)
async def test_types_that_a_browser_would_act_on_do_not_pass(world: World, said: str, passed: str) -> None:
    sandbox = await agent(world, answer(PAGE, f"Content-Type: {said}".encode()))
    async with world.client() as client:
        got = await client.get("/x", headers=world.headers(sandbox, AGENT_PORT))
    assert got.headers.get_list("content-type") == [passed]


async def test_two_types_are_none(world: World) -> None:
    sandbox = await agent(world, answer(PAGE, b"Content-Type: application/json", b"Content-Type: text/html"))
    async with world.client() as client:
        got = await client.get("/x", headers=world.headers(sandbox, AGENT_PORT))
    assert got.headers.get_list("content-type") == ["application/octet-stream"]


DESTINATIONS = (
    *("document", "frame", "iframe", "embed", "object", "script", "style", "xslt", "worker", "sharedworker", "serviceworker"),
    *("audioworklet", "image", "font", "audio", "video", "track", "manifest", "websocket", "whatever-comes-next"),
)


@pytest.mark.parametrize("destination", DESTINATIONS)
async def test_a_browser_gets_it_as_no_part_of_a_page(world: World, destination: str) -> None:
    sandbox = await agent(world, answer(PAGE))
    asks = {"Sec-Fetch-Dest": destination}
    async with world.client() as client:
        for got in (
            await client.get(signed(), headers=asks),
            await client.get("/", headers={**asks, **world.headers(sandbox, AGENT_PORT)}),
        ):
            assert (got.status_code, got.json()["error"]["code"]) == (403, "own_host_only")
    assert not sandbox.heard


async def test_no_service_worker_comes_from_a_sandbox(world: World) -> None:
    sandbox = await agent(world, answer(b"", b"Content-Type: text/javascript", b"Service-Worker-Allowed: /"))
    async with world.client() as client:
        assert (await client.get(signed(), headers={"Service-Worker": "script"})).status_code == 403
    assert not sandbox.heard


async def test_a_person_is_shown_where_it_opens(world: World) -> None:
    sandbox = await agent(world, answer(PAGE))
    asks = {"Sec-Fetch-Dest": "document", "Sec-Fetch-Mode": "navigate", "Accept": "text/html,*/*"}
    async with world.client() as client:
        got = await client.get(signed() + '&x="><script>', headers=asks)
    assert got.status_code == 403 and "<script>" not in got.text
    assert f'href="//{world.host(sandbox, AGENT_PORT)}/files?path=' in got.text
    assert got.headers["content-security-policy"].startswith("default-src 'none'")


async def test_programs_and_fetch_are_served(world: World) -> None:
    await agent(world, answer(b"hello", b"ETag: x", b"Accept-Ranges: bytes", b"Content-Encoding: identity"))
    async with world.client() as client:
        for asks in ({}, {"Sec-Fetch-Dest": "empty", "Sec-Fetch-Mode": "cors", "Origin": "https://app.example"}):
            got = await client.get(signed(), headers=asks)
            assert (got.status_code, got.text, got.headers["access-control-allow-origin"]) == (200, "hello", "*")
            assert (got.headers["etag"], got.headers["accept-ranges"], got.headers["content-encoding"]) == (
                "x",
                "bytes",
                "identity",
            )
        sent = await client.post(signed("a.txt", write=True), files={"file": ("a.txt", b"from you")})
        assert sent.status_code == 200


async def test_cookies_of_the_apis_host_stay_there(world: World) -> None:
    sandbox = await agent(world, answer(b""))
    async with world.client() as client:
        for path, more in ((signed(), {}), ("/x", world.headers(sandbox, AGENT_PORT))):
            await client.get(path, headers={"Cookie": "roost_session=secret", "X-Other": "1", **more})
    assert [(heard.get("cookie"), heard.get("x-other")) for heard in sandbox.heard] == [(None, "1")] * 2


async def test_hints_before_the_answer_are_kept_back(world: World) -> None:
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: </evil.js>; rel=preload; as=script\r\n\r\n"
    goes_on = b"HTTP/1.1 100 Continue\r\nSet-Cookie: roost_session=planted\r\n\r\n"
    sandbox = await agent(world, hints + goes_on + answer(b"body"))
    head = f"GET / HTTP/1.1\r\nConnection: close\r\nE2b-Sandbox-Id: {sandbox.id}\r\nE2b-Sandbox-Port: {AGENT_PORT}\r\n"
    async with world.raw() as (reader, writer):
        writer.write(f"{head}Host: localhost\r\n\r\n".encode())
        everything = await reader.read()
    assert everything.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")
    assert b"evil" not in everything and b"Set-Cookie" not in everything
    async with world.raw() as (reader, writer):
        writer.write(f"{head}Host: {world.host(sandbox, AGENT_PORT)}\r\n\r\n".encode())
        assert b"103 Early Hints" in await reader.read()


async def test_trailers_are_taken_out_however_they_are_cut(world: World) -> None:
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\nSet-Cookie: a=1\r\nX: y\r\n\r\n"
    for size in (len(chunked), 1, 7, 60):
        sandbox = world.sandbox()

        async def service(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, size: int = size) -> None:
            while await hear(reader) is not None:
                for at in range(0, len(chunked), size):
                    writer.write(chunked[at : at + size])
                    await writer.drain()

        port = await sandbox.serve(service)
        head = f"Host: localhost\r\nE2b-Sandbox-Id: {sandbox.id}\r\nE2b-Sandbox-Port: {port}\r\n\r\n"
        async with world.raw() as (reader, writer):
            writer.write(f"GET / HTTP/1.1\r\n{head}GET / HTTP/1.1\r\nConnection: close\r\n{head}".encode())
            everything = await reader.read()
        assert everything.count(b"\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n") == 2 and b"Set-Cookie" not in everything


async def test_a_websocket_by_headers_sets_no_cookie(world: World) -> None:
    sandbox = world.sandbox()

    async def echo(socket: ServerConnection) -> None:
        async for message in socket:
            await socket.send(message)

    def plant(_connection: ServerConnection, _request: Request, response: Response) -> Response:
        response.headers["Set-Cookie"] = "roost_session=planted"
        return response

    async with serve(echo, sandbox.address, 0, process_response=plant) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        url, headers = f"ws://127.0.0.1:{world.port}/ws", world.headers(sandbox, port)
        async with websockets.connect(url, additional_headers=headers, proxy=None) as socket:
            assert socket.response is not None and "set-cookie" not in socket.response.headers
            await socket.send("hello")
            assert await socket.recv() == "hello"


async def test_what_the_edge_says_itself_is_no_page_to_build_on(world: Any) -> None:
    asks = {"Accept": "text/html", **world.headers("inosuchsandbox", 80)}
    async with world.client() as client:
        got = await client.get("/", headers=asks)
    assert got.headers["content-security-policy"] == "default-src 'none'; style-src 'unsafe-inline'"
    assert got.headers["x-content-type-options"] == "nosniff"
