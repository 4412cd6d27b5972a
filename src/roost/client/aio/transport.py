"""Runs calls over httpx, whose errors leave it as Roost's own.

Connections are kept and reused. A call that may be repeated is sent again when its connection breaks; no other is, because
nobody can tell whether the server acted on it. The awaiting client belongs to one event loop; the blocking one may be used by
several threads at once.
"""

from __future__ import annotations

from typing import TypeVar

import anyio
import httpx

from roost.client.calls import Call
from roost.client.endpoint import Endpoint
from roost.client.entering import Entering
from roost.client.errors import from_answer
from roost.client.pool import AsyncConnectionPool
from roost.client.wire import (
    FIRST_DELAY_S,
    LIMITS,
    SOCKET_OPTIONS,
    STREAM_TIMEOUT,
    Streaming,
    arguments,
    own_headers,
    read_answer,
    repeats,
    translate,
    trust,
)

T = TypeVar("T")


class AsyncTransport:
    def __init__(self, endpoint: Endpoint, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self.endpoint = endpoint
        self.entering = Entering()
        self._http = httpx.AsyncClient(
            base_url=endpoint.url,
            headers=own_headers(endpoint.key),
            transport=transport
            or AsyncConnectionPool(verify=trust(endpoint), limits=LIMITS, socket_options=SOCKET_OPTIONS, trust_env=False),
            auth=self.entering,
            trust_env=False,
        )

    async def run(self, call: Call[T]) -> T:
        attempt = 0
        while True:
            try:
                return read_answer(call, await self._http.request(call.method, call.path, **arguments(call)))
            except httpx.TransportError as error:
                if not repeats(call, attempt, error):
                    raise translate(error, self.endpoint.url) from error
                await anyio.sleep(FIRST_DELAY_S * 2**attempt)
                attempt += 1

    async def stream(self, streaming: Streaming) -> httpx.Response:
        """The answer with its body still to be read; the caller closes it. Raises httpx.TransportError as it is: the
        caller may know how to go on."""
        request = self._http.build_request(
            streaming.method,
            streaming.path,
            headers=dict(streaming.headers),
            params=streaming.params or None,
            content=streaming.content,  # pyright: ignore[reportArgumentType]  # of the caller's own kind
            timeout=STREAM_TIMEOUT,
        )
        response = await self._http.send(request, stream=True)
        if response.status_code >= 400:
            try:
                raise from_answer(response.status_code, await response.aread())
            finally:
                await response.aclose()
        return response

    async def close(self) -> None:
        await self._http.aclose()
