"""The API is another process: what its clients see of it when it is away, comes back or ends in the middle."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse

from roost.edge.admission.hosts import Hosts
from roost.edge.app import Edge
from roost.edge.ledger import TrafficLedger
from roost.edge.limits import EdgeLimits
from roost.edge.upstreams.api_upstream import ApiUpstream
from roost.testing.clock import ManualClock
from roost.testing.routes import FakeRoutes
from tests.flows.edge.conftest import DOMAIN, PATIENCE_S, Heard, World, answer, hear, serving_api

pytestmark = pytest.mark.anyio
LIMITS = EdgeLimits(shutdown_grace_s=0.05, linger_s=0.2, api_wait_s=PATIENCE_S)
Service = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any]


@dataclass
class Place:
    """An edge whose API comes and goes."""

    url: str
    path: Path
    is_there: anyio.Event = field(default_factory=anyio.Event)

    def client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(base_url=self.url, timeout=PATIENCE_S, trust_env=False)

    async def serve(self, service: Service) -> asyncio.Server:
        """A process that takes requests as it likes."""
        self.path.unlink(missing_ok=True)
        server = await asyncio.start_unix_server(service, str(self.path))
        self.is_there.set()
        return server


@asynccontextmanager
async def placed(path: Path, limits: EdgeLimits = LIMITS) -> AsyncIterator[Place]:
    listener, clock = socket.create_server(("127.0.0.1", 0)), ManualClock()
    place = Place(f"http://127.0.0.1:{listener.getsockname()[1]}", path)
    api = ApiUpstream(path, limits, lambda: place.is_there.wait())
    edge = Edge(FakeRoutes(), TrafficLedger(clock), clock, Hosts(DOMAIN, ["x"]), api, limits)
    async with anyio.create_task_group() as tasks:
        await tasks.start(edge.run)
        tasks.start_soon(edge.serve, listener)
        yield place
        tasks.cancel_scope.cancel()


async def test_while_control_is_away_requests_wait_and_are_told(tmp_path: Path) -> None:
    async with placed(tmp_path / "api", EdgeLimits(api_wait_s=0.05, shutdown_grace_s=0.05)) as place, place.client() as client:
        for headers in ({}, {"Accept": "text/html"}):
            refused = await client.get("/v1/sandboxes", headers=headers)
            assert refused.status_code == 503
            assert int(refused.headers["retry-after"]) > 0
            assert "again" in refused.text
        posted = await client.post("/v1/sandboxes", json={"template": "base"})
        assert posted.json()["error"]["code"] == "control_away"
        assert posted.json()["message"], "E2B's clients read this one"


async def test_what_waits_is_answered_when_control_is_back(tmp_path: Path) -> None:
    heard: list[Heard] = []

    async def service(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (request := await hear(reader)) is not None:
            heard.append(request)
            writer.write(answer(b"done"))
        writer.close()

    async with placed(tmp_path / "api") as place, place.client() as client, anyio.create_task_group() as tasks:
        answers: list[httpx.Response] = []

        async def ask() -> None:
            answers.append(await client.post("/v1/sandboxes", content=b"x" * 100_000))

        tasks.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        assert not answers
        server = await place.serve(service)
        while not answers:
            await anyio.lowlevel.checkpoint()
        assert (answers[0].status_code, answers[0].content) == (200, b"done")
        assert heard[0].body == b"x" * 100_000
        server.close()


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_control_ends_over_a_request(tmp_path: Path, method: str) -> None:
    """One that looks is asked again of the next control. Of any other nobody knows whether it was done."""
    seen = 0

    async def service(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal seen
        while await hear(reader) is not None:
            seen += 1
            if seen == 2:
                writer.transport.abort()  # pyright: ignore[reportUnknownMemberType]
                return
            writer.write(answer(b"done"))
        writer.close()

    async with placed(tmp_path / "api") as place, place.client() as client:
        server = await place.serve(service)
        assert (await client.get("/")).content == b"done"  # on a connection that is used again
        last = await client.request(method, "/")
        if method == "GET":
            assert (last.status_code, seen) == (200, 3)
        else:
            assert (last.status_code, seen) == (502, 2)
            assert last.json()["error"]["code"] == "control_lost"
        server.close()


async def test_half_an_answer_is_never_taken_for_the_whole(tmp_path: Path) -> None:
    async def service(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await hear(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n")
        await writer.drain()
        writer.close()

    async with placed(tmp_path / "api") as place, place.client() as client:
        server = await place.serve(service)
        with pytest.raises(httpx.TransportError):
            await client.get("/")
        server.close()


async def test_a_caller_that_leaves_is_noticed_by_the_api(tmp_path: Path) -> None:
    left = anyio.Event()
    api = FastAPI()

    @api.get("/live")
    async def live() -> StreamingResponse:
        async def events() -> AsyncIterator[str]:
            try:
                yield "data: first\n\n"
                await anyio.sleep_forever()
            finally:
                left.set()

        return StreamingResponse(events(), media_type="text/event-stream")

    async with placed(tmp_path / "api") as place, serving_api(api, place.path), place.client() as client:
        place.is_there.set()
        async with client.stream("GET", "/live") as stream:
            assert await anext(stream.aiter_lines()) == "data: first"
        with anyio.fail_after(PATIENCE_S):
            await left.wait()


async def test_nothing_is_collected_either_way(world: World, tmp_path: Path) -> None:
    """An API that does not read stops the sender, and a client that does not read stops the API."""
    go = anyio.Event()
    sent = taken = 0

    async def service(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        await go.wait()
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        with suppress(ConnectionError):
            while True:
                writer.write(bytes(1 << 16))
                await writer.drain()
                sent += 1 << 16

    async def upload(writer: asyncio.StreamWriter) -> None:
        nonlocal taken
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n")
        with suppress(ConnectionError):
            while True:
                writer.write(bytes(1 << 16))
                await writer.drain()
                taken += 1 << 16

    async with placed(tmp_path / "api") as place, anyio.create_task_group() as tasks:
        server = await place.serve(service)
        reader, writer = await asyncio.open_connection("127.0.0.1", int(place.url.rpartition(":")[2]))
        tasks.start_soon(upload, writer)
        await world.stalls(lambda: taken)
        assert 0 < taken < 64 << 20
        go.set()
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        await world.stalls(lambda: sent)
        assert 0 < sent < 64 << 20
        tasks.cancel_scope.cancel()
        writer.transport.abort()
        server.close()


async def test_the_api_knows_the_client_from_the_edge_alone(tmp_path: Path) -> None:
    api = FastAPI()

    @api.get("/who")
    async def who(request: Request) -> dict[str, Any]:
        assert request.client is not None
        names = [name for name in request.headers if name.startswith("x-forwarded")]
        return {"client": request.client.host, "scheme": request.url.scheme, "names": sorted(names)}

    async with placed(tmp_path / "api") as place, serving_api(api, place.path), place.client() as client:
        place.is_there.set()
        told = (await client.get("/who")).json()
        assert (told["client"], told["scheme"]) == ("127.0.0.1", "http")
        # A proxy on this machine is believed: what it added itself, not what it was sent.
        proxied = {"X-Forwarded-For": "203.0.113.1, 198.51.100.7", "X-Forwarded-Proto": "https", "X-Forwarded-Host": "evil"}
        told = (await client.get("/who", headers=proxied)).json()
        assert (told["client"], told["scheme"]) == ("198.51.100.7", "https")
        assert told["names"] == ["x-forwarded-for", "x-forwarded-proto"]
