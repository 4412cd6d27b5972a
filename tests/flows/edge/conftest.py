"""An edge on a real port before a small API, and sandboxes that are small servers on loopback addresses of their own."""

from __future__ import annotations

import asyncio
import random
import socket
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import pytest
import uvicorn
from fastapi import FastAPI, Request, WebSocket
from fastapi.responses import StreamingResponse
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from roost.contracts.routes import Route
from roost.domain.ids import SandboxId, TeamId, new_sandbox_id
from roost.edge.admission.hosts import Hosts
from roost.edge.app import Edge
from roost.edge.ledger import TrafficLedger
from roost.edge.limits import EdgeLimits
from roost.edge.upstreams.api_upstream import ApiUpstream
from roost.testing.clock import ManualClock
from roost.testing.routes import FakeRoutes

DOMAIN = "roost.localhost"
TOKEN = "0tQG31xiMp0IOQfaz9dcwi72L1CPo8e0"
PATIENCE_S = 60.0  # how long a test waits for what must happen; never how long it takes

Service = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture(params=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    """Both loops: their transports differ in what they forgive."""
    return "asyncio", {"use_uvloop": request.param == "uvloop"}


@dataclass
class Heard:
    """A request as a service got it."""

    head: bytes
    body: bytes

    @property
    def line(self) -> bytes:
        return self.head.split(b"\r\n")[0]

    def fields(self) -> list[tuple[str, str]]:
        pairs = (line.split(b":", 1) for line in self.head.split(b"\r\n")[1:] if line)
        return [(name.decode().lower(), value.strip().decode("latin-1")) for name, value in pairs]

    def get(self, name: str) -> str | None:
        return next((value for key, value in self.fields() if key == name), None)


async def hear(reader: asyncio.StreamReader) -> Heard | None:
    """Reads one request, with its body; None at the end of the connection."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    heard = Heard(head, b"")
    if heard.get("transfer-encoding") == "chunked":
        while True:
            size = await reader.readuntil(b"\r\n")
            chunk = await reader.readexactly(int(size.split(b";")[0], 16) + 2)
            if int(size.split(b";")[0], 16) == 0:
                return heard
            heard.body += chunk[:-2]
    heard.body = await reader.readexactly(int(heard.get("content-length") or 0))
    return heard


def answer(body: bytes, *fields: bytes, status: bytes = b"200 OK") -> bytes:
    lines = [b"HTTP/1.1 " + status, b"Content-Length: %d" % len(body), *fields, b"", body]
    return b"\r\n".join(lines)


@dataclass
class Sandbox:
    id: SandboxId
    address: str
    routes: FakeRoutes
    stack: AsyncExitStack
    heard: list[Heard] = field(default_factory=list)
    connections: int = 0
    servers: list[asyncio.Server] = field(default_factory=list)

    async def serve(self, service: Service, *, port: int = 0, address: str | None = None) -> int:
        """Something listens inside the sandbox. Returns its port."""

        async def counted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.connections += 1
            try:
                await service(reader, writer)
            except (ConnectionError, asyncio.IncompleteReadError):
                pass
            finally:
                writer.close()

        server = await asyncio.start_server(counted, address or self.address, port, limit=1 << 20)
        self.stack.callback(server.close)
        self.servers.append(server)
        return server.sockets[0].getsockname()[1]

    def stop(self) -> None:
        """Nothing listens inside any more."""
        for server in self.servers:
            server.close()

    async def echo(self, *, port: int = 0) -> int:
        """A service that answers every request with its body, or its first line where there is none."""

        async def service(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while (request := await hear(reader)) is not None:
                self.heard.append(request)
                writer.write(answer(request.body or request.line))

        return await self.serve(service, port=port)


@dataclass
class World:
    port: int
    routes: FakeRoutes
    clock: ManualClock
    ledger: TrafficLedger
    edge: Edge
    api: ServerState  # of the API behind the edge
    stack: AsyncExitStack
    mishaps: list[dict[str, Any]]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def sandbox(self, *, wakes: bool = True) -> Sandbox:
        rng = random.SystemRandom()
        # An address of its own, so that the agent's fixed port can be served in it.
        address = f"127.{rng.randrange(1, 255)}.{rng.randrange(256)}.{rng.randrange(1, 255)}"
        sandbox = Sandbox(new_sandbox_id(rng), address, self.routes, self.stack)
        self.routes.place(Route(sandbox.id, TeamId("team"), 1, address, TOKEN, wakes))
        return sandbox

    def headers(self, sandbox: Sandbox | str, port: int) -> dict[str, str]:
        name = sandbox if isinstance(sandbox, str) else sandbox.id
        return {"E2b-Sandbox-Id": name, "E2b-Sandbox-Port": str(port)}

    def host(self, sandbox: Sandbox, port: int) -> str:
        return f"{port}-{sandbox.id}.{DOMAIN}:{self.port}"

    def client(self, **options: Any) -> httpx.AsyncClient:
        return httpx.AsyncClient(base_url=self.url, timeout=PATIENCE_S, trust_env=False, **options)

    @asynccontextmanager
    async def raw(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 22)
        try:
            yield reader, writer
        finally:
            writer.close()

    async def until(self, true: Callable[[], bool]) -> None:
        """Lets everything else run until the condition holds."""
        with anyio.fail_after(PATIENCE_S):
            while not true():
                await anyio.lowlevel.checkpoint()

    async def stalls(self, count: Callable[[], int]) -> None:
        """Until a count no longer grows, however often everybody else had a turn."""
        quiet, last = 0, -1
        with anyio.fail_after(PATIENCE_S):
            while quiet < 500:
                await anyio.lowlevel.checkpoint()
                quiet, last = (quiet + 1, last) if count() == last else (0, count())


def small_api() -> FastAPI:
    api = FastAPI()

    @api.get("/hello")
    async def hello() -> dict[str, str]:
        return {"from": "api"}

    @api.post("/size")
    async def size(request: Request) -> dict[str, int]:
        total = 0
        async for piece in request.stream():
            total += len(piece)
        return {"size": total}

    @api.post("/early")
    async def early() -> dict[str, str]:
        return {"read": "nothing"}

    @api.get("/events")
    async def events() -> StreamingResponse:
        async def lines() -> AsyncIterator[str]:
            for number in range(3):
                yield f"data: {number}\n\n"

        return StreamingResponse(lines(), media_type="text/event-stream")

    @api.get("/endless")
    async def endless() -> StreamingResponse:
        async def lines() -> AsyncIterator[str]:
            yield "data: first\n\n"
            await anyio.sleep_forever()

        return StreamingResponse(lines(), media_type="text/event-stream")

    @api.websocket("/ws")
    async def websocket(socket: WebSocket) -> None:
        await socket.accept()
        await socket.send_text("api says " + await socket.receive_text())
        await socket.close()

    return api


@asynccontextmanager
async def serving_api(app: Any, path: Path) -> AsyncIterator[ServerState]:
    """The API on its Unix socket, as control serves it."""
    config = uvicorn.Config(app, log_config=None, lifespan="off", forwarded_allow_ips="*")
    config.load()
    state = ServerState()
    server = await asyncio.get_running_loop().create_unix_server(lambda: HttpToolsProtocol(config, state, {}), str(path))
    try:
        yield state
    finally:
        server.close()
        for connection in list(state.connections):
            connection.shutdown()
        with anyio.fail_after(PATIENCE_S):
            while state.connections or state.tasks:
                await anyio.lowlevel.checkpoint()


@asynccontextmanager
async def make_world(limits: EdgeLimits) -> AsyncIterator[World]:
    loop = asyncio.get_running_loop()
    mishaps: list[dict[str, Any]] = []
    earlier = loop.get_exception_handler()
    loop.set_exception_handler(lambda _, context: mishaps.append(context))
    routes, clock = FakeRoutes(), ManualClock()
    ledger = TrafficLedger(clock)
    listener = socket.create_server(("127.0.0.1", 0))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "api"
        edge = Edge(routes, ledger, clock, Hosts(DOMAIN, ["x"]), ApiUpstream(path, limits), limits)
        stack = AsyncExitStack()
        async with serving_api(small_api(), path) as api:
            world = World(listener.getsockname()[1], routes, clock, ledger, edge, api, stack, mishaps)
            async with anyio.create_task_group() as tasks, stack:
                await tasks.start(edge.run)
                tasks.start_soon(edge.serve, listener)
                yield world
                tasks.cancel_scope.cancel()
            await world.until(lambda: not edge.connections)
    loop.set_exception_handler(earlier)
    assert not mishaps, mishaps


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with make_world(EdgeLimits(linger_s=0.2, shutdown_grace_s=0.05, idle_upstream_s=PATIENCE_S)) as world:
        yield world


@pytest.fixture
def worlds() -> Callable[[EdgeLimits], Any]:
    """For a test that needs its own limits."""
    return make_world
