"""Files inside a sandbox, for a blocking client."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

import httpx

from roost.client import agent
from roost.client.agent import Door
from roost.client.records import FileEntry
from roost.client.transport import Streaming, Transport, translate
from roost.domain.errors import NotFound

CHUNK_BYTES = 1 << 18


class Files:
    """Relative paths start at the user's home. `user` owns what is made and must be allowed to read what is read."""

    def __init__(self, transport: Transport, door: Door, user: str | None = None) -> None:
        self._transport = transport
        self._door = door
        self._user = user

    def as_user(self, user: str | None) -> Files:
        return Files(self._transport, self._door, user)

    def read(self, path: str) -> bytes:
        """The whole file. Raises NotFound."""
        with self.reading(path) as chunks:
            return b"".join(chunks)

    @contextmanager
    def reading(self, path: str) -> Iterator[Iterator[bytes]]:
        """The file piece by piece, in constant memory."""
        streaming = Streaming("GET", "/files", self._door.headers(), params=agent.file_params(path, self._user))
        try:
            response = self._transport.stream(streaming)
            try:
                yield response.iter_raw()
            finally:
                response.close()
        except httpx.TransportError as error:
            raise translate(error, self._transport.endpoint.url) from error

    def write(self, path: str, content: bytes | str | BinaryIO | Iterable[bytes], *, size: int | None = None) -> None:
        """Makes or replaces the file, and its directories. Anything but bytes and text is streamed in constant
        memory."""
        headers = {**self._door.headers(), "Content-Type": "application/octet-stream"}
        if size is not None:
            headers["Content-Length"] = str(size)
        streaming = Streaming("POST", "/files", headers, params=agent.file_params(path, self._user), content=_body(content))
        try:
            response = self._transport.stream(streaming)
            try:
                response.read()
            finally:
                response.close()
        except httpx.TransportError as error:
            raise translate(error, self._transport.endpoint.url) from error

    def stat(self, path: str) -> FileEntry:
        return self._transport.run(agent.stat(self._door, path, self._user))

    def exists(self, path: str) -> bool:
        try:
            self.stat(path)
        except NotFound:
            return False
        return True

    def list(self, path: str, *, depth: int = 1) -> list[FileEntry]:
        return self._transport.run(agent.list_directory(self._door, path, depth, self._user))

    def make_directory(self, path: str) -> FileEntry:
        """With its parents. Raises Conflict when it is there already."""
        return self._transport.run(agent.make_directory(self._door, path, self._user))

    def move(self, source: str, destination: str) -> FileEntry:
        return self._transport.run(agent.move(self._door, source, destination, self._user))

    def remove(self, path: str) -> None:
        """A directory with all that is in it. What is not there is removed already."""
        self._transport.run(agent.remove(self._door, path, self._user))


def _body(content: bytes | str | BinaryIO | Iterable[bytes]) -> bytes | Iterable[bytes]:
    if isinstance(content, str):
        return content.encode()
    if isinstance(content, bytes):
        return content
    read = getattr(content, "read", None)
    return content if read is None else iter(lambda: read(CHUNK_BYTES), b"")
