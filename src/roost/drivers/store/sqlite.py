"""Connections to SQLite, used on the event loop itself.

A statement of Roost's touches a few pages that are in memory and takes some ten microseconds. To send it to a thread and have
its answer back takes twenty times as long, and needs the interpreter twice. So statements run where they are asked for. What
waits does not: for a lock of another process we sleep and ask again, for the disk a thread waits (`disk`), and the log is moved
into the database (a checkpoint) on a thread too.
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.lowlevel
import sqlalchemy as sa
from anyio import to_thread

from roost.drivers.store.connections import READERS, AfterCommit, StatementResult, Values
from roost.drivers.store.dialect import Dialect
from roost.drivers.store.disk import Disk, Sync, sync_log
from roost.drivers.store.failures import closed, translated, unreachable
from roost.drivers.store.prepared import prepared

CHECKPOINT_COMMITS = 200  # of some eight pages each
FIRST_WAIT_S, LAST_WAIT_S = 0.001, 0.05  # for another process that writes; nothing tells when it has ended

T = TypeVar("T")


class SqliteSession:
    """See `connections.Session`."""

    def __init__(self, connection: sqlite3.Connection, dialect: Dialect, url: sa.URL, busy_timeout_s: float) -> None:
        self._connection = connection
        self.dialect = dialect
        self._url = url
        self._busy_timeout_s = busy_timeout_s
        self._changes_before = connection.total_changes

    async def run(self, statement: sa.Executable, values: Values | None = None) -> StatementResult:
        await anyio.lowlevel.checkpoint_if_cancelled()
        ready = prepared(statement)
        return await self._patiently(lambda: ready.run(self._connection, values))

    async def run_savepoint(self, statement: sa.Executable, values: Mapping[str, Any]) -> StatementResult:
        return await self.run(statement, values)  # a violated constraint undoes the statement alone

    async def begin(self, statement: str) -> None:
        await self._patiently(lambda: self._connection.execute(statement))

    def commit(self) -> bool:
        """Whether there was anything to commit."""
        with translated(self.dialect, self._url):
            self._connection.execute("COMMIT")
        return self._connection.total_changes != self._changes_before

    async def _patiently(self, work: Callable[[], T]) -> T:
        """Tries again while another process is in the way. Raises Unavailable when that takes too long."""
        waited_s, pause_s = 0.0, FIRST_WAIT_S
        with translated(self.dialect, self._url):
            while True:
                try:
                    return work()
                except sqlite3.OperationalError as error:
                    if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or waited_s >= self._busy_timeout_s:
                        raise
                await anyio.sleep(pause_s)
                waited_s, pause_s = waited_s + pause_s, min(2 * pause_s, LAST_WAIT_S)


class SqliteConnections:
    """See `connections.Connections`."""

    def __init__(self, url: sa.URL, dialect: Dialect, busy_timeout_s: float, sync: Sync = sync_log) -> None:
        self._url = url
        self._path = Path(url.database or "")
        self._dialect = dialect
        self._busy_timeout_s = busy_timeout_s
        self._turn = anyio.Lock()  # whoever writes
        self._seats = anyio.Semaphore(READERS)
        self._writer: sqlite3.Connection | None = None
        self._readers: list[sqlite3.Connection] = []  # that nobody uses
        self._disk = Disk(self._path.with_name(f"{self._path.name}-wal"), sync)
        self._commits = 0  # since the last checkpoint
        self.closed = False

    @asynccontextmanager
    async def writing(self, *, durable: bool = True, then: AfterCommit | None = None) -> AsyncIterator[SqliteSession]:
        async with self._turn:
            self._require_usable()
            connection = self._writer = self._writer or await self._open()
            session = self._session(connection)
            await session.begin("BEGIN IMMEDIATE")  # a lock taken only at the first write could come too late to be given
            try:
                await anyio.lowlevel.checkpoint_if_cancelled()
                yield session
                changed = session.commit()
            except BaseException:
                if not _rolled_back(connection):
                    self._writer = None
                raise
            commit = self._disk.add(durable=durable and changed)
            try:
                await self._checkpoint_if_due()
            except BaseException:
                commit.end()
                raise
        # Others may write meanwhile. Who only read waits as well: what was read may not be on the disk yet.
        try:
            with anyio.CancelScope(shield=True), translated(self._dialect, self._url):
                await commit.wait()
            if then is not None:
                with anyio.CancelScope(shield=True):
                    await then()
        finally:
            commit.end()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[SqliteSession]:
        async with self._seats:
            self._require_open()
            await self._disk.settle()  # what is not on the disk yet is not to be told
            connection = self._readers.pop() if self._readers else await self._open()
            try:
                session = self._session(connection)
                await session.begin("BEGIN")
                yield session
            finally:
                if _rolled_back(connection):
                    self._readers.append(connection)

    async def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        with anyio.CancelScope(shield=True):
            async with AsyncExitStack() as everyone:
                await everyone.enter_async_context(self._turn)
                for _ in range(READERS):
                    await everyone.enter_async_context(self._seats)
                await self._disk.settle()
                self._disk.close()
                connections = [*self._readers, *([self._writer] if self._writer else [])]
                await to_thread.run_sync(_close, connections)  # the last one to be closed moves the log into the database
                self._readers, self._writer = [], None

    def _session(self, connection: sqlite3.Connection) -> SqliteSession:
        return SqliteSession(connection, self._dialect, self._url, self._busy_timeout_s)

    async def _open(self) -> sqlite3.Connection:
        with translated(self._dialect, self._url):  # a thread that has begun is waited for
            return await to_thread.run_sync(connect, self._path, self._busy_timeout_s)

    async def _checkpoint_if_due(self) -> None:
        """While nobody writes: the log begins anew only if all of it was moved."""
        self._commits += 1
        if self._commits >= CHECKPOINT_COMMITS:
            self._commits = 0
            with anyio.CancelScope(shield=True), translated(self._dialect, self._url):
                await to_thread.run_sync(checkpoint, self._path)

    def _require_open(self) -> None:
        if self.closed:
            raise closed(self._url)

    def _require_usable(self) -> None:
        self._require_open()
        if self._disk.failure is not None:
            raise unreachable(self._url, self._disk.failure)


def connect(path: Path, busy_timeout_s: float) -> sqlite3.Connection:
    """Ready for use. Blocks. Its commits wait for no disk, and its statements for no other process: the caller sees to both."""
    connection = sqlite3.connect(
        path, timeout=busy_timeout_s, isolation_level=None, check_same_thread=False, cached_statements=256
    )
    try:
        for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "wal_autocheckpoint = 0", "foreign_keys = ON"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("PRAGMA busy_timeout = 0")
    except BaseException:
        connection.close()
        raise
    return connection


def checkpoint(path: Path) -> None:
    """Moves the log into the database, so far as nobody reads from it. Blocks."""
    with closing(connect(path, 0.0)) as connection:
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        with suppress(sqlite3.OperationalError):  # another process writes
            # The first commit to a log that begins anew waits for the disk: let it be this one, which changes nothing.
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            connection.execute(f"PRAGMA user_version = {version}")


def _rolled_back(connection: sqlite3.Connection) -> bool:
    """Whether the connection can be used again. SQLite ends a transaction by itself when the disk is full."""
    try:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        return True
    except sqlite3.Error:
        connection.close()
        return False


def _close(connections: Iterable[sqlite3.Connection]) -> None:
    for connection in connections:
        connection.close()
