"""A request for a sleeping sandbox wakes it, if it may, and is held meanwhile."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from typing import Any

import anyio
import pytest

from roost.domain.errors import NodeFull, SandboxLost, SnapshotDamaged
from roost.edge.limits import AGENT_PORT, EdgeLimits

pytestmark = pytest.mark.anyio

TOKEN = "0tQG31xiMp0IOQfaz9dcwi72L1CPo8e0"


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
    async with worlds(EdgeLimits(wake_holders=2)) as world:
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
    async with worlds(EdgeLimits(wake_deadline_s=0.05)) as world:
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
        world.routes.remove(sandbox.id)


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
