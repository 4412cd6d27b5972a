"""The node's side of the agent's HTTP, against somebody who put something else in the agent's place."""

from __future__ import annotations

import random
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio.abc import SocketStream

from roost.domain.errors import GuestUnreachable
from roost.domain.ids import AGENT_PORT, LinkId
from roost.domain.sandbox import Driver
from roost.drivers.guest.envd import Envd, reaching

pytestmark = pytest.mark.anyio


def _own_address() -> str:
    rng = random.SystemRandom()
    return f"127.{rng.randrange(1, 255)}.{rng.randrange(256)}.{rng.randrange(1, 255)}"


@asynccontextmanager
async def answering(answer: bytes | None) -> AsyncIterator[str]:
    """An address of the loopback network where the agent's port answers so; None: never."""
    address = _own_address()

    async def answer_one(stream: SocketStream) -> None:
        async with stream:
            await stream.receive()
            if answer is None:
                await anyio.sleep_forever()
            else:
                await stream.send(answer)

    listener = await anyio.create_tcp_listener(local_host=address, local_port=AGENT_PORT)
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, answer_one)
        yield address
        tasks.cancel_scope.cancel()


def said(message: bytes) -> bytes:
    """An answer that is HTTP, with one message of the agent's protocol."""
    return b"HTTP/1.1 200 OK\r\n\r\n" + struct.pack(">BI", 0, len(message)) + message


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"no HTTP at all",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nnot a length",
        b"HTTP/1.1 200 OK\r\n\r\n\x00\x00\x00\x00\x05nopes",
        b"HTTP/1.1 200 OK\r\n\r\n\x00\x00\x00\x00\x02[]",
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\n",
        said(b'{"event": {"data": {"stdout": 7}}}'),
        said(b'{"event": {"data": {"stdout": "no base64!"}}}'),
        said(b'{"event": 5}'),
        said(b"[" * 100_000),
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


async def test_output_and_exit_code_of_a_command(anyio_backend: object) -> None:
    messages = [
        b'{"event": {"start": {"pid": 7}}}',
        b'{"event": {"data": {"stdout": "aGVs"}}}',
        b'{"event": {"data": {"stderr": "bG8="}}}',
    ]
    end = b'{"event": {"end": {"exitCode": 3}}}'
    body = (
        b"".join(struct.pack(">BI", 0, len(message)) + message for message in (*messages, end)) + struct.pack(">BI", 2, 2) + b"{}"
    )
    for head, framed in (
        (b"Transfer-Encoding: chunked", b"".join(b"1\r\n%b\r\n" % body[i : i + 1] for i in range(len(body))) + b"0\r\n\r\n"),
        (b"Content-Length: %d" % len(body), body),
    ):
        async with answering(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n\r\n" + framed) as address:
            assert await Envd(now=lambda: 0.0).run(address, "true", user="root", timeout_s=5) == (3, "hello")


@pytest.mark.parametrize("mistake", [KeyError("x"), ValueError("x"), AttributeError("x")])
def test_a_mistake_of_our_own_is_not_the_guests(mistake: Exception) -> None:
    with pytest.raises(type(mistake)):
        _make(mistake)


def _make(mistake: Exception) -> None:
    async def call() -> None:
        with reaching("192.0.2.1", 5):
            raise mistake

    anyio.run(call)


async def test_an_agent_that_never_answers_is_given_up() -> None:
    async with answering(None) as address:
        with pytest.raises(GuestUnreachable, match="did not answer in time"), reaching(address, 0.2):
            await Envd(now=lambda: 0.0).before_checkpoint(address)
