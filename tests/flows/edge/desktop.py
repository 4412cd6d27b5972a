"""A desktop behind the edge, and people before its screen."""

from __future__ import annotations

import asyncio
import random
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
import pytest
import websockets
from websockets.exceptions import ConnectionClosed

from roost.domain.ids import LinkId, TeamId
from roost.domain.link import Link, LinkMode, link_digest
from roost.domain.sandbox import Driver
from roost.edge.limits import AGENT_PORT, SCREEN_PORT
from tests.flows.edge.conftest import TOKEN, Heard, answer, hear

GREETING = b"RFB 003.008\n"
FRAME = b"\x00\x00\x00\x01" + bytes(12) + b"picture"
KEY = struct.pack(">BBHI", 4, 1, 0, 0x61)
KEY_UP = struct.pack(">BBHI", 4, 0, 0, 0x61)
POINTER = struct.pack(">BBHH", 5, 1, 10, 20)
POINTER_UP = struct.pack(">BBHH", 5, 0, 10, 20)
UPDATE = struct.pack(">BBHHHH", 3, 1, 0, 0, 640, 480)


@dataclass
class Desktop:
    """A sandbox with the agent's bridge, an RFB server behind it, and the agent's desktop API."""

    world: Any
    sandbox: Any
    said: list[bytearray] = field(default_factory=list)  # by viewers, after they were let in
    screens: list[asyncio.StreamWriter] = field(default_factory=list)
    heard: list[Heard] = field(default_factory=list)
    gate: anyio.Event = field(default_factory=anyio.Event)  # a POST to the agent is answered when it is open
    numbers: list[int] = field(default_factory=list)

    async def open(self, *, has_screen: bool = True) -> Desktop:
        await self.sandbox.serve(self._agent if has_screen else self._blind_agent, port=AGENT_PORT)
        self.gate.set()
        return self

    async def _agent(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await hear(reader)
        if request is None:
            return
        if not request.line.startswith(b"GET /roost/bridge?port=%d " % SCREEN_PORT):
            self.heard.append(request)
            if request.line.startswith(b"GET /desktop/frames"):
                writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nframe\r\n")
                await reader.read()
                return
            if request.line.startswith(b"POST"):
                await self.gate.wait()
            writer.write(answer(request.line))
            return
        # As one packet: a server that speaks first may be heard together with the bridge's own answer.
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: roost-bridge\r\n\r\n" + GREETING)
        await reader.readexactly(12)
        writer.write(b"\x01\x01")
        assert await reader.readexactly(1) == b"\x01"
        writer.write(b"\0\0\0\0")
        assert await reader.readexactly(1) == b"\x01", "every viewer shares"
        said = bytearray()
        self.said.append(said)
        self.screens.append(writer)
        writer.write(FRAME)
        while data := await reader.read(65536):
            said += data

    async def _blind_agent(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await hear(reader) is not None:
            writer.write(answer(b"{}", status=b"502 Bad Gateway"))

    # Links, as control would put them

    def link(self, mode: LinkMode = LinkMode.CONTROL, *, lives_s: float = 3600.0) -> str:
        token = random.SystemRandom().randbytes(32).hex()
        now = self.world.clock.now()
        link = Link(
            LinkId(f"l{len(self.numbers)}"), self.sandbox.id, TeamId("team"), mode, "anna", link_digest(token), now, now + lives_s
        )
        self.numbers.append(0)
        route = self.world.routes.locate(self.sandbox.id)
        self.world.routes.place(replace(route, links={**route.links, link.digest: link}))
        return token

    def record(self, token: str) -> Link:
        return self.world.routes.locate(self.sandbox.id).links[link_digest(token)]

    def revoke(self, token: str) -> None:
        route = self.world.routes.locate(self.sandbox.id)
        kept = {digest: link for digest, link in route.links.items() if digest != link_digest(token)}
        self.world.routes.place(replace(route, links=kept))

    def drives(self, token: str | None) -> None:
        route = self.world.routes.locate(self.sandbox.id)
        driver = Driver(self.record(token).id, "anna", self.world.clock.now()) if token else None
        self.world.routes.place(replace(route, driver=driver))

    # People

    def url(self, token: str) -> str:
        return f"ws://127.0.0.1:{self.world.port}/desktop/rfb?link={token}"

    @asynccontextmanager
    async def watch(self, token: str, **options: Any) -> AsyncIterator[Person]:
        """Somebody before the screen, past the first picture."""
        headers = self.world.headers(self.sandbox, AGENT_PORT)
        async with websockets.connect(
            self.url(token), additional_headers=headers, proxy=None, ping_interval=None, **options
        ) as socket:
            person = Person(socket)
            assert await person.read(12) == GREETING
            await socket.send(GREETING)
            assert await person.read(2) == b"\x01\x01"
            await socket.send(b"\x01")
            assert await person.read(4) == b"\0\0\0\0"
            await socket.send(b"\0")  # wants to be alone, and is not asked
            assert await person.read(len(FRAME)) == FRAME
            yield person

    async def refused(self, token: str) -> tuple[int | None, str]:
        headers = self.world.headers(self.sandbox, AGENT_PORT)
        async with websockets.connect(self.url(token), additional_headers=headers, proxy=None) as socket:
            return await Person(socket).closed()

    async def ask(self, method: str, path: str, *, token: str | None = TOKEN, **headers: str) -> Any:
        given = {"X-Access-Token": token} if token else {}
        async with self.world.client() as client:
            return await client.request(
                method, path, headers={**self.world.headers(self.sandbox, AGENT_PORT), **given, **headers}, content=b"{}"
            )


class Person:
    def __init__(self, socket: websockets.ClientConnection) -> None:
        self.socket = socket
        self.buffer = bytearray()

    async def read(self, size: int) -> bytes:
        with anyio.fail_after(20):
            while len(self.buffer) < size:
                piece = await self.socket.recv()
                assert isinstance(piece, bytes)
                self.buffer += piece
        data = bytes(self.buffer[:size])
        del self.buffer[:size]
        return data

    async def closed(self) -> tuple[int | None, str]:
        with anyio.fail_after(20):
            try:
                while True:
                    await self.socket.recv()
            except ConnectionClosed as end:
                return (end.rcvd.code, end.rcvd.reason) if end.rcvd else (None, "")


@pytest.fixture
async def desktop(world: Any) -> Desktop:
    return await Desktop(world, world.sandbox()).open()
