"""What a file is written from: bytes, text, an open file, or pieces that come one after the other. All but the first two are
moved in constant memory."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable
from typing import BinaryIO

CHUNK_BYTES = 1 << 18

Content = bytes | str | BinaryIO | Iterable[bytes]
AsyncContent = bytes | str | BinaryIO | AsyncIterable[bytes]


def body(content: Content) -> bytes | Iterable[bytes]:
    if isinstance(content, str):
        return content.encode()
    if isinstance(content, bytes):
        return content
    read = getattr(content, "read", None)
    return content if read is None else iter(lambda: read(CHUNK_BYTES), b"")


def body_async(content: AsyncContent) -> bytes | AsyncIterable[bytes]:
    if isinstance(content, str):
        return content.encode()
    if isinstance(content, bytes | AsyncIterable):
        return content
    return _read(content)


async def _read(file: BinaryIO) -> AsyncIterator[bytes]:
    import anyio.to_thread

    while chunk := await anyio.to_thread.run_sync(file.read, CHUNK_BYTES):
        yield chunk
