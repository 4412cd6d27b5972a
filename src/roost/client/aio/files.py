"""AsyncFiles inside a sandbox, for a blocking client."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from roost.client import agent
from roost.client.agent import AgentAccess
from roost.client.aio.transport import AsyncTransport
from roost.client.bodies import AsyncContent, body_async
from roost.client.records import FileEntry
from roost.client.wire import Streaming, translate
from roost.domain.errors import NotFound


class AsyncFiles:
    """Relative paths start at the user's home. `user` owns what is made and must be allowed to read what is read."""

    def __init__(self, transport: AsyncTransport, access: AgentAccess, user: str | None = None) -> None:
        self._transport = transport
        self._access = access
        self._user = user

    def as_user(self, user: str | None) -> AsyncFiles:
        return AsyncFiles(self._transport, self._access, user)

    async def read(self, path: str) -> bytes:
        """The whole file. Raises NotFound."""
        async with self.reading(path) as chunks:
            return b"".join([chunk async for chunk in chunks])

    @asynccontextmanager
    async def reading(self, path: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """The file piece by piece, in constant memory."""
        streaming = Streaming("GET", "/files", self._access.headers(), params=agent.file_params(path, self._user))
        try:
            response = await self._transport.stream(streaming)
            try:
                yield response.aiter_raw()
            finally:
                await response.aclose()
        except httpx.TransportError as error:
            raise translate(error, self._transport.endpoint.url) from error

    async def write(self, path: str, content: AsyncContent, *, size: int | None = None) -> None:
        """Makes or replaces the file, and its directories. Anything but bytes and text is streamed in constant
        memory."""
        headers = {**self._access.headers(), "Content-Type": "application/octet-stream"}
        if size is not None:
            headers["Content-Length"] = str(size)
        streaming = Streaming("POST", "/files", headers, params=agent.file_params(path, self._user), content=body_async(content))
        try:
            response = await self._transport.stream(streaming)
            try:
                await response.aread()
            finally:
                await response.aclose()
        except httpx.TransportError as error:
            raise translate(error, self._transport.endpoint.url) from error

    async def stat(self, path: str) -> FileEntry:
        return await self._transport.run(agent.stat(self._access, path, self._user))

    async def exists(self, path: str) -> bool:
        try:
            await self.stat(path)
        except NotFound:
            return False
        return True

    async def list(self, path: str, *, depth: int = 1) -> list[FileEntry]:
        return await self._transport.run(agent.list_directory(self._access, path, depth, self._user))

    async def make_directory(self, path: str) -> FileEntry:
        """With its parents. Raises Conflict when it is there already."""
        return await self._transport.run(agent.make_directory(self._access, path, self._user))

    async def move(self, source: str, destination: str) -> FileEntry:
        return await self._transport.run(agent.move(self._access, source, destination, self._user))

    async def remove(self, path: str) -> None:
        """A directory with all that is in it. What is not there is removed already."""
        await self._transport.run(agent.remove(self._access, path, self._user))
