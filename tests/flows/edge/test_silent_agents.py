"""Agents that take a request and never answer: root inside has stopped them, or put something else in their place."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import anyio
import httpx
import pytest

from roost.edge.limits import AGENT_PORT, EdgeLimits
from tests.flows.edge.conftest import PATIENCE_S, TOKEN, hear

pytestmark = pytest.mark.anyio

HASTY = EdgeLimits(agent_head_s=0.2, agent_silence_s=0.2, agent_health_s=0.2, agent_grace_s=0.2, linger_s=0.2)
NEVER_ASKED = replace(HASTY, agent_head_s=PATIENCE_S, agent_silence_s=PATIENCE_S)
START = "/process.Process/Start"


async def silent(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    """Takes everything, says nothing."""
    while await reader.read(65536):
        pass


def headers(world: Any, sandbox: Any, **more: str) -> dict[str, str]:
    return {**world.headers(sandbox, AGENT_PORT), "X-Access-Token": TOKEN, **more}


@pytest.mark.parametrize("size", [0, 1 << 24], ids=["no body", "a body that does not fit into any buffer"])
async def test_a_request_to_an_agent_that_never_answers_is_answered_in_its_place(worlds: Any, size: int) -> None:
    async with worlds(HASTY) as world, world.client() as client:
        sandbox = world.sandbox()

        async def stuck(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
            await asyncio.Event().wait()

        await sandbox.serve(stuck if size else silent, port=AGENT_PORT)
        response = await client.post("/files?path=/a", content=bytes(size), headers=headers(world, sandbox))
        assert response.status_code == 502
        assert response.json()["error_code"] == "guest_unreachable"
        assert "does not answer" in response.json()["message"]


async def test_a_slow_answer_of_an_agent_that_lives_is_waited_for(worlds: Any) -> None:
    async with worlds(HASTY) as world, world.client() as client:
        sandbox, asked = world.sandbox(), 0

        async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal asked
            request = await hear(reader)
            if request is not None and request.line.startswith(b"GET /health "):
                asked += 1
                writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
                await reader.read()
                return
            while asked < 3:
                await anyio.lowlevel.checkpoint()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            await writer.drain()

        await sandbox.serve(slow, port=AGENT_PORT)
        response = await client.post("/desktop/type", json={"text": "long"}, headers=headers(world, sandbox))
        assert response.text == "ok"
        assert world.ledger.traffic(sandbox.id).requests == 1, "asking whether it lives is nobody's request"


def beginning(*, lives: bool) -> Any:
    """An agent that begins an answer and then says no more of it."""

    async def service(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await hear(reader)
        if request is not None and not request.line.startswith(b"GET /health "):
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n")
        elif lives:
            writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        await silent(reader, writer)

    return service


async def test_a_stream_of_an_agent_that_stopped_is_cut(worlds: Any) -> None:
    async with worlds(HASTY) as world, world.client() as client:
        sandbox = world.sandbox()
        await sandbox.serve(beginning(lives=False), port=AGENT_PORT)
        with pytest.raises(httpx.RemoteProtocolError):
            await client.post(START, headers=headers(world, sandbox))


class Line:
    """A caller that reads what comes of a stream."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    async def begun(self) -> None:
        with anyio.fail_after(PATIENCE_S):
            await self._reader.readuntil(b"first\r\n")

    async def stays_open(self) -> None:
        """For several times as long as the edge waits in these tests."""
        with anyio.move_on_after(1.5):
            raise AssertionError(f"the stream went on with {await self._reader.read(100)!r}")

    async def is_cut(self) -> None:
        """Without the chunk that would say that this was all."""
        with anyio.fail_after(PATIENCE_S / 2), contextlib.suppress(ConnectionResetError):
            assert await self._reader.read(100) == b""


@contextlib.asynccontextmanager
async def streaming(world: Any, sandbox: Any, **more: str) -> AsyncIterator[Line]:
    fields = {"Host": "localhost", "Content-Length": "0", **headers(world, sandbox, **more)}
    async with world.raw() as (reader, writer):
        writer.write(f"POST {START} HTTP/1.1\r\n".encode())
        writer.write("".join(f"{name}: {value}\r\n" for name, value in fields.items()).encode() + b"\r\n")
        line = Line(reader)
        await line.begun()
        yield line


async def test_a_stream_goes_on_while_the_agent_lives(worlds: Any) -> None:
    async with worlds(HASTY) as world:
        sandbox = world.sandbox()
        await sandbox.serve(beginning(lives=True), port=AGENT_PORT)
        async with streaming(world, sandbox) as line:
            await line.stays_open()


async def test_the_callers_deadline_ends_a_stream_even_if_the_agent_lives(worlds: Any) -> None:
    """It is the agent that has to keep it. One that does not is not waited for."""
    async with worlds(NEVER_ASKED) as world, world.client() as client:
        sandbox = world.sandbox()
        await sandbox.serve(beginning(lives=True), port=AGENT_PORT)
        with anyio.fail_after(PATIENCE_S / 2), pytest.raises(httpx.RemoteProtocolError):
            await client.post(START, headers=headers(world, sandbox, **{"Connect-Timeout-Ms": "300"}))


async def test_the_callers_deadline_ends_a_wait_for_an_answer(worlds: Any) -> None:
    async with worlds(NEVER_ASKED) as world, world.client() as client:
        sandbox = world.sandbox()
        await sandbox.serve(silent, port=AGENT_PORT)
        with anyio.fail_after(PATIENCE_S / 2):
            response = await client.post(START, headers=headers(world, sandbox, **{"Connect-Timeout-Ms": "300"}))
        assert response.json()["error_code"] == "guest_unreachable"


async def test_sleep_is_no_silence_and_takes_nothing_of_the_deadline(worlds: Any) -> None:
    async with worlds(HASTY) as world:
        sandbox = world.sandbox()
        await sandbox.serve(beginning(lives=False), port=AGENT_PORT)
        async with streaming(world, sandbox, **{"Connect-Timeout-Ms": "100"}) as line:
            world.routes.sleep(sandbox.id)
            await line.stays_open()
            await world.routes.wake(sandbox.id, "for the test")
            await line.is_cut()


async def test_a_guest_held_still_by_its_node_is_not_taken_for_one_that_hangs(worlds: Any) -> None:
    """Writing the memory of a large sandbox takes longer than any patience; it runs on afterwards."""
    async with worlds(HASTY) as world:
        sandbox = world.sandbox()
        await sandbox.serve(beginning(lives=False), port=AGENT_PORT)
        async with streaming(world, sandbox) as line:
            route = world.routes.locate(sandbox.id)
            world.routes.place(replace(route, is_still=True))
            await line.stays_open()
            world.routes.place(route)
            await line.is_cut()


async def test_programs_on_other_ports_may_be_silent_for_as_long_as_they_like(worlds: Any) -> None:
    async with worlds(HASTY) as world, world.client() as client:
        sandbox = world.sandbox()
        port = await sandbox.serve(silent)
        with anyio.move_on_after(1.5):
            response = await client.get("/", headers=world.headers(sandbox, port))
            raise AssertionError(f"it was answered {response.status_code}")
