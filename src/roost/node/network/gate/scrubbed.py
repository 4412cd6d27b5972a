"""A stream without the secrets that the other end knows, for what is no longer HTTP."""

from __future__ import annotations

import anyio
from anyio.abc import ByteStream

from roost.node.network.gate.scrub import Scrubber
from roost.node.network.gate.wire import CHUNK_BYTES

RELEASE_AFTER_S = 0.2  # of silence: somebody may be waiting for the few bytes that are held


class Scrubbed(ByteStream):
    """What is received is searched; what is sent is not."""

    def __init__(self, stream: ByteStream, scrubber: Scrubber) -> None:
        self._stream = stream
        self._scrubber = scrubber

    async def receive(self, max_bytes: int = CHUNK_BYTES) -> bytes:
        passed = b""
        while not passed:
            data: bytes | None = None
            with anyio.move_on_after(RELEASE_AFTER_S if self._scrubber.can_release else None):
                try:
                    data = await self._stream.receive(max_bytes)
                except anyio.EndOfStream:
                    rest = self._scrubber.finish()
                    if not rest:
                        raise
                    return rest  # the end is told next time
            passed = self._scrubber.release() if data is None else self._scrubber.feed(data)
        return passed

    async def send(self, item: bytes) -> None:
        await self._stream.send(item)

    async def send_eof(self) -> None:
        await self._stream.send_eof()

    async def aclose(self) -> None:
        await self._stream.aclose()
