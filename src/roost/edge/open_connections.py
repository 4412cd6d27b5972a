"""The connections of clients that are open now."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

import anyio

C = TypeVar("C")


class OpenConnections(Generic[C]):
    def __init__(self) -> None:
        self._open: set[C] = set()
        self._none = anyio.Event()

    def add(self, connection: C) -> None:
        self._open.add(connection)

    def discard(self, connection: C) -> None:
        self._open.discard(connection)
        if not self._open:
            self._none.set()

    def __iter__(self) -> Iterator[C]:
        """Those of this moment, whatever happens to them while they are looked at."""
        return iter(list(self._open))

    def __len__(self) -> int:
        return len(self._open)

    async def until_none(self) -> None:
        while self._open:
            self._none = anyio.Event()
            await self._none.wait()
