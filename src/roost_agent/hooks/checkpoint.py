"""`POST /roost/before-checkpoint`: leave nothing half-done that the node holds the other end of."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable, Iterable

from roost_agent.http.connection import Connection, Exchange
from roost_agent.wakeup import Wakeup

_PATIENCE_S = 0.25


class NodeCalls:
    """The node's own requests under way."""

    def __init__(self) -> None:
        self._under_way = 0
        self._fewer = Wakeup()

    def __enter__(self) -> None:
        self._under_way += 1

    def __exit__(self, *_: object) -> None:
        self._under_way -= 1
        self._fewer.ring()

    async def only_this_one(self, patience_s: float) -> None:
        """Wait until no other is under way, for a short while at most."""
        ends_at = asyncio.get_running_loop().time() + patience_s
        while self._under_way > 1 and (left_s := ends_at - asyncio.get_running_loop().time()) > 0:
            await self._fewer.wait(left_s)


class BeforeCheckpoint:
    """True afterwards: no request of the node but this one is under way, and no idle connection from outside is open.

    A connection kept for later would be restored with a peer that has forgotten it. Streams in use stay: they survive. Idle
    ones are reset, not closed: whoever closes first remembers the connection for a minute.
    """

    def __init__(
        self,
        calls: NodeCalls,
        connections: Iterable[Connection],
        from_outside: Callable[[Connection], bool],
    ) -> None:
        self._calls = calls
        self._connections = connections
        self._from_outside = from_outside

    async def __call__(self, exchange: Exchange) -> None:
        await self._calls.only_this_one(_PATIENCE_S)
        for connection in list(self._connections):
            if connection.idle and self._from_outside(connection):
                _reset(connection)
        exchange.answer(204)


def _reset(connection: Connection) -> None:
    own = connection.transport.get_extra_info("socket")
    if own is not None:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.transport.abort()
