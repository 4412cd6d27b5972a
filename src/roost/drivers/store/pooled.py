"""Connections to a database that is elsewhere, by SQLAlchemy's pools: PostgreSQL.

Single statements are not interrupted: each runs in a shielded scope, so that a connection is always between two statements when a
block is left, and can be rolled back and used again. (A bare `task.cancel()` does get through a shield; SQLAlchemy then throws
that connection away, and the next block opens another.)
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.lowlevel
import pydantic_core
import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import AsyncAdaptedQueuePool

from roost.drivers.store.connections import READERS, AfterCommit, StatementResult, Values
from roost.drivers.store.dialect import Dialect
from roost.drivers.store.failures import closed, translated
from roost.drivers.store.prepared import to_json


@contextmanager
def _undisturbed(dialect: Dialect, url: sa.URL) -> Iterator[None]:
    with translated(dialect, url), anyio.CancelScope(shield=True):
        yield


class PooledSession:
    """See `connections.Session`."""

    def __init__(self, connection: AsyncConnection, dialect: Dialect, url: sa.URL) -> None:
        self._connection = connection
        self.dialect = dialect
        self._url = url

    async def run(self, statement: sa.Executable, values: Values | None = None) -> StatementResult:
        await anyio.lowlevel.checkpoint_if_cancelled()
        with _undisturbed(self.dialect, self._url):
            return _result(await self._connection.execute(statement, values))

    async def run_savepoint(self, statement: sa.Executable, values: Mapping[str, Any]) -> StatementResult:
        """A violated constraint would end the whole transaction."""
        with _undisturbed(self.dialect, self._url):
            async with self._connection.begin_nested():
                return _result(await self._connection.execute(statement, values))

    async def begin(self) -> None:
        with _undisturbed(self.dialect, self._url):
            await self._connection.begin()

    async def commit(self) -> None:
        with _undisturbed(self.dialect, self._url):
            await self._connection.commit()

    async def rollback(self) -> None:
        with _undisturbed(self.dialect, self._url):
            await self._connection.rollback()


class PooledConnections:
    """See `connections.Connections`."""

    def __init__(self, url: sa.URL, dialect: Dialect, busy_timeout_s: float) -> None:
        self._url = url
        self._dialect = dialect
        self._turn = anyio.Lock()  # whoever writes
        self._seats = anyio.Semaphore(READERS)
        self._writer = open_engine(url, WRITER, busy_timeout_s)
        self._metering = open_engine(url, METERING, busy_timeout_s)
        self._readers = open_engine(url, READER, busy_timeout_s)
        self.closed = False

    @asynccontextmanager
    async def writing(self, *, durable: bool = True, then: AfterCommit | None = None) -> AsyncIterator[PooledSession]:
        async with self._turn, self._session(self._writer if durable else self._metering) as session:
            await session.begin()
            try:
                await anyio.lowlevel.checkpoint_if_cancelled()
                yield session
                await session.commit()
            except BaseException:
                await session.rollback()
                raise
            if then is not None:
                with anyio.CancelScope(shield=True):
                    await then()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[PooledSession]:
        async with self._seats, self._session(self._readers) as session:
            await session.begin()
            try:
                yield session
            finally:
                await session.rollback()

    async def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        with anyio.CancelScope(shield=True):
            async with AsyncExitStack() as everyone:
                await everyone.enter_async_context(self._turn)
                for _ in range(READERS):
                    await everyone.enter_async_context(self._seats)
                for engine in (self._writer, self._metering, self._readers):
                    await engine.dispose()

    @asynccontextmanager
    async def _session(self, engine: AsyncEngine) -> AsyncIterator[PooledSession]:
        if self.closed:
            raise closed(self._url)
        connection = await self._connect(engine)
        try:
            yield PooledSession(connection, self._dialect, self._url)
        finally:
            with anyio.CancelScope(shield=True):
                await connection.close()

    async def _connect(self, engine: AsyncEngine) -> AsyncConnection:
        with _undisturbed(self._dialect, self._url):
            return await engine.connect()


@dataclass(frozen=True, slots=True)
class ConnectionRole:
    """What a connection is for."""

    connections: int = 1
    durable: bool = True  # a commit waits for the disk


WRITER = ConnectionRole()
METERING = ConnectionRole(durable=False)
READER = ConnectionRole(connections=READERS)


def open_engine(url: sa.URL, role: ConnectionRole, busy_timeout_s: float) -> AsyncEngine:
    """Connects to nothing yet."""
    engine = create_async_engine(
        url,
        poolclass=AsyncAdaptedQueuePool,
        pool_size=role.connections,
        max_overflow=0,
        pool_reset_on_return=None,  # whoever uses a connection ends the transaction
        json_serializer=to_json,
        json_deserializer=pydantic_core.from_json,
        isolation_level="SERIALIZABLE",
    )
    preparations = (
        f"SET lock_timeout = {round(busy_timeout_s * 1000)}",
        f"SET synchronous_commit = {'on' if role.durable else 'off'}",
    )

    @event.listens_for(engine.sync_engine, "connect")
    def prepare(connection: Any, _: Any) -> None:
        cursor = connection.cursor()
        try:
            for statement in preparations:
                cursor.execute(statement)
        finally:
            cursor.close()

    return engine


def _result(done: sa.CursorResult[Any]) -> StatementResult:
    return StatementResult([dict(row) for row in done.mappings()] if done.returns_rows else [], done.rowcount)
