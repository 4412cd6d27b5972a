"""The node's side of the agent's HTTP, against somebody who put something else in the agent's place."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio.abc import SocketStream

from roost.domain.errors import GuestUnreachable
from roost.domain.ids import LinkId
from roost.domain.sandbox import Driver
from roost.drivers.guest.envd import AGENT_PORT, Envd

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def answering(answer: bytes) -> AsyncIterator[str]:
    """An address of the loopback network where the agent's port answers so."""
    chance = random.SystemRandom()
    address = f"127.{chance.randrange(1, 255)}.{chance.randrange(256)}.{chance.randrange(1, 255)}"

    async def answer_one(stream: SocketStream) -> None:
        async with stream:
            await stream.receive()
            await stream.send(answer)

    listener = await anyio.create_tcp_listener(local_host=address, local_port=AGENT_PORT)
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, answer_one)
        yield address
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"no HTTP at all",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nnot a length",
        b"HTTP/1.1 200 OK\r\n\r\n\x00\x00\x00\x00\x05nopes",
        b"HTTP/1.1 200 OK\r\n\r\n\x00\x00\x00\x00\x02[]",
        b"HTTP/1.1 200 OK\r\n\r\n",
    ],
)
async def test_nonsense_is_an_agent_that_does_not_answer(answer: bytes) -> None:
    async with answering(answer) as address:
        with pytest.raises(GuestUnreachable):
            await Envd(now=lambda: 0.0).run(address, "true", user="root", timeout_s=5)


async def test_nobody_there_is_an_agent_that_does_not_answer() -> None:
    async with answering(b"") as address:
        pass
    with pytest.raises(GuestUnreachable):
        await Envd(now=lambda: 0.0).before_checkpoint(address)


@pytest.mark.parametrize("status", ["401 Unauthorized", "404 Not Found", "204 No Content"])
async def test_an_agent_too_old_to_know_of_drivers_is_left_alone(status: str) -> None:
    async with answering(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode()) as address:
        await Envd(now=lambda: 0.0).set_driver(address, Driver(LinkId("l1"), "anna", 1.0))


async def test_an_agent_that_cannot_say_who_drives_is_not_believed() -> None:
    async with answering(b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n") as address:
        with pytest.raises(GuestUnreachable, match="/roost/driver answered 500"):
            await Envd(now=lambda: 0.0).set_driver(address, None)


async def test_a_call_that_is_cancelled_is_not_an_error_of_the_guest() -> None:
    async with answering(b"") as address:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await Envd(now=lambda: 0.0).before_checkpoint(address)
        assert scope.cancelled_caught
