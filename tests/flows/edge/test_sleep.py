"""Requests wake, connections outlive sleep, death cuts."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from typing import Any

import anyio
import pytest
import websockets

from roost.domain.errors import NodeFull, SandboxLost, SnapshotDamaged
from roost.edge.limits import AGENT_PORT, Limits

pytestmark = pytest.mark.anyio

TOKEN = "0tQG31xiMp0IOQfaz9dcwi72L1CPo8e0"


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


async def test_requests_wake_in_one_flight_and_are_held(world: Any) -> None:
    sandbox = world.sandbox()
    port = await sandbox.echo()
    world.routes.sleep(sandbox.id)
    gate = world.routes.hold_wakes(sandbox.id)
    answers: list[bytes] = []
    async with world.client() as client, anyio.create_task_group() as tasks:

        async def post(number: int) -> None:
            response = await client.post(f"/{number}", content=b"%d" % number, headers=world.headers(sandbox, port))
            answers.append(response.content)

        for number in range(20):
            tasks.start_soon(post, number)
        await world.until(lambda: world.routes.waiting(sandbox.id) == 20)
        assert sandbox.connections == 0
        assert world.ledger.traffic(sandbox.id).received_bytes == 0
        gate.set()
    assert sorted(answers) == sorted(b"%d" % number for number in range(20))
    assert len(world.routes.flights) == 1
    assert world.routes.flights[0][1].startswith("POST /")


async def test_a_held_body_is_not_read(world: Any) -> None:
    """The client's own kernel holds it: far less than the body leaves the client before the sandbox is awake."""
    sandbox = world.sandbox()
    total = 64 * 1024 * 1024

    async def service(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        left = total
        while left:
            left -= len(await reader.read(1 << 20))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone")

    port = await sandbox.serve(service)
    world.routes.sleep(sandbox.id)
    gate = world.routes.hold_wakes(sandbox.id)
    sent = 0
    async with world.raw() as (reader, writer), anyio.create_task_group() as tasks:
        writer.write(f"POST / HTTP/1.1\r\nHost: {world.host(sandbox, port)}\r\nContent-Length: {total}\r\n\r\n".encode())

        async def upload() -> None:
            nonlocal sent
            while sent < total:
                writer.write(b"x" * 262144)
                await writer.drain()
                sent += 262144

        await world.until(lambda: world.routes.waiting(sandbox.id) == 1)
        tasks.start_soon(upload)
        await world.stalls(lambda: sent)
        assert sent < 20 * 1024 * 1024
        gate.set()
        await reader.readuntil(b"done")
    assert sent == total


async def test_wake_on_a_connection_that_then_goes_on(world: Any) -> None:
    sandbox = world.sandbox()
    port = await sandbox.echo()
    async with world.client() as client:
        for number in range(3):
            assert (await client.get(f"/{number}", headers=world.headers(sandbox, port))).status_code == 200
            world.routes.sleep(sandbox.id)
            assert (await client.get("/hello")).status_code == 200
    assert len(world.routes.flights) == 2


async def test_too_many_wait(worlds: Any) -> None:
    async with worlds(Limits(wake_holders=2)) as world:
        sandbox = world.sandbox()
        port = await sandbox.echo()
        world.routes.sleep(sandbox.id)
        gate = world.routes.hold_wakes(sandbox.id)
        async with world.client() as client, anyio.create_task_group() as tasks:
            for _ in range(2):
                tasks.start_soon(lambda: client.get("/", headers=world.headers(sandbox, port)))
            await world.until(lambda: world.routes.waiting(sandbox.id) == 2)
            refused = await client.get("/", headers=world.headers(sandbox, port))
            assert refused.status_code == 503
            assert refused.json()["error_code"] == "too_many_waiting"
            assert refused.headers["retry-after"] == "5"
            gate.set()


async def test_a_wake_past_its_deadline(worlds: Any) -> None:
    async with worlds(Limits(wake_deadline_s=0.05)) as world:
        sandbox = world.sandbox()
        port = await sandbox.echo()
        world.routes.sleep(sandbox.id)
        gate = world.routes.hold_wakes(sandbox.id)
        async with world.client() as client:
            late = await client.post("/", content=b"x", headers=world.headers(sandbox, port))
            assert (late.status_code, late.headers["retry-after"], late.json()["code"]) == (503, "5", 503)
            page = await client.get("/", headers={**world.headers(sandbox, port), "Accept": "text/html"})
            assert page.status_code == 503
            assert 'http-equiv="refresh"' in page.text
            gate.set()
            assert (await client.get("/", headers=world.headers(sandbox, port))).status_code == 200


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (SandboxLost("i", "it crashed"), 503),
        (SnapshotDamaged("s", "memory", "is not what was written"), 409),
        (NodeFull("memory", "1 GB", "0 GB"), 429),
    ],
)
async def test_a_wake_that_fails_says_why(world: Any, error: Any, status: int) -> None:
    sandbox = world.sandbox()
    port = await sandbox.echo()
    world.routes.sleep(sandbox.id)
    world.routes.fail_wakes(sandbox.id, error)
    async with world.client() as client:
        response = await client.get("/", headers=world.headers(sandbox, port))
    assert response.status_code == response.json()["code"] == status
    assert response.json()["message"] == error.message


async def test_a_sleeper_that_traffic_may_not_wake(world: Any) -> None:
    sandbox = world.sandbox(wakes=False)
    port = await sandbox.echo()
    world.routes.sleep(sandbox.id)
    async with world.client() as client:
        for number in (port, AGENT_PORT):
            response = await client.get("/health", headers={**world.headers(sandbox, number), "X-Access-Token": TOKEN})
            assert response.status_code == 502
            assert response.json()["message"] == "The sandbox was not found"
    assert world.routes.flights == []


def signed(path: str, operation: str, expiration: int | None = None) -> str:
    raw = f"{path}:{operation}::{TOKEN}" + (f":{expiration}" if expiration else "")
    signature = "v1_" + base64.b64encode(hashlib.sha256(raw.encode()).digest()).decode().rstrip("=")
    return signature.replace("+", "%2B").replace("/", "%2F")


async def test_only_who_knows_the_token_wakes_through_the_agent(world: Any) -> None:
    sandbox = world.sandbox()
    await sandbox.echo(port=AGENT_PORT)
    headers = world.headers(sandbox, AGENT_PORT)
    now = int(world.clock.now())
    refused = {
        "/health": ({}, None),
        "/files?path=a": ({}, "missing signature query parameter"),
        "/files?path=a&signature=v1_x": ({}, "invalid signature"),
        f"/files?path=a&signature={signed('a', 'write')}": ({}, "invalid signature"),
        f"/files?path=a&signature={signed('a', 'read', now - 1)}&signature_expiration={now - 1}": (
            {},
            "signature is already expired",
        ),
        "/envs": ({"X-Access-Token": TOKEN[:-1]}, "access token present in header but does not match"),
        f"/envs?signature={signed('a', 'read')}": ({}, None),
    }
    woken = [
        ("/health", {"X-Access-Token": TOKEN}),
        (f"/files?path=a&signature={signed('a', 'read')}", {}),
        (f"/files?path=a&signature={signed('a', 'read', now + 9)}&signature_expiration={now + 9}", {}),
    ]
    async with world.client() as client:
        world.routes.sleep(sandbox.id)
        for target, (extra, message) in refused.items():
            response = await client.get(target, headers={**headers, **extra})
            assert response.status_code == 401, target
            assert response.json()["code"] == 401
            assert message is None or response.json()["message"] == message
        preflight = await client.options("/files", headers={**headers, "Access-Control-Request-Method": "POST"})
        assert preflight.status_code == 204
        assert preflight.headers["access-control-allow-origin"] == "*"
        assert world.routes.flights == []
        for target, extra in woken:
            world.routes.sleep(sandbox.id)
            assert (await client.get(target, headers={**headers, **extra})).status_code == 200
        assert len(world.routes.flights) == len(woken)


PRIVATE_TARGETS = (
    *("/init", "//init", "/./init", "/x/../init", "/%69nit", "/%2569nit", "/init/", "/init?x", "/INIT", "/init;x"),
    *("/%2Finit", "/\\init", "/freeze", "/unfreeze", "/collapse", "/fsfreeze", "/fsthaw", "/upgrade"),
    *("/roost/bridge?port=22", "/roost", "/roost/../health", "//roost//x", "/.%2e/roost/x"),
)


@pytest.mark.parametrize("target", PRIVATE_TARGETS)
async def test_the_agents_private_routes_do_not_exist_outside(world: Any, target: str) -> None:
    sandbox = world.sandbox()
    await sandbox.echo(port=AGENT_PORT)
    host = world.host(sandbox, AGENT_PORT)
    for form in (target, f"http://{host}{target}"):
        async with world.raw() as (reader, writer):
            writer.write(f"POST {form} HTTP/1.1\r\nHost: {host}\r\nX-Access-Token: {TOKEN}\r\nContent-Length: 0\r\n\r\n".encode())
            assert (await reader.readline()).startswith(b"HTTP/1.1 404 ")
    assert sandbox.heard == []


async def test_private_words_are_free_on_other_ports_and_in_other_places(world: Any) -> None:
    sandbox = world.sandbox()
    await sandbox.echo(port=AGENT_PORT)
    port = await sandbox.echo()
    async with world.client() as client:
        assert (await client.get("/init", headers=world.headers(sandbox, port))).status_code == 200
        agent = world.headers(sandbox, AGENT_PORT)
        assert (await client.get("/files?path=/roost/init", headers=agent)).status_code == 200
        assert (await client.post("/process.Process/Start", headers=agent)).status_code == 200
        upgrade = {"Connection": "Upgrade", "Upgrade": "roost-bridge"}
        assert (await client.get("/health", headers={**agent, **upgrade})).status_code == 200
    assert sandbox.heard[-1].get("upgrade") is None


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
    world.routes.bury(sandbox.id)
    assert await ends(streaming) == b"", "no graceful end of the chunked body"
    assert await ends(tunnelled) == b""
    with anyio.fail_after(20):
        await gone.wait()
    async with world.client() as client:
        response = await client.get("/health", headers=world.headers(sandbox, AGENT_PORT))
        assert response.json()["message"] == "The sandbox was not found"
    assert world.ledger.traffic(sandbox.id).open_connections == 0


async def test_death_while_a_request_waits(world: Any) -> None:
    sandbox = world.sandbox()
    port = await sandbox.echo()
    world.routes.sleep(sandbox.id)
    world.routes.hold_wakes(sandbox.id)
    async with world.client() as client, anyio.create_task_group() as tasks:

        async def get() -> None:
            response = await client.get("/", headers=world.headers(sandbox, port))
            assert response.json()["message"] == "The sandbox was not found"

        tasks.start_soon(get)
        await world.until(lambda: world.routes.waiting(sandbox.id) == 1)
        world.routes.bury(sandbox.id)


async def test_asleep_while_it_is_dialled(world: Any) -> None:
    """A connection that is being opened to a sandbox that falls asleep is given up, and opened anew once it runs."""
    sandbox, home = world.sandbox(), world.sandbox()
    asked = asyncio.Event()

    async def mute_agent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set()
        await reader.read()

    await sandbox.serve(mute_agent, port=AGENT_PORT)  # the bridge that is dialled for a closed port never answers
    port = await home.echo()
    async with world.client() as client, anyio.create_task_group() as tasks:

        async def get() -> None:
            assert (await client.get("/", headers=world.headers(sandbox, port))).status_code == 200

        tasks.start_soon(get)
        with anyio.fail_after(20):
            await asked.wait()
        world.routes.sleep(sandbox.id, home=home.address)
    assert len(world.routes.flights) == 1


async def test_idle_connections_end_with_the_route(worlds: Any) -> None:
    async with worlds(Limits(idle_upstream_s=600)) as world:
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
        world.routes.bury(sandbox.id)
        await world.until(lambda: ended == 2)
