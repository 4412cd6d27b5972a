"""Control and the edge as two processes would be: a real socket between them, and either may end."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import pytest
from fastapi import FastAPI

from roost.api.http import HeardByEdges
from roost.contracts.route_feed import EdgeReport
from roost.contracts.routes import Route
from roost.control.fleet.reported_ledger import ReportedLedger
from roost.control.fleet.route_feed import ServedRoutes
from roost.domain.errors import SandboxNotFound
from roost.domain.ids import SandboxId
from roost.domain.lifecycle import State
from roost.domain.link import LinkMode
from roost.domain.sandbox import SleepPolicy
from roost.drivers.routes.remote import RemoteRouteFeed, serve_routes
from roost.edge.ledger import TrafficLedger
from roost.edge.route_copy import RouteCopy
from roost.rpc.client import Client
from roost.rpc.server import Service, serve
from roost.rpc.sockets import listening_unix
from tests.flows.world import ME, PATIENCE_S, Ground, Roost, serving

pytestmark = pytest.mark.anyio
IDLE = SleepPolicy(idle_s=60)


@dataclass
class EdgeProcess:
    """As much of an edge as hears of routes. `acts` is whether it acts on what it hears."""

    copy: RouteCopy
    ledger: TrafficLedger
    acts: anyio.Event = field(default_factory=anyio.Event)
    acted_on: list[Route] = field(default_factory=list)

    async def act(self) -> None:
        async for route in self.copy.changes():
            await self.acts.wait()
            self.acted_on.append(route)

    async def until_away(self) -> None:
        """It knows that there is no control: no request would be passed to an API whose routes are not followed."""
        while True:
            with anyio.move_on_after(0.01) as wait:
                await self.copy.until_current()
            if wait.cancelled_caught:
                return

    def stop_acting(self) -> None:
        self.acts = anyio.Event()


@dataclass
class Line:
    """Two processes' worth of Roost, and the socket that outlives either."""

    ground: Ground
    path: Path
    listener: socket.socket

    @asynccontextmanager
    async def control(self) -> AsyncIterator[Roost]:
        async with serving(self.ground) as roost, anyio.create_task_group() as tasks:
            service = Service(build="test")
            serve_routes(service, roost.served_routes)
            tasks.start_soon(serve, service, self.listener)
            yield roost
            tasks.cancel_scope.cancel()

    @asynccontextmanager
    async def edge(self, name: str = "first") -> AsyncIterator[EdgeProcess]:
        async with anyio.create_task_group() as tasks:
            client, ledger = Client(self.path, peer="control", build="test"), TrafficLedger(self.ground.clock)
            edge = EdgeProcess(RouteCopy(RemoteRouteFeed(client), ledger, name), ledger)
            edge.acts.set()
            tasks.start_soon(client.run)
            tasks.start_soon(edge.act)
            tasks.start_soon(edge.copy.run)
            with anyio.fail_after(PATIENCE_S):
                yield edge
            tasks.cancel_scope.cancel()


@pytest.fixture
async def line(ground: Ground, tmp_path: Path) -> AsyncIterator[Line]:
    ground.reported = ReportedLedger(ground.clock)
    with listening_unix(tmp_path / "control") as listener:
        yield Line(ground, tmp_path / "control", listener)


async def test_all_routes_and_then_every_change(line: Line) -> None:
    async with line.control() as roost:
        before = await roost.sandbox()
        async with line.edge() as edge:
            await edge.copy.until_current()
            assert edge.copy.locate(before.id) == roost.routes.locate(before.id)
            after = await roost.sandbox()
            assert await roost.served_routes.until_heard()
            assert edge.copy.locate(after.id) == roost.routes.locate(after.id)
            await roost.sandboxes.kill(ME, before.id)
            assert await roost.served_routes.until_heard()
            assert edge.copy.locate(before.id) is None
            assert {route.sandbox for route in edge.copy.living()} == {after.id}


async def test_nobody_is_answered_before_the_edge_acted(line: Line) -> None:
    """What a revoked link opened is cut by the time whoever revoked it hears so."""
    async with line.control() as roost, line.edge() as edge:
        await edge.copy.until_current()
        sandbox = await roost.sandbox()
        link, _ = await roost.links.make(ME, sandbox.id, mode=LinkMode.VIEW)
        assert await roost.served_routes.until_heard()
        answered = anyio.Event()
        api = FastAPI()
        api.add_middleware(HeardByEdges, until_heard=roost.served_routes.until_heard)

        @api.delete("/link")
        async def revoke() -> None:
            await roost.links.revoke(ME, sandbox.id, link.id)

        async def call() -> None:
            async with httpx.AsyncClient(transport=httpx.ASGITransport(api), base_url="http://api") as client:
                assert (await client.delete("/link")).status_code == 200
            answered.set()

        edge.stop_acting()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            while link.digest in _route(edge, sandbox.id).links:
                await anyio.lowlevel.checkpoint()
            await roost.quiet()
            assert not answered.is_set(), "the edge knows, but has not cut anything yet"
            edge.acts.set()
            await answered.wait()
        assert link.digest not in edge.acted_on[-1].links


async def test_an_edge_that_is_stuck_keeps_nobody_waiting(line: Line) -> None:
    async with line.control() as roost:
        feed = ServedRoutes(table=roost.routes, waker=roost.power, clock=line.ground.clock, heard_within_s=0.05)
        assert await feed.until_heard(), "there is no edge yet"
        news = feed.follow("stuck")
        assert (await anext(news)).position == feed.position
        assert not await feed.until_heard()
        feed.report(EdgeReport("stuck", feed.position))
        assert await feed.until_heard()
        await news.aclose()  # pyright: ignore[reportAttributeAccessIssue]  # a generator
        assert not await feed.until_heard(), "it may come back, and know less"


async def test_without_edges_nobody_waits(line: Line) -> None:
    async with line.control() as roost:
        await roost.sandbox()
        with anyio.fail_after(1):
            assert await roost.served_routes.until_heard()


async def test_routes_hold_while_control_is_away(line: Line) -> None:
    async with line.edge() as edge:
        async with line.control() as roost:
            kept, killed = await roost.sandbox(), await roost.sandbox()
            assert await roost.served_routes.refresh()
        await edge.until_away()
        assert edge.copy.locate(kept.id) is not None and edge.copy.locate(killed.id) is not None
        edge.acted_on.clear()
        async with serving(line.ground) as alone:  # a control that the edge does not reach
            await alone.sandboxes.kill(ME, killed.id)
        async with line.control():
            await edge.copy.until_current()
            assert edge.copy.locate(kept.id) is not None
            assert edge.copy.locate(killed.id) is None
            while not edge.acted_on:
                await anyio.lowlevel.checkpoint()
            assert [route.sandbox for route in edge.acted_on] == [killed.id], "only what differs is acted on"


async def test_waking_waits_for_control(line: Line) -> None:
    woken: list[Route] = []
    async with line.edge() as edge:
        async with line.control() as roost:
            sandbox = await roost.sandbox()
            await roost.power.pause(ME, sandbox.id)
            assert await roost.served_routes.refresh()
        await edge.until_away()

        async def wake() -> None:
            woken.append(await edge.copy.wake(sandbox.id, "traffic"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wake)
            await anyio.wait_all_tasks_blocked()
            assert not woken
            async with line.control():
                while not woken:
                    await anyio.lowlevel.checkpoint()
        assert woken[0].address is not None
        assert edge.copy.locate(sandbox.id) == woken[0]


async def test_waking_what_is_not_there(line: Line) -> None:
    async with line.control(), line.edge() as edge:
        with pytest.raises(SandboxNotFound):
            await edge.copy.wake(SandboxId("inobody"), "traffic")


async def test_bytes_of_this_moment_keep_a_sandbox_awake(line: Line) -> None:
    """Also those that the edge has not reported by itself yet."""
    async with line.control() as roost, line.edge() as edge:
        await edge.copy.until_current()
        sandbox = await roost.sandbox(policy=IDLE)
        await _pass(roost, 58)
        edge.ledger.account(sandbox.id).received(1)
        await _pass(roost, 4)
        assert (await line.ground.record(sandbox.id)).state is State.RUNNING
        await _pass(roost, 120)
        await line.ground.until_state(sandbox.id, State.PAUSED)


async def test_nobody_falls_asleep_while_the_edge_is_away(line: Line) -> None:
    async with line.control() as roost:
        async with line.edge() as edge:
            await edge.copy.until_current()
            sandbox = await roost.sandbox(policy=IDLE)
        await _pass(roost, 180)
        assert (await line.ground.record(sandbox.id)).state is State.RUNNING
        async with line.edge("second") as edge:
            await edge.copy.until_current()
            await _pass(roost, 50)
            assert (await line.ground.record(sandbox.id)).state is State.RUNNING, "the new edge has not seen it for long"
            await _pass(roost, 60)
            await line.ground.until_state(sandbox.id, State.PAUSED)


async def test_what_the_edge_counts_is_read_in_control(line: Line) -> None:
    async with line.control() as roost:
        sandbox = await roost.sandbox()
        link, _ = await roost.links.make(ME, sandbox.id, mode=LinkMode.VIEW)
        reported = line.ground.reported
        assert reported is not None
        async with line.edge() as edge:
            await edge.copy.until_current()
            account = edge.ledger.account(sandbox.id)
            account.began(quiet=False)
            account.received(10)
            account.watched(link.id)
            assert await roost.served_routes.refresh()
            seen = reported.traffic(sandbox.id)
            assert (seen.requests, seen.open_connections, seen.received_bytes) == (1, 1, 10)
            assert reported.watched_at(sandbox.id, link.id) == line.ground.clock.now()
        async with line.edge("second") as edge:
            await edge.copy.until_current()
            seen = reported.traffic(sandbox.id)
            assert (seen.open_connections, seen.received_bytes) == (0, 10), "its connections ended with it"
            assert reported.watched_at(sandbox.id, link.id) is not None


async def _pass(roost: Roost, seconds: float) -> None:
    end = roost.ground.clock.now() + seconds
    await roost.quiet()
    while (left := end - roost.ground.clock.now()) > 0:
        roost.ground.clock.advance(min(5.0, left))
        await roost.quiet()


def _route(edge: EdgeProcess, sandbox: str) -> Any:
    route = edge.copy.locate(sandbox)
    assert route is not None
    return route
