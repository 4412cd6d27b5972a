"""SQLite connections whose statements cost one visit to their thread.

SQLAlchemy's way through aiosqlite makes four for each statement: make a cursor, execute, fetch, close. On a busy machine the
visits are what a statement costs. Here one visit does all four and brings the rows along; answers are small, a page at most.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, Self

import aiosqlite


class OneHopCursor:
    """What SQLAlchemy asks of a cursor. Nothing is left open behind it."""

    def __init__(self, connection: OneHopConnection) -> None:
        self._connection = connection
        self._rows: list[Any] = []
        self.description: Any = None
        self.rowcount = -1
        self.lastrowid: int | None = None
        self.arraysize = 1

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def execute(self, statement: str, values: Any = ()) -> None:
        await self._visit(lambda cursor: cursor.execute(statement, values))

    async def executemany(self, statement: str, values: Sequence[Any]) -> None:
        await self._visit(lambda cursor: cursor.executemany(statement, values))

    async def fetchall(self) -> list[Any]:
        rows, self._rows = self._rows, []
        return rows

    async def close(self) -> None:
        self._rows = []

    async def _visit(self, run: Callable[[sqlite3.Cursor], object]) -> None:
        def visit() -> tuple[list[Any], Any, int, int | None]:
            cursor = self._connection._conn.cursor()
            try:
                run(cursor)
                rows = cursor.fetchall() if cursor.description else []
                return rows, cursor.description, cursor.rowcount, cursor.lastrowid
            finally:
                cursor.close()

        self._rows, self.description, self.rowcount, self.lastrowid = await self._connection._execute(visit)


class OneHopConnection(aiosqlite.Connection):
    def cursor(self) -> OneHopCursor:  # pyright: ignore[reportIncompatibleMethodOverride]
        return OneHopCursor(self)


async def connect(database: str, **options: Any) -> aiosqlite.Connection:
    """For SQLAlchemy's `async_creator_fn`."""
    connection = OneHopConnection(lambda: sqlite3.connect(database, **options), iter_chunk_size=64)
    connection._thread.daemon = True  # a process that dies without closing does not hang on it
    return await connection
