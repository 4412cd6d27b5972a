"""What happens inside a sandbox, as `roost.client.status` describes it."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator

import httpx

from roost.client import status
from roost.client.agent import AgentAccess
from roost.client.aio.transport import AsyncTransport
from roost.client.status import COMMANDS, LINES, LastLines, OpenPort, PastCommand, RunningProcess
from roost.client.wire import translate


class AsyncStatus:
    """Looking changes nothing: it neither wakes a sandbox nor counts as activity. Of one that is asleep it raises Conflict."""

    def __init__(self, transport: AsyncTransport, access: AgentAccess) -> None:
        self._transport = transport
        self._access = access

    async def processes(self) -> list[RunningProcess]:
        """Everything that runs inside, oldest first."""
        return await self._transport.run(status.processes(self._access))

    async def ports(self) -> list[OpenPort]:
        """Who listens inside, by port."""
        return await self._transport.run(status.ports(self._access))

    async def history(self, limit: int = COMMANDS) -> list[PastCommand]:
        """The commands that were run through the agent, newest first. The last 500 are kept."""
        return await self._transport.run(status.history(self._access, limit))

    async def tail(self, lines: int = LINES) -> AsyncGenerator[LastLines]:
        """What was printed last: as it is now, then whenever it changes, at most once a second. Raises Unavailable when the
        connection breaks."""
        try:
            response = await self._transport.stream(status.tail(self._access, lines))
            try:
                async for line in response.aiter_lines():
                    if line.startswith("data: "):
                        yield LastLines.read(json.loads(line.removeprefix("data: ")))
            finally:
                await response.aclose()
        except httpx.TransportError as error:
            raise translate(error, self._transport.endpoint.url) from error
