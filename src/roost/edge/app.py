"""The edge: its parts joined, and a server that puts it before an API on one port.

    edge = Edge(routes, TrafficLedger(clock), clock, Hosts("roost.localhost"), ApiUpstream(socket, limits))
    async with anyio.create_task_group() as tasks:
        await tasks.start(edge.run)
        await edge.serve(listener, tls)

Sandbox traffic never passes through the API, and the API's own answers come from its Unix socket.
"""

from __future__ import annotations

import asyncio
import socket
import ssl

import anyio
import anyio.abc

from roost.contracts.clock import Clock
from roost.contracts.routes import Routes
from roost.edge.admission.dispatch import Dispatcher
from roost.edge.admission.hosts import Hosts
from roost.edge.admission.resolve import HostResolver
from roost.edge.connection import ClientConnection
from roost.edge.ledger import TrafficLedger
from roost.edge.limits import EdgeLimits
from roost.edge.open_connections import OpenConnections
from roost.edge.switchboard import Switchboard
from roost.edge.upstreams.api_upstream import ApiUpstream


class Edge:
    """Carries sandbox traffic while `run` runs. `hosts` are the names that requests may be for; sandboxes' end in its domain."""

    def __init__(
        self,
        routes: Routes,
        ledger: TrafficLedger,
        clock: Clock,
        hosts: Hosts,
        api: ApiUpstream,
        limits: EdgeLimits | None = None,
    ) -> None:
        self._limits = limits or EdgeLimits()
        self._board = Switchboard(routes, ledger, clock, self._limits)
        self._dispatcher = Dispatcher(hosts, HostResolver(hosts.domain), self._board.signatures)
        self._api = api
        self.connections: OpenConnections[ClientConnection] = OpenConnections()

    async def run(self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Carries traffic until cancelled, then cuts what is open. Started before the first connection is taken."""
        try:
            await self._board.run(task_status=task_status)
        finally:
            self._api.close()

    def connection(self) -> ClientConnection:
        """One client's connection, for the API and for sandboxes, as asyncio's servers want it."""
        return ClientConnection(self._board, self._dispatcher, self._api, self.connections)

    async def serve(self, listener: socket.socket, tls: ssl.SSLContext | None = None) -> None:
        """Takes connections until cancelled. Then none is taken any more, and those that are open have a while to end: see
        `ClientConnection.shutdown`."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(self.connection, sock=listener, ssl=tls, backlog=2048)
        try:
            await anyio.sleep_forever()
        finally:
            server.close()
            with anyio.CancelScope(shield=True):
                await self.drain()

    async def drain(self) -> None:
        """Every open connection is asked to end, and has ended; what does not within twice its grace is cut."""
        for connection in self.connections:
            connection.shutdown()
        with anyio.move_on_after(self._limits.shutdown_grace_s * 2):
            await self.connections.until_none()
        for connection in self.connections:
            connection.abort()

    def close(self) -> None:
        """Cuts every open connection of every sandbox. May be called twice."""
        self._board.close()
