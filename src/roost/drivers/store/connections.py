"""One writer at a time, a few readers beside it.

A caller may be cancelled anywhere. Single statements are not interrupted: each runs in a shielded scope, so that a connection is
always between two statements when a block is left, and can be rolled back and used again. (A bare `task.cancel()` does get
through a shield; SQLAlchemy then throws that connection away, and the next block opens another.)
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
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

from roost.drivers.store.dialect import Dialect
from roost.drivers.store.failures import closed, translated

READERS = 4

AfterCommit = Callable[[], Awaitable[None]]


@contextmanager
def _undisturbed(dialect: Dialect, url: sa.URL) -> Iterator[None]:
    with translated(dialect, url), anyio.CancelScope(shield=True):
        yield


class Session:
    """A connection inside a transaction. Statements raise our errors, or IntegrityError."""

    def __init__(self, connection: AsyncConnection, dialect: Dialect, url: sa.URL) -> None:
        self._connection = connection
        self.dialect = dialect
        self._url = url

    async def run(
        self, statement: sa.Executable, values: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None
    ) -> sa.CursorResult[Any]:
        await anyio.lowlevel.checkpoint_if_cancelled()
        with _undisturbed(self.dialect, self._url):
            return await self._connection.execute(statement, values)

    async def run_savepoint(self, statement: sa.Executable, values: Mapping[str, Any]) -> sa.CursorResult[Any]:
        """As `run`, but a violated constraint undoes this statement alone, whatever the database."""
        if not self.dialect.savepoint_before_conflict:
            return await self.run(statement, values)
        with _undisturbed(self.dialect, self._url):
            async with self._connection.begin_nested():
                return await self._connection.execute(statement, values)

    async def begin(self) -> None:
        with _undisturbed(self.dialect, self._url):
            await self._connection.begin()

    async def commit(self) -> None:
        with _undisturbed(self.dialect, self._url):
            await self._connection.commit()

    async def rollback(self) -> None:
        with _undisturbed(self.dialect, self._url):
            await self._connection.rollback()


class Connections:
    """The open connections to one database. They are made when first needed and kept."""

    def __init__(self, url: sa.URL, dialect: Dialect, busy_timeout_s: float) -> None:
        self._url = url
        self._dialect = dialect
        self._turn = anyio.Lock()  # whoever writes
        self._seats = anyio.Semaphore(READERS)
        self._writer = open_engine(url, dialect, WRITER, busy_timeout_s)
        self._metering = open_engine(url, dialect, METERING, busy_timeout_s)
        self._readers = open_engine(url, dialect, READER, busy_timeout_s)
        self.closed = False

    @asynccontextmanager
    async def writing(self, *, durable: bool = True, then: AfterCommit | None = None) -> AsyncIterator[Session]:
        """A transaction that commits when the block ends and rolls back when it raises. `then` follows a commit before anybody
        else's turn.

        `durable=False` is for what may be lost in a power cut: it does not wait for the disk, and still never tears.
        """
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
    async def reading(self) -> AsyncIterator[Session]:
        """Sees what was committed when the block's first statement ran. Waits for no writer."""
        async with self._seats, self._session(self._readers) as session:
            await session.begin()
            try:
                yield session
            finally:
                await session.rollback()

    async def close(self) -> None:
        """Lets those who are inside finish. Nobody gets in afterwards; the threads behind the connections have ended."""
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
    async def _session(self, engine: AsyncEngine) -> AsyncIterator[Session]:
        if self.closed:
            raise closed(self._url)
        connection = await self._connect(engine)
        try:
            yield Session(connection, self._dialect, self._url)
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
    writes: bool = True
    durable: bool = True  # a commit waits for the disk


WRITER = ConnectionRole()
METERING = ConnectionRole(durable=False)
READER = ConnectionRole(connections=READERS, writes=False)


def open_engine(url: sa.URL, dialect: Dialect, role: ConnectionRole, busy_timeout_s: float) -> AsyncEngine:
    """Connects to nothing yet."""
    engine = create_async_engine(
        url,
        poolclass=AsyncAdaptedQueuePool,
        pool_size=role.connections,
        max_overflow=0,
        pool_reset_on_return=None,  # whoever uses a connection ends the transaction
        json_serializer=_to_json,
        json_deserializer=pydantic_core.from_json,
        **dialect.engine_options,
    )
    preparations = dialect.on_connect(role.durable, busy_timeout_s)
    opening = dialect.begin_writing if role.writes else dialect.begin_reading

    @event.listens_for(engine.sync_engine, "connect")
    def prepare(connection: Any, _: Any) -> None:
        cursor = connection.cursor()
        try:
            for statement in preparations:
                cursor.execute(statement)
        finally:
            cursor.close()

    if opening is not None:

        @event.listens_for(engine.sync_engine, "begin")
        def open_transaction(connection: sa.Connection) -> None:
            connection.exec_driver_sql(opening)

    return engine


def _to_json(value: Any) -> str:
    return pydantic_core.to_json(value).decode()
