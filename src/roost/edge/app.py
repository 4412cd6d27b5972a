"""The edge: its parts joined, and the protocol class that puts it before an API on one port.

    edge = Edge(routes, TrafficLedger(clock), clock, Hosts("roost.localhost"))
    config = uvicorn.Config(api, http=protocol_factory(edge), ...)

with `edge.run()` in the task group in which the server runs. Sandbox traffic never passes through ASGI.
"""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import anyio.abc
from uvicorn.config import Config
from uvicorn.server import ServerState

from roost.contracts.clock import Clock
from roost.contracts.routes import Routes
from roost.edge.connection import ClientConnection
from roost.edge.dispatch import Dispatcher
from roost.edge.door import UvicornParts
from roost.edge.hosts import Hosts
from roost.edge.ledger import TrafficLedger
from roost.edge.limits import EdgeLimits
from roost.edge.resolve import HostResolver
from roost.edge.switchboard import Switchboard


class Edge:
    """Carries sandbox traffic while `run` runs. `hosts` are the names that requests may be for; sandboxes' end in its domain."""

    def __init__(
        self, routes: Routes, ledger: TrafficLedger, clock: Clock, hosts: Hosts, limits: EdgeLimits | None = None
    ) -> None:
        self._board = Switchboard(routes, ledger, clock, limits or EdgeLimits())
        self._dispatcher = Dispatcher(hosts, HostResolver(hosts.domain), self._board.signatures)

    async def run(self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Carries traffic until cancelled, then cuts what is open. Started before the server takes connections."""
        await self._board.run(task_status=task_status)

    def close(self) -> None:
        """Cuts every open connection of every sandbox. May be called twice."""
        self._board.close()


def protocol_factory(edge: Edge) -> type[asyncio.Protocol]:
    """What uvicorn is given as its `http` class: one client's connection, for the API and for sandboxes."""
    board, dispatcher = edge._board, edge._dispatcher

    class EdgeProtocol(ClientConnection):
        __slots__ = ()

        def __init__(
            self,
            config: Config,
            server_state: ServerState,
            app_state: dict[str, Any],
            _loop: asyncio.AbstractEventLoop | None = None,
        ) -> None:
            super().__init__(board, dispatcher, UvicornParts(config, server_state, app_state, _loop))

    return EdgeProtocol
