"""Connections without a request, kept for the next one."""

from __future__ import annotations

import asyncio
from typing import Generic, TypeVar

from roost.edge.upstreams.upstream import UpstreamConnection

C = TypeVar("C", bound=UpstreamConnection)


class IdleConnections(Generic[C]):
    """To one place: so many, each for so long. The one that was used last is taken first."""

    __slots__ = ("_keep_s", "_kept", "_most")

    def __init__(self, most: int, keep_s: float) -> None:
        self._most = most
        self._keep_s = keep_s
        self._kept: list[_Idle[C]] = []

    def take(self) -> C | None:
        while self._kept:
            connection = self._kept.pop().leave()
            if connection.is_open:
                return connection
            connection.abort()
        return None

    def put(self, connection: C) -> None:
        """Keeps a connection whose last answer is complete, or closes it."""
        if len(self._kept) >= self._most or not connection.is_open:
            connection.close()
        else:
            self._kept.append(_Idle(connection, self._kept, self._keep_s))

    def close(self) -> None:
        while self._kept:
            self._kept.pop().leave().abort()


class _Idle(Generic[C]):
    """Watches one: it is closed when the other side closes it, says anything unasked, or nobody takes it in time."""

    __slots__ = ("_connection", "_expiry", "_kept")

    def __init__(self, connection: C, kept: list[_Idle[C]], keep_s: float) -> None:
        self._connection = connection
        self._kept = kept
        self._expiry = asyncio.get_running_loop().call_later(keep_s, self._discard)
        connection.receiver = self
        connection.resume_reading()

    def leave(self) -> C:
        self._expiry.cancel()
        self._connection.receiver = None
        return self._connection

    def _discard(self) -> None:
        if self in self._kept:
            self._kept.remove(self)
        self.leave().abort()

    def upstream_data(self, data: bytes) -> None:
        self._discard()

    def upstream_eof(self) -> bool:
        self._discard()
        return False

    def upstream_lost(self, error: Exception | None) -> None:
        self._discard()

    def upstream_full(self) -> None:
        pass

    def upstream_ready(self) -> None:
        pass
