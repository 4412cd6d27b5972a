"""SqlStore: the Store contract on SQLAlchemy Core."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import anyio
import sqlalchemy as sa

from roost.contracts.store import Change, EventQuery, Listener, Query, R
from roost.domain.errors import Fault, NameTaken, StaleRevision
from roost.domain.events import Event
from roost.domain.ids import SandboxId
from roost.domain.node import Usage
from roost.domain.sandbox import Sandbox
from roost.drivers.store import statements
from roost.drivers.store.connections import Connections, Session, StatementResult
from roost.drivers.store.dialect import SQLITE, dialect_of
from roost.drivers.store.failures import ConstraintViolated, closed
from roost.drivers.store.log import ChangeLog, TransactionLog
from roost.drivers.store.pooled import PooledConnections
from roost.drivers.store.records import EVENT_SHAPE, USAGE_COLUMNS, Shape, shape_of
from roost.drivers.store.schema import upgrade
from roost.drivers.store.sealing import Seals
from roost.drivers.store.sqlite import SqliteConnections

BUSY_TIMEOUT_S = 5.0


def sqlite_url(path: Path) -> sa.URL:
    """The database in this file, made when the store is migrated."""
    return sa.URL.create("sqlite", database=str(path))


class SqlTransaction:
    """See `contracts.store.Transaction`."""

    def __init__(self, session: Session, seals: Seals) -> None:
        self._session = session
        self._seals = seals
        self.log = TransactionLog(session)

    async def get(self, kind: type[R], id: str) -> R | None:
        shape = shape_of(kind)
        rows = (await self._session.run(statements.select_one(shape), {"record_id": id})).rows
        return shape.decode(rows[0], self._seals) if rows else None

    async def find(self, kind: type[R], query: Query) -> list[R]:
        shape = shape_of(kind)
        result = await self._session.run(*statements.select_page(shape, query, self._session.dialect))
        return [shape.decode(row, self._seals) for row in result.rows]

    async def put(self, record: R, *, expect_revision: int | None) -> R:
        shape = shape_of(type(record))
        written = replace(record, revision=1 if expect_revision is None else expect_revision + 1)
        dumped = shape.dump(written, self._seals)
        values = shape.row(dumped)
        if expect_revision is None:
            statement = statements.insert_record(shape, self._session.dialect)
        else:
            statement = statements.update_record(shape)
            values |= {"record_id": values.pop("id"), "expected_revision": expect_revision}
        result = await self._write(shape, written, statement, values)
        if result.rowcount != 1:
            raise StaleRevision(shape.noun, record.id)
        self.log.note(type(record), record.id, (written, dumped))
        return written

    async def delete(self, kind: type[R], id: str) -> bool:
        result = await self._session.run(statements.delete_record(shape_of(kind)), {"record_id": id})
        found = result.rowcount == 1
        if found:
            self.log.note(kind, id, None)
        return found

    async def append(self, event: Event) -> Event:
        kept = replace(event, sequence=await self.log.number())
        dumped = EVENT_SHAPE.dump(kept, self._seals)
        await self._session.run(statements.INSERT_EVENT, EVENT_SHAPE.row(dumped))
        self.log.note_event(kept, dumped)
        return kept

    async def _write(
        self, shape: Shape[Any], record: object, statement: sa.Executable, values: dict[str, Any]
    ) -> StatementResult:
        named = isinstance(record, Sandbox) and record.name is not None
        try:
            return await (self._session.run_savepoint if named else self._session.run)(statement, values)
        except ConstraintViolated as error:
            if isinstance(record, Sandbox) and record.name is not None:
                wanted = {"team": record.team, "name": record.name}
                holder = (await self._session.run(statements.HOLDER_OF_NAME, wanted)).value
                if holder is not None:
                    raise NameTaken(record.name, holder) from error
            raise Fault(
                "record_refused",
                f"The database refused this {shape.noun}: {error}. This is a mistake in Roost; please report it.",
                kind=shape.noun,
            ) from error


class SqlStore:
    """See `contracts.store.Store` and `contracts.usage.UsageLog`. Nothing is opened before the first use; `migrate` comes first.

    Writers take turns in the order they came, within this process by a lock and between processes by the database's.
    Who waits for changes is woken by the commits of this process.
    """

    def __init__(self, url: sa.URL | str, *, seals: Seals, busy_timeout_s: float = BUSY_TIMEOUT_S) -> None:
        self._url = sa.make_url(url)
        self._seals = seals
        self._dialect = dialect_of(self._url)
        self._busy_timeout_s = busy_timeout_s
        kind = SqliteConnections if self._dialect is SQLITE else PooledConnections
        self._connections: Connections = kind(self._url, self._dialect, busy_timeout_s)
        self._changes = ChangeLog(self._connections, seals)

    @asynccontextmanager
    async def transaction(self, *, durable: bool = True) -> AsyncIterator[SqlTransaction]:
        transaction: SqlTransaction | None = None

        async def tell() -> None:
            if transaction is not None:
                await self._changes.tell(transaction.log.changes)

        try:
            async with self._connections.writing(durable=durable, then=tell) as session:
                transaction = SqlTransaction(session, self._seals)
                yield transaction
                await transaction.log.write()
        finally:
            # Also when the block raised: the commit of a cancelled caller may have happened. Those who wait look for themselves.
            if transaction is not None and transaction.log.changes:
                self._changes.wake()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[SqlTransaction]:
        async with self._connections.reading() as session:
            yield SqlTransaction(session, self._seals)

    async def events(self, query: EventQuery) -> list[Event]:
        async with self._connections.reading() as session:
            result = await session.run(*statements.select_events(query))
            return [EVENT_SHAPE.decode(row, self._seals) for row in result.rows]

    async def changes(self, after: int, *, wait: bool = False, limit: int = 100) -> list[Change]:
        return await self._changes.read(after, wait=wait, limit=limit)

    async def last_change(self) -> int:
        return await self._changes.last()

    def subscribe(self, listener: Listener) -> None:
        self._changes.subscribe(listener)

    async def add_usage(self, sandbox: SandboxId, samples: Sequence[Usage]) -> None:
        if not samples:
            return
        rows = [{"sandbox": sandbox} | asdict(sample) for sample in samples]
        async with self._connections.writing(durable=False) as session:
            await session.run(statements.insert_usage(self._dialect), rows)

    async def usage(self, sandbox: SandboxId, start: float, end: float, limit: int) -> list[Usage]:
        async with self._connections.reading() as session:
            wanted = {"sandbox": sandbox, "start": start, "end": end, "limit": limit}
            result = await session.run(statements.SELECT_USAGE, wanted)
            return [Usage(**{name: row[name] for name in USAGE_COLUMNS}) for row in result.rows]

    async def forget_usage(self, before: float) -> None:
        async with self._connections.writing(durable=False) as session:
            await session.run(statements.DELETE_USAGE, {"before": before})

    async def forget_events(self, before: float) -> None:
        async with self._connections.writing(durable=False) as session:
            await session.run(statements.DELETE_EVENTS, {"before": before})

    async def forget_changes(self, keep: int) -> None:
        await self._changes.forget(keep)

    async def migrate(self) -> None:
        if self._connections.closed:
            raise closed(self._url)
        await anyio.to_thread.run_sync(upgrade, self._url, self._dialect, self._seals, self._busy_timeout_s)

    async def close(self) -> None:
        await self._connections.close()
        self._changes.wake()  # those who wait for a change learn that none will come
