"""Server-sent events as an answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing

import anyio
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

HEARTBEAT_S = 15.0


Until = Callable[[], Awaitable[None]]
"""Returns when a stream has to end, whatever is still to be told."""

Told = tuple[int | None, str, str]
"""An event: its id, if it can be gone on from, its kind, and its data."""


class EventStreamResponse(Response):
    """Sends each event as it comes, of all sources, and a comment when none came for a while, so that everybody between
    knows the stream lives. Ends with the caller, with its sources, or when `until` returns."""

    media_type = "text/event-stream"
    charset = "utf-8"

    def __init__(
        self, *sources: AsyncIterator[Told], until: Until = anyio.sleep_forever, heartbeat_s: float = HEARTBEAT_S
    ) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._sources = sources
        self._until = until
        self._heartbeat_s = heartbeat_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        turn = anyio.Lock()

        async def push(text: str) -> None:
            async with turn:
                await send({"type": "http.response.body", "body": text.encode(), "more_body": True})

        async def beat() -> None:
            while True:
                await anyio.sleep(self._heartbeat_s)
                await push(": still here\n\n")

        async def pass_on(source: AsyncIterator[Told]) -> None:
            async with aclosing(source) as events:  # pyright: ignore[reportArgumentType]  # always a generator here
                async for id, kind, data in events:
                    await push(("" if id is None else f"id: {id}\n") + f"event: {kind}\ndata: {data}\n\n")

        async def end_with_caller() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            tasks.cancel_scope.cancel()

        async def end_when_told() -> None:
            await self._until()
            tasks.cancel_scope.cancel()

        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await push(": begun\n\n")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(beat)
            tasks.start_soon(end_with_caller)
            tasks.start_soon(end_when_told)
            async with anyio.create_task_group() as passing:
                for source in self._sources:
                    passing.start_soon(pass_on, source)
            tasks.cancel_scope.cancel()
