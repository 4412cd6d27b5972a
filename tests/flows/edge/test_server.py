"""What becomes of open connections when the edge stops."""

from __future__ import annotations

import asyncio
import socket
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest

from roost.contracts.routes import Route
from roost.domain.ids import SandboxId, TeamId
from roost.edge.admission.hosts import Hosts
from roost.edge.app import Edge
from roost.edge.ledger import TrafficLedger
from roost.edge.limits import EdgeLimits
from roost.edge.upstreams.api_upstream import ApiUpstream
from roost.testing.clock import ManualClock
from roost.testing.routes import FakeRoutes
from tests.flows.edge.conftest import serving_api

pytestmark = pytest.mark.anyio

SANDBOX = SandboxId("i" + "0" * 20)


async def api(scope: dict[str, Any], receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"first ", "more_body": True})
    if scope["path"] == "/stream":
        await receive()
        await receive()  # until the client or the server ends it
    await send({"type": "http.response.body", "body": b"last"})


@dataclass(frozen=True, slots=True)
class Running:
    edge: Edge
    port: int
    serving: anyio.CancelScope
    stopped: asyncio.Event

    async def stop(self) -> None:
        self.serving.cancel()
        await self.stopped.wait()


@asynccontextmanager
async def running_server(grace_s: float = 0.05) -> AsyncIterator[Running]:
    routes, clock, limits = FakeRoutes(), ManualClock(), EdgeLimits(shutdown_grace_s=grace_s)
    routes.place(Route(SANDBOX, TeamId("t"), 1, "127.0.0.1", "token", True))
    listener = socket.create_server(("127.0.0.1", 0))
    with tempfile.TemporaryDirectory() as folder, anyio.fail_after(60):
        path = Path(folder) / "api"
        edge = Edge(routes, TrafficLedger(clock), clock, Hosts("roost.localhost", ["x"]), ApiUpstream(path, limits), limits)
        running = Running(edge, listener.getsockname()[1], anyio.CancelScope(), asyncio.Event())

        async def serve() -> None:
            with running.serving:
                await edge.serve(listener)
            running.stopped.set()

        async with serving_api(api, path), anyio.create_task_group() as tasks:
            await tasks.start(edge.run)
            tasks.start_soon(serve)
            yield running
            await running.stop()
            tasks.cancel_scope.cancel()


async def connected(port: int, request: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request.encode())
    return reader, writer


async def test_the_server_stops_with_everything_open() -> None:
    """Idle connections, a tunnel, an answer without end and one of the API: none of them keeps the server alive."""

    async def service(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if b"Upgrade" in head:
            writer.write(b"HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\n")
        else:
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
        await reader.read()
        writer.close()

    upstream = await asyncio.start_server(service, "127.0.0.1", 0)
    port = upstream.sockets[0].getsockname()[1]
    to_sandbox = f"Host: x\r\nE2b-Sandbox-Id: {SANDBOX}\r\nE2b-Sandbox-Port: {port}\r\n"
    async with running_server() as running:
        edge_port = running.port
        idle = await connected(edge_port, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await idle[0].readuntil(b"last\r\n0\r\n\r\n")
        tunnel = await connected(edge_port, f"GET / HTTP/1.1\r\n{to_sandbox}Connection: Upgrade\r\nUpgrade: raw\r\n\r\n")
        await tunnel[0].readuntil(b"\r\n\r\n")
        stream = await connected(edge_port, f"GET / HTTP/1.1\r\n{to_sandbox}\r\n")
        await stream[0].readuntil(b"one\r\n")
        events = await connected(edge_port, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n")
        await events[0].readuntil(b"first ")
        await running.stop()
        assert not running.edge.connections
    for reader, writer in (idle, tunnel, stream, events):
        with suppress(ConnectionError):
            assert b"0\r\n\r\n" not in await reader.read()
        writer.close()
    upstream.close()


async def test_an_answer_under_way_is_finished_when_the_server_stops() -> None:
    finish = asyncio.Event()

    async def service(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf")
        await finish.wait()
        writer.write(b"half")
        await reader.read()
        writer.close()

    upstream = await asyncio.start_server(service, "127.0.0.1", 0)
    port = upstream.sockets[0].getsockname()[1]
    async with running_server(grace_s=30) as running:
        request = f"GET / HTTP/1.1\r\nHost: x\r\nE2b-Sandbox-Id: {SANDBOX}\r\nE2b-Sandbox-Port: {port}\r\n\r\n"
        reader, writer = await connected(running.port, request)
        await reader.readuntil(b"half")
        running.serving.cancel()
        finish.set()
        assert await reader.read() == b"half", "and then the connection ends"
        writer.close()
    upstream.close()
