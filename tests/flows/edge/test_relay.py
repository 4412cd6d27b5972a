"""Requests and answers pass unchanged, streaming, whatever their shape."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

import anyio
import httpx
import pytest
import websockets

from roost.edge.limits import EdgeLimits

pytestmark = pytest.mark.anyio


def spoken(text: bytes, *, then_close: bool = False) -> Any:
    """A service that answers every request with exactly these bytes."""

    async def service(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(text)
            if then_close:
                return

    return service


async def whole(world: Any, sandbox: Any, port: int, request: bytes) -> bytes:
    """Everything the edge answers to raw bytes, until it closes."""
    async with world.raw() as (reader, writer):
        writer.write(request.replace(b"HOST", world.host(sandbox, port).encode()))
        with anyio.fail_after(20):
            return await reader.read()


CLOSE = b"Host: HOST\r\nConnection: close\r\n\r\n"


async def test_chunked_answer_passes_as_it_is(world: Any) -> None:
    sandbox = world.sandbox()
    body = b"5;ext=1\r\nhello\r\n6\r\n world\r\n0\r\nX-Sum: 11\r\n\r\n"
    port = await sandbox.serve(spoken(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body))
    everything = await whole(world, sandbox, port, b"GET / HTTP/1.1\r\n" + CLOSE)
    assert everything.endswith(b"\r\n\r\n" + body)
    async with world.client() as client:
        for _ in range(2):
            assert (await client.get("/", headers=world.headers(sandbox, port))).text == "hello world"
    assert sandbox.connections == 1


async def test_answer_without_length_ends_with_its_connection(world: Any) -> None:
    sandbox = world.sandbox()
    port = await sandbox.serve(spoken(b"HTTP/1.0 200 OK\r\nX: y\r\n\r\nas long as it lasts", then_close=True))
    everything = await whole(world, sandbox, port, b"GET / HTTP/1.1\r\nHost: HOST\r\n\r\n")
    assert everything.startswith(b"HTTP/1.1 200 OK\r\nX: y\r\nConnection: close\r\n\r\n")
    assert everything.endswith(b"as long as it lasts")


async def test_bare_line_feeds_of_a_homemade_server_are_mended(world: Any) -> None:
    sandbox = world.sandbox()
    port = await sandbox.serve(spoken(b"HTTP/1.1 200 OK\nContent-Length: 2\n\nhi"))
    everything = await whole(world, sandbox, port, b"GET / HTTP/1.1\r\n" + CLOSE)
    assert everything == b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi"


@pytest.mark.parametrize(
    ("method", "head"),
    [
        (b"HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"),
        (b"GET", b"HTTP/1.1 204 No Content\r\n\r\n"),
        (b"GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 1000\r\n\r\n"),
        (b"GET", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    ],
)
async def test_answers_without_a_body(world: Any, method: bytes, head: bytes) -> None:
    sandbox = world.sandbox()
    port = await sandbox.serve(spoken(head))
    request = method + b" / HTTP/1.1\r\nHost: HOST\r\n\r\n"
    last = method + b" / HTTP/1.1\r\n" + CLOSE
    everything = await whole(world, sandbox, port, request + request + last)
    assert everything == head + head + head[:-2] + b"Connection: close\r\n\r\n"
    assert sandbox.connections == 1


async def test_interim_answers_and_expect_continue(world: Any) -> None:
    sandbox = world.sandbox()
    seen: list[bytes] = []

    async def service(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n")
        seen.append(await reader.readexactly(4))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    port = await sandbox.serve(service)
    async with world.raw() as (reader, writer):
        writer.write(f"PUT / HTTP/1.1\r\nHost: {world.host(sandbox, port)}\r\nContent-Length: 4\r\n".encode())
        writer.write(b"Expect: 100-continue\r\n\r\n")
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        assert len(seen) == 1
        writer.write(b"body")
        assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200 OK")
    assert b"Expect: 100-continue" in seen[0]
    assert seen[1] == b"body"


async def test_both_directions_stream_at_the_same_time(world: Any) -> None:
    """Every piece arrives before the next one is sent: nothing is collected anywhere."""
    sandbox = world.sandbox()

    async def service(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while (size := int(await reader.readline(), 16)) > 0:
            piece = await reader.readexactly(size + 2)
            writer.write(b"%x\r\n" % size + piece)
        await reader.readline()
        writer.write(b"0\r\n\r\n")

    port = await sandbox.serve(service)
    async with world.raw() as (reader, writer):
        writer.write(f"POST / HTTP/1.1\r\nHost: {world.host(sandbox, port)}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        await reader.readuntil(b"\r\n\r\n")
        for number in range(20):
            writer.write(b"4\r\n%04d\r\n" % number)
            assert await reader.readexactly(9) == b"4\r\n%04d\r\n" % number
        writer.write(b"0\r\n\r\n")
        assert await reader.readexactly(5) == b"0\r\n\r\n"
        writer.write(b"GET /hello HTTP/1.1\r\nHost: x\r\n\r\n")
        assert (await reader.readline()) == b"HTTP/1.1 200 OK\r\n"


async def test_an_answer_before_the_requests_end(world: Any) -> None:
    """The service answers at the head and reads on: so does the connection."""
    sandbox = world.sandbox()

    async def service(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 413 Too Big\r\nContent-Length: 3\r\n\r\nbig")
            await reader.readexactly(10)

    port = await sandbox.serve(service)
    host = world.host(sandbox, port)
    async with world.raw() as (reader, writer):
        for _ in range(2):
            writer.write(f"POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 10\r\n\r\nhalf.".encode())
            await reader.readuntil(b"big")
            writer.write(b"half.")
        writer.write(b"GET /hello HTTP/1.1\r\nHost: x\r\n\r\n")
        assert (await reader.readline()) == b"HTTP/1.1 200 OK\r\n"


async def test_an_answer_before_the_requests_end_and_a_close(worlds: Any) -> None:
    """The service answers and hangs up: the client gets the answer, not a reset."""
    async with worlds(EdgeLimits(linger_s=30)) as world:
        sandbox = world.sandbox()
        port = await sandbox.serve(spoken(b"HTTP/1.1 413 Too Big\r\nContent-Length: 3\r\n\r\nbig", then_close=True))
        head = f"POST / HTTP/1.1\r\nHost: {world.host(sandbox, port)}\r\nContent-Length: 100000000\r\n\r\n".encode()
        async with world.raw() as (reader, writer):
            writer.write(head + b"x" * 300_000)
            with anyio.fail_after(20):
                assert (await reader.read()).endswith(b"big")


async def test_websocket(world: Any) -> None:
    sandbox = world.sandbox()

    async def echo(socket: websockets.ServerConnection) -> None:
        async for message in socket:
            await socket.send(message)

    async with websockets.serve(echo, sandbox.address, 0, max_size=None) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        url = f"ws://127.0.0.1:{world.port}/socket?a=b"
        async with websockets.connect(url, additional_headers=world.headers(sandbox, port), proxy=None, max_size=None) as socket:
            for message in ("text", b"\x00binary", b"x" * 3_000_000):
                await socket.send(message)
                assert await socket.recv() == message
            assert world.ledger.traffic(sandbox.id).open_connections == 1
        await world.until(lambda: world.ledger.traffic(sandbox.id).open_connections == 0)


async def test_any_upgrade_is_a_tunnel_with_two_ends(world: Any) -> None:
    """Bytes sent right behind the request reach the other side, and each direction ends by itself."""
    sandbox = world.sandbox()

    async def service(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        assert b"\r\nConnection: Upgrade\r\nUpgrade: chat/2\r\n" in head
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: chat/2\r\n\r\nwelcome ")
        everything = await reader.read()  # to the client's end
        writer.write(everything.upper())

    port = await sandbox.serve(service)
    async with world.raw() as (reader, writer):
        writer.write(f"GET / HTTP/1.1\r\nHost: {world.host(sandbox, port)}\r\n".encode())
        writer.write(b"Connection: Upgrade\r\nUpgrade: chat/2\r\n\r\nearly ")
        await reader.readuntil(b"welcome ")
        writer.write(b"late")
        writer.write_eof()
        assert await reader.read() == b"EARLY LATE"


async def test_an_upgrade_that_is_declined(world: Any) -> None:
    sandbox = world.sandbox()
    port = await sandbox.echo()
    async with world.client(limits=httpx.Limits(max_connections=1)) as client:
        headers = {**world.headers(sandbox, port), "Connection": "Upgrade", "Upgrade": "websocket"}
        assert (await client.post("/", content=b"body", headers=headers)).content == b"body"
        assert (await client.get("/hello")).status_code == 200


async def test_a_hundred_megabytes_each_way_while_the_reader_dawdles(world: Any) -> None:
    """What is not taken is not read: the pieces on the way stay few, and every byte arrives."""
    sandbox = world.sandbox()
    total, piece = 100 * 1024 * 1024, bytes(range(256)) * 1024
    expected = hashlib.sha256(piece * (total // len(piece))).hexdigest().encode()
    rest = asyncio.Event()
    sent = {"up": 0, "down": 0}

    async def service(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await rest.wait()  # dawdles
        digest, left = hashlib.sha256(), total
        while left:
            data = await reader.read(1 << 20)
            digest.update(data)
            left -= len(data)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (total + 64) + digest.hexdigest().encode())
        for _ in range(total // len(piece)):
            writer.write(piece)
            await writer.drain()
            sent["down"] += len(piece)

    port = await sandbox.serve(service)
    got = hashlib.sha256()
    async with world.raw() as (reader, writer), anyio.create_task_group() as tasks:
        writer.write(f"POST / HTTP/1.1\r\nHost: {world.host(sandbox, port)}\r\nContent-Length: {total}\r\n\r\n".encode())

        async def upload() -> None:
            for _ in range(total // len(piece)):
                writer.write(piece)
                await writer.drain()
                sent["up"] += len(piece)

        tasks.start_soon(upload)
        await world.stalls(lambda: sent["up"])
        assert sent["up"] < 40 * 1024 * 1024, "the edge reads on although the sandbox takes nothing"
        rest.set()
        await reader.readuntil(b"\r\n\r\n")
        assert await reader.readexactly(64) == expected
        await world.stalls(lambda: sent["down"])
        assert sent["down"] < 40 * 1024 * 1024, "the edge reads on although the client takes nothing"
        left = total
        while left:
            data = await reader.read(1 << 20)
            got.update(data)
            left -= len(data)
    assert got.hexdigest().encode() == expected
    traffic = world.ledger.traffic(sandbox.id)
    assert total < traffic.received_bytes < total + 1000
    assert total < traffic.sent_bytes < total + 1000


async def test_the_client_leaves_and_the_sandbox_learns_of_it(world: Any) -> None:
    sandbox = world.sandbox()
    left = asyncio.Event()

    async def service(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
        try:
            await reader.read()
        finally:
            left.set()

    port = await sandbox.serve(service)
    async with world.client() as client, client.stream("GET", "/", headers=world.headers(sandbox, port)) as response:
        assert await anext(response.aiter_raw()) == b"one"
        assert world.ledger.traffic(sandbox.id).open_connections == 1
    with anyio.fail_after(20):
        await left.wait()
    await world.until(lambda: world.ledger.traffic(sandbox.id).open_connections == 0)


async def test_ledger_counts_what_moved(world: Any) -> None:
    sandbox = world.sandbox()
    port = await sandbox.echo()
    assert world.ledger.traffic(sandbox.id).last_byte_at is None
    async with world.client() as client:
        await client.post("/", content=b"x" * 1000, headers=world.headers(sandbox, port))
        first = world.ledger.traffic(sandbox.id)
        world.clock.advance(60)
        await client.post("/", content=b"x" * 1000, headers=world.headers(sandbox, port))
        second = world.ledger.traffic(sandbox.id)
        world.clock.advance(60)
        await client.get("/hello")
    assert world.ledger.traffic(sandbox.id) == second
    assert (first.requests, second.requests) == (1, 2)
    assert second.last_byte_at == world.clock.now() - 60
    heard = sum(len(one.head) + len(one.body) for one in sandbox.heard)
    assert second.received_bytes == heard
    assert second.sent_bytes > 2000
    world.ledger.forget(sandbox.id)
    world.ledger.forget(sandbox.id)
    assert world.ledger.traffic(sandbox.id).requests == 0
