"""Sandboxes that misbehave, ports that are closed, clients that attack."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.edge.limits import AGENT_PORT, EdgeLimits

pytestmark = pytest.mark.anyio


async def ask(world: Any, request: bytes) -> bytes:
    """All that comes back for these bytes, sent and then ended."""
    async with world.raw() as (reader, writer):
        writer.write(request)
        with anyio.fail_after(20):
            return await reader.read()


def free_port(address: str) -> int:
    with socket.create_server((address, 0)) as taken:
        return taken.getsockname()[1]


async def test_closed_port(world: Any) -> None:
    sandbox = world.sandbox()
    port = free_port(sandbox.address)
    async with world.client() as client:
        response = await client.get("/", headers=world.headers(sandbox, port))
        assert response.status_code == 502
        message = "The sandbox is running but port is not open"
        assert response.json() == {"message": message, "sandboxId": sandbox.id, "port": port, "code": 502}
        page = await client.get(
            "/", headers={**world.headers(sandbox, port), "Accept": "text/html", "Sec-Fetch-Mode": "navigate"}
        )
        assert f"Nothing listens on port {port}" in page.text
    assert world.ledger.traffic(sandbox.id).received_bytes == 0


async def agent_with_bridge(sandbox: Any, inside: str) -> list[int]:
    """The agent's bridge to what listens on the sandbox's own loopback, here at the address `inside`."""
    asked: list[int] = []

    async def agent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"GET /roost/bridge?port=") and b"\r\nUpgrade: roost-bridge\r\n" in head
        port = int(head.split(b"=")[1].split(b" ")[0])
        asked.append(port)
        try:
            to_inside = await asyncio.open_connection(inside, port)
        except OSError:
            writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 2\r\n\r\n{}")
            return
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: roost-bridge\r\n\r\n")

        async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            while data := await source.read(65536):
                sink.write(data)
            sink.close()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pump, reader, to_inside[1])
            tasks.start_soon(pump, to_inside[0], writer)

    await sandbox.serve(agent, port=AGENT_PORT)
    return asked


async def test_a_service_on_the_sandboxs_loopback_is_reached_by_the_bridge(world: Any) -> None:
    sandbox, inside = world.sandbox(), world.sandbox()
    port = await inside.echo()
    asked = await agent_with_bridge(sandbox, inside.address)
    async with world.client() as client:
        for _ in range(3):
            response = await client.post("/", content=b"hello", headers=world.headers(sandbox, port))
            assert response.content == b"hello"
        assert asked == [port], "the bridged connection is used again"
        closed = await client.get("/", headers=world.headers(sandbox, free_port(sandbox.address)))
        assert closed.json()["message"] == "The sandbox is running but port is not open"


async def test_the_way_that_worked_is_taken_again_and_left_when_it_no_longer_does(world: Any) -> None:
    sandbox, inside = world.sandbox(), world.sandbox()

    def saying(word: bytes) -> Any:
        async def service(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%b" % (len(word), word))

        return service

    port = await inside.serve(saying(b"bridged"))
    asked = await agent_with_bridge(sandbox, inside.address)
    async with world.client() as client:
        assert (await client.get("/", headers=world.headers(sandbox, port))).text == "bridged"
        await sandbox.serve(saying(b"direct"), port=port)
        assert (await client.get("/", headers=world.headers(sandbox, port))).text == "bridged"
        assert asked == [port, port]
        inside.stop()
        assert (await client.get("/", headers=world.headers(sandbox, port))).text == "direct"
        assert (await client.get("/", headers=world.headers(sandbox, port))).text == "direct"
        assert asked == [port, port, port]


async def test_a_port_that_swallows_connections(worlds: Any) -> None:
    async with worlds(EdgeLimits(connect_timeout_s=0.05)) as world:
        sandbox = world.sandbox()
        with socket.create_server((sandbox.address, 0), backlog=0) as listener, Crowd(listener):
            async with world.client() as client:
                response = await client.get("/", headers=world.headers(sandbox, listener.getsockname()[1]))
        assert response.status_code == 502
        assert "cannot be reached" in response.json()["message"]


class Crowd:
    """Fills a listener's queue, so that the next connection gets no answer at all."""

    def __init__(self, listener: socket.socket) -> None:
        self._address = listener.getsockname()
        self._fillers: list[socket.socket] = []

    def __enter__(self) -> None:
        for _ in range(8):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(self._address)
            self._fillers.append(filler)

    def __exit__(self, *_: object) -> None:
        for filler in self._fillers:
            filler.close()


@pytest.mark.parametrize(
    "spoken",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"SSH-2.0-OpenSSH_9.2p1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon here\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000 + b"\r\n\r\n",
    ],
)
async def test_no_answer_or_one_that_cannot_be_read(world: Any, spoken: bytes) -> None:
    sandbox = world.sandbox()

    async def service(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(spoken)

    port = await sandbox.serve(service)
    async with world.client() as client:
        response = await client.post("/", content=b"x", headers=world.headers(sandbox, port))
        assert response.status_code == 502
        assert response.json()["port"] == port
        assert (await client.get("/hello")).status_code == 200


@pytest.mark.parametrize(
    "spoken",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\nnonsense\r\n",
    ],
)
async def test_half_an_answer_never_looks_whole(world: Any, spoken: bytes) -> None:
    sandbox = world.sandbox()

    async def service(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(spoken)

    port = await sandbox.serve(service)
    everything = await ask(world, f"GET / HTTP/1.1\r\nHost: {world.host(sandbox, port)}\r\n\r\n".encode())
    assert everything.startswith(b"HTTP/1.1 200 OK")
    assert not everything.endswith(b"0\r\n\r\n")


async def test_surplus_bytes_are_not_the_next_answer(world: Any) -> None:
    """A sandbox that sends a second answer unasked must not speak in another's name on the same client connection."""
    evil, good = world.sandbox(), world.sandbox()

    async def service(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
        await reader.read()

    evil_port, good_port = await evil.serve(service), await good.echo()
    async with world.client() as client:
        for _ in range(2):
            assert (await client.get("/", headers=world.headers(evil, evil_port))).text == "ok"
        assert (await client.get("/mine", headers=world.headers(good, good_port))).text == "GET /mine HTTP/1.1"
    assert evil.connections == 2


async def test_an_idle_connection_that_the_service_closed_is_not_missed(world: Any) -> None:
    """The service hangs up just as the next request goes out on the same connection: it is sent again on a new one."""
    sandbox = world.sandbox()

    async def service(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        await reader.readuntil(b"\r\n\r\n")  # and no answer

    port = await sandbox.serve(service)
    async with world.client() as client:
        assert (await client.get("/", headers=world.headers(sandbox, port))).text == "ok"
        assert (await client.get("/", headers=world.headers(sandbox, port))).text == "ok"
        lost = await client.post("/", headers=world.headers(sandbox, port))
        assert lost.status_code == 502, "a request that may have had an effect is not repeated"
    assert world.ledger.traffic(sandbox.id).open_connections == 0


BAD_REQUESTS = [
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    b"GET / HTTP/2.0\r\nHost: x\r\n\r\n",
    b"GET  / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost : x\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\n folded: y\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\nA: b\nC: d\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\nA: b\x00\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +3\r\n\r\nabc",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3, 3\r\n\r\nabc",
    b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    b"POST / HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"GET x HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\nE2b-Sandbox-Id: a\r\nE2b-Sandbox-Id: b\r\nE2b-Sandbox-Port: 1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\nE2b-Sandbox-Id: a\r\nE2b-Sandbox-Port: 65536\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\nE2b-Sandbox-Id: ../a\r\nE2b-Sandbox-Port: 80\r\n\r\n",
]


@pytest.mark.parametrize("request_bytes", BAD_REQUESTS)
async def test_malformed_requests(world: Any, request_bytes: bytes) -> None:
    everything = await ask(world, request_bytes + b"GET /hello HTTP/1.1\r\nHost: x\r\n\r\n")
    assert everything.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert b"from" not in everything, "nothing behind a malformed request is read"


async def test_broken_chunks_are_cut_off(world: Any) -> None:
    """The sandbox never sees the end of a body that was broken on its way."""
    sandbox = world.sandbox()
    ends: list[bytes] = []

    async def service(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        try:
            ends.append(await reader.read())
        except ConnectionError:
            ends.append(b"")

    port = await sandbox.serve(service)
    head = f"POST / HTTP/1.1\r\nHost: {world.host(sandbox, port)}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    for broken in (
        b"zz\r\n",
        b"3\r\nabcd\r\n0\r\n\r\n",
        b"3\nabc\r\n0\r\n\r\n",
        b"-1\r\n",
        b"0\r\nbad trailer\r\n\r\n",
        b"f" * 16 + b"\r\n",
    ):
        everything = await ask(world, head + b"2\r\nok\r\n" + broken)
        assert everything.startswith(b"HTTP/1.1 400 "), broken
    api = await ask(world, b"POST /size HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\nzz\r\n")
    assert api.startswith(b"HTTP/1.1 400 ")
    await world.until(lambda: len(ends) == 6)
    assert not any(end.endswith(b"0\r\n\r\n") for end in ends)


async def test_heads_that_are_too_long_or_too_slow(worlds: Any) -> None:
    async with worlds(EdgeLimits(linger_s=0.05)) as world:
        long = b"GET / HTTP/1.1\r\nHost: x\r\nA: " + b"a" * 70_000
        assert (await ask(world, long)).startswith(b"HTTP/1.1 431 ")
        assert (await ask(world, long + b"\r\n\r\n")).startswith(b"HTTP/1.1 431 ")
    async with worlds(EdgeLimits(head_timeout_s=0.05, linger_s=0.05)) as world:
        assert (await ask(world, b"GET / HTTP/1.1\r\nHost:")).startswith(b"HTTP/1.1 408 ")
    async with worlds(EdgeLimits(idle_timeout_s=0.05)) as world:
        assert await ask(world, b"") == b""
        assert await ask(world, b"\r\n\r\n") == b""


_NOISE = st.binary(max_size=60)
_NAMES = st.sampled_from(
    b"Host Content-Length Transfer-Encoding Connection Upgrade E2b-Sandbox-Id E2b-Sandbox-Port Expect X".split()
)
_VALUES = st.one_of(st.sampled_from(b"x 3 chunked close upgrade websocket 100-continue".split()), _NOISE)
_FIELDS = st.lists(st.builds(lambda name, value: name + b":" + value + b"\r\n", _NAMES, _VALUES), max_size=4).map(b"".join)
_BODIES = st.one_of(st.sampled_from([b"", b"abc", b"3\r\nabc\r\n0\r\n\r\n"]), _NOISE)
_REQUESTS = st.builds(
    lambda method, target, routed, fields, body: (
        b"%b %b HTTP/1.1\r\nHost: x\r\n%b%b\r\n%b" % (method, target, routed, fields, body)
    ),
    st.sampled_from(b"GET POST HEAD OPTIONS CONNECT X".split()),
    st.one_of(st.sampled_from([b"/", b"*", b"//init", b"http://x/"]), _NOISE),
    st.sampled_from([b"", b"E2b-Sandbox-Id: SANDBOX\r\nE2b-Sandbox-Port: PORT\r\n"]),
    _FIELDS,
    _BODIES,
)
_ANSWERS = st.builds(
    lambda status, fields, body: b"HTTP/1.1 %b OK\r\n%b\r\n%b" % (status, fields, body),
    st.one_of(st.sampled_from(b"100 101 103 200 204 304 500".split()), _NOISE),
    _FIELDS,
    _BODIES,
)


async def test_noise_never_hangs_and_never_breaks_anything(world: Any) -> None:
    sandbox = world.sandbox()
    port = await sandbox.echo()

    async def send(message: bytes) -> None:
        async with world.raw() as (reader, writer):
            writer.write(message)
            writer.write_eof()
            with anyio.fail_after(20), contextlib.suppress(ConnectionError):
                await reader.read()
        assert world.mishaps == []

    @settings(max_examples=200, deadline=None, database=None, derandomize=True)
    @given(st.lists(st.one_of(_REQUESTS, _NOISE), max_size=4))
    def survives(parts: list[bytes]) -> None:
        message = b"".join(parts).replace(b"SANDBOX", sandbox.id.encode()).replace(b"PORT", b"%d" % port)
        anyio.from_thread.run(send, message)

    await anyio.to_thread.run_sync(survives)
    assert world.ledger.traffic(sandbox.id).requests > 0, "some of the noise got through to the sandbox"
    await world.until(lambda: world.ledger.traffic(sandbox.id).open_connections == 0)
    async with world.client() as client:
        assert (await client.get("/hello")).status_code == 200


async def test_noise_from_a_sandbox_never_hangs_and_never_breaks_anything(world: Any) -> None:
    sandbox = world.sandbox()
    noise = b""

    async def service(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(noise)

    port = await sandbox.serve(service)
    request = f"GET / HTTP/1.1\r\nHost: {world.host(sandbox, port)}\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n".encode()

    async def ask_for_it() -> None:
        async with world.raw() as (reader, writer):
            writer.write(request + b"GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            with anyio.fail_after(20), contextlib.suppress(ConnectionError):
                await reader.read()
        assert world.mishaps == []

    @settings(max_examples=200, deadline=None, database=None, derandomize=True)
    @given(st.lists(st.one_of(_ANSWERS, _NOISE), max_size=3))
    def survives(parts: list[bytes]) -> None:
        nonlocal noise
        noise = b"".join(parts)
        anyio.from_thread.run(ask_for_it)

    await anyio.to_thread.run_sync(survives)
    await world.until(lambda: world.ledger.traffic(sandbox.id).open_connections == 0)
