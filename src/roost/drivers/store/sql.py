"""SqlStore: the Store contract on SQLAlchemy Core."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import anyio
import sqlalchemy as sa
from sqlalchemy import exc

from roost.contracts.store import EventQuery, Query, R
from roost.domain.errors import Fault, NameTaken, StaleRevision
from roost.domain.events import Event
from roost.domain.ids import SandboxId
from roost.domain.node import Usage
from roost.domain.sandbox import Sandbox
from roost.drivers.store import statements
from roost.drivers.store.connections import Connections, Session
from roost.drivers.store.dialect import dialect_of
from roost.drivers.store.failures import closed
from roost.drivers.store.records import EVENT_SHAPE, USAGE_COLUMNS, Shape, shape_of
from roost.drivers.store.schema import upgrade
from roost.drivers.store.tables import EVENTS, USAGE

BUSY_TIMEOUT_S = 5.0


def sqlite_url(path: Path) -> sa.URL:
    """The database in this file, made when the store is migrated."""
    return sa.URL.create("sqlite+aiosqlite", database=str(path))


class SqlTransaction:
    """See `contracts.store.Transaction`."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.appended = False

    async def get(self, kind: type[R], id: str) -> R | None:
        shape = shape_of(kind)
        result = await self._session.run(statements.select_one(shape), {"record_id": id})
        row = result.mappings().first()
        return None if row is None else shape.decode(row)

    async def find(self, kind: type[R], query: Query) -> list[R]:
        shape = shape_of(kind)
        result = await self._session.run(statements.select_page(shape, query, self._session.dialect))
        return [shape.decode(row) for row in result.mappings()]

    async def put(self, record: R, *, expect_revision: int | None) -> R:
        shape = shape_of(type(record))
        written = replace(record, revision=1 if expect_revision is None else expect_revision + 1)
        if expect_revision is None:
            statement, values = statements.insert_record(shape, self._session.dialect), shape.encode(written)
        else:
            statement = statements.update_record(shape)
            values = shape.encode(written) | {"record_id": record.id, "expected_revision": expect_revision}
            del values["id"]
        result = await self._write(shape, written, statement, values)
        if result.rowcount != 1:
            raise StaleRevision(shape.noun, record.id)
        return written

    async def delete(self, kind: type[R], id: str) -> bool:
        result = await self._session.run(statements.delete_record(shape_of(kind)), {"record_id": id})
        return result.rowcount == 1

    async def append(self, event: Event) -> Event:
        if self._session.dialect.order_events is not None:
            await self._session.run(sa.text(self._session.dialect.order_events))
        row = EVENT_SHAPE.encode(event)
        del row["sequence"]
        result = await self._session.run(sa.insert(EVENTS).returning(EVENTS.c.sequence), row)
        self.appended = True
        return replace(event, sequence=result.scalar_one())

    async def _write(
        self, shape: Shape[Any], record: object, statement: sa.Executable, values: dict[str, Any]
    ) -> sa.CursorResult[Any]:
        run = self._session.run
        if isinstance(record, Sandbox) and record.name is not None:
            run = self._session.run_savepoint
        try:
            return await run(statement, values)
        except exc.IntegrityError as error:
            if isinstance(record, Sandbox) and record.name is not None:
                wanted = {"team": record.team, "name": record.name}
                holder = (await self._session.run(statements.HOLDER_OF_NAME, wanted)).scalar()
                if holder is not None:
                    raise NameTaken(record.name, holder) from error
            raise Fault(
                "record_refused",
                f"The database refused this {shape.noun}: {error.orig}. This is a mistake in Roost; please report it.",
                kind=shape.noun,
            ) from error


class SqlStore:
    """See `contracts.store.Store`. Nothing is opened before the first use; `migrate` comes first.

    Writers take turns in the order they came, within this process by a lock and between processes by the database's.
    `wait_for_event` is woken by the commits of this process.
    """

    def __init__(self, url: sa.URL | str, *, busy_timeout_s: float = BUSY_TIMEOUT_S) -> None:
        self._url = sa.make_url(url)
        self._dialect = dialect_of(self._url)
        self._busy_timeout_s = busy_timeout_s
        self._connections = Connections(self._url, self._dialect, busy_timeout_s)
        self._news = anyio.Event()

    @asynccontextmanager
    async def transaction(self, *, durable: bool = True) -> AsyncIterator[SqlTransaction]:
        transaction: SqlTransaction | None = None
        try:
            async with self._connections.writing(durable=durable) as session:
                transaction = SqlTransaction(session)
                yield transaction
        finally:
            # Also when the block raised: the commit of a cancelled caller may have happened. Those who wait look for themselves.
            if transaction is not None and transaction.appended:
                self._announce()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[SqlTransaction]:
        async with self._connections.reading() as session:
            yield SqlTransaction(session)

    async def events(self, query: EventQuery) -> list[Event]:
        async with self._connections.reading() as session:
            result = await session.run(statements.select_events(query))
            return [EVENT_SHAPE.decode(row) for row in result.mappings()]

    async def wait_for_event(self, after: int) -> int:
        while True:
            news = self._news  # taken before looking: what is committed after the look sets it
            async with self._connections.reading() as session:
                newest = (await session.run(statements.NEWEST_SEQUENCE)).scalar_one()
            if newest > after:
                return newest
            await news.wait()

    async def add_usage(self, sandbox: SandboxId, samples: Sequence[Usage]) -> None:
        if not samples:
            return
        rows = [{"sandbox": sandbox} | asdict(sample) for sample in samples]
        async with self._connections.writing(durable=False) as session:
            await session.run(self._dialect.insert_or_skip(USAGE), rows)

    async def usage(self, sandbox: SandboxId, start: float, end: float, limit: int) -> list[Usage]:
        async with self._connections.reading() as session:
            result = await session.run(statements.select_usage(sandbox, start, end, limit))
            return [Usage(**{name: row[name] for name in USAGE_COLUMNS}) for row in result.mappings()]

    async def forget_usage(self, before: float) -> None:
        async with self._connections.writing(durable=False) as session:
            await session.run(sa.delete(USAGE).where(USAGE.c.at < before))

    async def forget_events(self, before: float) -> None:
        async with self._connections.writing(durable=False) as session:
            await session.run(sa.delete(EVENTS).where(EVENTS.c.at < before))

    async def migrate(self) -> None:
        if self._connections.closed:
            raise closed(self._url)
        await anyio.to_thread.run_sync(upgrade, self._url, self._dialect, self._busy_timeout_s)

    async def close(self) -> None:
        await self._connections.close()
        self._announce()  # those who wait for an event learn that none will come

    def _announce(self) -> None:
        self._news.set()
        self._news = anyio.Event()
