"""Open connections outlive sleep; death cuts them."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import pytest
import websockets

from roost.domain.errors import SandboxLost
from roost.edge.limits import AGENT_PORT, EdgeLimits

pytestmark = pytest.mark.anyio


async def tunnel(world: Any, sandbox: Any, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", world.port)
    writer.write(f"GET / HTTP/1.1\r\nHost: {world.host(sandbox, port)}\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\n".encode())
    await reader.readuntil(b"\r\n\r\n")
    world.stack.callback(writer.close)
    return reader, writer


async def raw_echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\n")
    while data := await reader.read(65536):
        writer.write(data)


async def ends(reader: asyncio.StreamReader) -> bytes:
    """What still comes until the connection ends, gracefully or not."""
    with anyio.fail_after(20):
        try:
            return await reader.read()
        except ConnectionError:
            return b""


async def test_a_tunnel_sleeps_and_wakes_when_its_client_speaks(world: Any) -> None:
    sandbox = world.sandbox()
    port = await sandbox.serve(raw_echo)
    reader, writer = await tunnel(world, sandbox, port)
    writer.write(b"before")
    assert await reader.readexactly(6) == b"before"
    moved = world.ledger.traffic(sandbox.id).received_bytes
    gate = world.routes.hold_wakes(sandbox.id)
    world.routes.sleep(sandbox.id)
    await anyio.wait_all_tasks_blocked()
    assert world.routes.flights == [], "an open connection alone wakes nobody"
    writer.write(b"during ")
    await world.until(lambda: world.routes.waiting(sandbox.id) == 1)
    writer.write(b"sleep")
    assert world.ledger.traffic(sandbox.id).received_bytes == moved, "bytes that did not move do not count"
    gate.set()
    assert await reader.readexactly(12) == b"during sleep"
    assert world.routes.flights == [(sandbox.id, "traffic on an open connection")]
    assert sandbox.connections == 1


async def test_many_parked_websockets_wake_in_one_flight(world: Any) -> None:
    sandbox = world.sandbox()

    async def echo(socket: websockets.ServerConnection) -> None:
        async for message in socket:
            await socket.send(message)

    async with websockets.serve(echo, sandbox.address, 0, ping_interval=None) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        url = f"ws://127.0.0.1:{world.port}/"
        options = {"additional_headers": world.headers(sandbox, port), "proxy": None, "ping_interval": None}
        sockets = [await websockets.connect(url, **options) for _ in range(10)]
        gate = world.routes.hold_wakes(sandbox.id)
        world.routes.sleep(sandbox.id)
        await anyio.wait_all_tasks_blocked()
        for number, socket in enumerate(sockets):
            await socket.send(str(number))
        await world.until(lambda: world.routes.waiting(sandbox.id) == 1)
        gate.set()
        assert [await socket.recv() for socket in sockets] == [str(number) for number in range(10)]
        assert len(world.routes.flights) == 1
        for socket in sockets:
            await socket.close()


async def test_a_parked_connection_waits_where_traffic_may_not_wake(world: Any) -> None:
    sandbox = world.sandbox(wakes=False)
    port = await sandbox.serve(raw_echo)
    route = world.routes.locate(sandbox.id)
    reader, writer = await tunnel(world, sandbox, port)
    world.routes.sleep(sandbox.id)
    await anyio.wait_all_tasks_blocked()
    writer.write(b"patience")
    await anyio.wait_all_tasks_blocked()
    assert world.routes.flights == []
    world.routes.place(route)
    assert await reader.readexactly(8) == b"patience"


async def test_bytes_under_way_when_the_sandbox_fell_asleep_wake_it(world: Any) -> None:
    """They were sent, the sandbox sleeps before it takes them: nobody else would ever wake it for them."""
    sandbox = world.sandbox()
    finish = asyncio.Event()

    async def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\n")
        await finish.wait()

    port = await sandbox.serve(deaf)
    _, writer = await tunnel(world, sandbox, port)
    size = 1_000_000  # all of it leaves the client, and more than the sandbox's kernel takes unread
    expected = world.ledger.traffic(sandbox.id).received_bytes + size
    writer.write(b"x" * size)
    await world.until(lambda: world.ledger.traffic(sandbox.id).received_bytes == expected)
    world.routes.sleep(sandbox.id)
    await world.until(lambda: len(world.routes.flights) == 1)
    finish.set()


async def test_a_parked_client_is_not_read(world: Any) -> None:
    sandbox = world.sandbox(wakes=False)
    port = await sandbox.serve(raw_echo)
    _, writer = await tunnel(world, sandbox, port)
    world.routes.sleep(sandbox.id)
    await anyio.wait_all_tasks_blocked()
    sent = 0
    async with anyio.create_task_group() as tasks:

        async def send() -> None:
            nonlocal sent
            while sent < 100_000_000:
                writer.write(b"x" * 262144)
                await writer.drain()
                sent += 262144

        tasks.start_soon(send)
        await world.stalls(lambda: sent)
        assert sent < 20_000_000
        tasks.cancel_scope.cancel()


async def test_it_wakes_up_elsewhere(world: Any) -> None:
    """The old connection leads nowhere then: its client is told by the end of it."""
    sandbox, elsewhere = world.sandbox(), world.sandbox()
    port = await sandbox.serve(raw_echo)
    reader, writer = await tunnel(world, sandbox, port)
    world.routes.sleep(sandbox.id, home=elsewhere.address)
    await anyio.wait_all_tasks_blocked()
    writer.write(b"hello?")
    assert await ends(reader) == b""


async def test_a_parked_connection_whose_wake_fails_is_cut(world: Any) -> None:
    sandbox = world.sandbox()
    port = await sandbox.serve(raw_echo)
    talking, talker = await tunnel(world, sandbox, port)
    silent, silent_writer = await tunnel(world, sandbox, port)
    world.routes.sleep(sandbox.id)
    world.routes.fail_wakes(sandbox.id, SandboxLost(sandbox.id, "it crashed"))
    await anyio.wait_all_tasks_blocked()
    talker.write(b"hello?")
    assert await ends(talking) == b""
    assert world.ledger.traffic(sandbox.id).open_connections == 1, "who did not speak stays"
    silent_writer.close()
    assert await ends(silent) == b""


async def test_a_connection_to_a_process_that_was_lost_is_cut_though_the_sandbox_sleeps_on(world: Any) -> None:
    """It would wait for ever: the moment that the sandbox fell back to knows nothing of the connection."""
    sandbox = world.sandbox()
    port = await sandbox.serve(raw_echo)
    reader, _ = await tunnel(world, sandbox, port)
    world.routes.sleep(sandbox.id, lost=True)
    assert await ends(reader) == b""
    assert world.routes.flights == [], "whoever still wants something asks again"
    again, speaker = await tunnel(world, sandbox, port)
    world.routes.sleep(sandbox.id)
    await anyio.wait_all_tasks_blocked()
    speaker.write(b"hello")
    assert await again.readexactly(5) == b"hello", "later sleeps leave later connections alone"


async def test_a_request_that_its_sandbox_was_lost_over_is_told(world: Any) -> None:
    sandbox = world.sandbox()
    asked = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        asked.set()
        await reader.read()
        writer.close()

    port = await sandbox.serve(silent)
    reader, writer = await asyncio.open_connection("127.0.0.1", world.port)
    world.stack.callback(writer.close)
    writer.write(f"GET / HTTP/1.1\r\nHost: {world.host(sandbox, port)}\r\n\r\n".encode())
    await asked.wait()
    world.routes.sleep(sandbox.id, lost=True)
    with anyio.fail_after(20):
        assert (await reader.readuntil(b"\r\n")).startswith(b"HTTP/1.1 502")


async def test_death_cuts_in_the_middle_of_a_body(world: Any) -> None:
    sandbox = world.sandbox()
    gone = asyncio.Event()

    async def service(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
        try:
            await reader.read()
        finally:
            gone.set()

    port = await sandbox.serve(service)
    streaming, stream_writer = await asyncio.open_connection("127.0.0.1", world.port)
    world.stack.callback(stream_writer.close)
    stream_writer.write(f"GET / HTTP/1.1\r\nHost: {world.host(sandbox, port)}\r\n\r\n".encode())
    await streaming.readuntil(b"one\r\n")
    tunnelled, _ = await tunnel(world, sandbox, await sandbox.serve(raw_echo))
    world.routes.remove(sandbox.id)
    for cut in (streaming, tunnelled):  # no graceful end: what came is not the whole
        with pytest.raises(ConnectionResetError), anyio.fail_after(20):
            await cut.read()
    with anyio.fail_after(20):
        await gone.wait()
    async with world.client() as client:
        response = await client.get("/health", headers=world.headers(sandbox, AGENT_PORT))
        assert response.json()["message"] == "The sandbox was not found"
    assert world.ledger.traffic(sandbox.id).open_connections == 0


async def test_idle_connections_end_with_the_route(worlds: Any) -> None:
    async with worlds(EdgeLimits(idle_upstream_s=600)) as world:
        await idle_connections_end_with_the_route(world)


async def idle_connections_end_with_the_route(world: Any) -> None:
    sandbox = world.sandbox()
    ended = 0

    async def service(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal ended
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        finally:
            ended += 1

    port = await sandbox.serve(service)
    async with world.client() as client:
        await client.get("/", headers=world.headers(sandbox, port))
        assert ended == 0
        world.routes.sleep(sandbox.id)
        await world.until(lambda: ended == 1)
        await client.get("/", headers=world.headers(sandbox, port))
        world.routes.remove(sandbox.id)
        await world.until(lambda: ended == 2)
