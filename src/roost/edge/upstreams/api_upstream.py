"""The way to the API: control's own Unix socket, with connections that are kept between requests.

Only root, and so only this Roost, can connect to that socket: what a request says there of its client (`head.render_for_api`) is
believed, and nobody but the edge gets to say it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import anyio.lowlevel

from roost.domain.errors import Unavailable
from roost.edge.limits import EdgeLimits
from roost.edge.upstreams.idle import IdleConnections
from roost.edge.upstreams.upstream import UpstreamConnection


class ControlAway(Unavailable):
    def __init__(self) -> None:
        super().__init__("control_away", "Control is not there just now. Sandboxes go on; try again in a moment.")


class ApiUpstream:
    """`until_ready` returns once control is there and what it has committed is known here: at once, when it is."""

    def __init__(
        self, socket: Path, limits: EdgeLimits, until_ready: Callable[[], Awaitable[None]] = anyio.lowlevel.checkpoint
    ) -> None:
        self._socket = socket
        self._limits = limits
        self._until_ready = until_ready
        self._idle: IdleConnections[UpstreamConnection] = IdleConnections(limits.idle_api, limits.idle_api_s)

    def take_idle(self) -> UpstreamConnection | None:
        return self._idle.take()

    def give_back(self, upstream: UpstreamConnection) -> None:
        self._idle.put(upstream)

    async def dial(self) -> UpstreamConnection:
        """A new connection. One that finds control away waits a while for it to come back. Raises ControlAway."""
        upstream = UpstreamConnection(self._limits)
        try:
            with anyio.fail_after(self._limits.api_wait_s):
                await self._until_ready()
                await asyncio.get_running_loop().create_unix_connection(lambda: upstream, str(self._socket))
        except (OSError, TimeoutError) as error:
            raise ControlAway from error
        return upstream

    def close(self) -> None:
        self._idle.close()
