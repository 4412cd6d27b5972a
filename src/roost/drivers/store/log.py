"""The log of changes: what a transaction adds to it, what is read from it, and who is told.

A transaction numbers its events as it appends them and its records when it commits, so that a record written twice is told once.
Numbers are given while no other writer can commit: they become visible in their order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import anyio
import sqlalchemy as sa

from roost.contracts.store import FOLLOWED, Change, Followed, Listener, Record
from roost.domain.errors import Gone
from roost.domain.events import Event
from roost.drivers.store.connections import Connections, Session
from roost.drivers.store.records import EVENT_SHAPE, SHAPES, Shape
from roost.drivers.store.sealing import Seals
from roost.drivers.store.tables import CHANGES

START = "start"
"""Kind of the row that holds the place of everything before the log was kept."""

SHAPES_FOLLOWED: Mapping[type[Any], Shape[Any]] = {kind: SHAPES.get(kind, EVENT_SHAPE) for kind in FOLLOWED}
KINDS: Mapping[str, type[Any]] = {shape.noun: kind for kind, shape in SHAPES_FOLLOWED.items()}

_LAST = sa.select(sa.func.coalesce(sa.func.max(CHANGES.c.sequence), 0))
_ENDS = sa.select(
    sa.select(sa.func.min(CHANGES.c.sequence)).scalar_subquery().label("first"), _LAST.scalar_subquery().label("last")
)
_PAGE = sa.select(CHANGES).where(CHANGES.c.sequence > sa.bindparam("after")).order_by(CHANGES.c.sequence)


class TransactionLog:
    """The changes of one transaction."""

    def __init__(self, session: Session, seals: Seals) -> None:
        self._session = session
        self._seals = seals
        self._events: list[Change] = []
        self._records: dict[tuple[type[Any], str], Record | None] = {}
        self._last: int | None = None  # number that was given
        self.changes: list[Change] = []  # once written

    def note(self, kind: type[Any], id: str, record: Record | None) -> None:
        """The record was written, or deleted."""
        if kind in FOLLOWED:
            self._records.pop((kind, id), None)
            self._records[kind, id] = record

    async def number(self) -> int:
        """The next number of the log. No other writer has it, or can come between."""
        dialect = self._session.dialect
        last = self._last
        if last is None and dialect.order_changes is not None:
            await self._session.run(sa.text(dialect.order_changes))
        if dialect.next_change is not None:
            given = (await self._session.run(sa.text(dialect.next_change))).scalar_one()
        else:
            given = 1 + ((await self._session.run(_LAST)).scalar_one() if last is None else last)
        self._last = given
        return given

    def note_event(self, event: Event) -> None:
        self._events.append(Change(event.sequence, Event, str(event.sequence), event))

    async def write(self) -> None:
        """The last thing a transaction does before it commits."""
        changes = list(self._events)
        for (kind, id), record in self._records.items():
            changes.append(Change(await self.number(), kind, id, record))  # pyright: ignore[reportArgumentType]
        if changes:
            await self._session.run(sa.insert(CHANGES), [_row(change, self._seals) for change in changes])
        self.changes = changes


class ChangeLog:
    """The log as its readers see it."""

    def __init__(self, connections: Connections, seals: Seals) -> None:
        self._connections = connections
        self._seals = seals
        self._listeners: list[Listener] = []
        self._told: int | None = None  # the last change that listeners know; None before the first commit they heard of
        self._news = anyio.Event()

    def subscribe(self, listener: Listener) -> None:
        self._listeners.append(listener)

    async def read(self, after: int, *, wait: bool, limit: int) -> list[Change]:
        while True:
            news = self._news  # taken before looking: what is committed after the look sets it
            async with self._connections.reading() as session:
                ends = (await session.run(_ENDS)).mappings().one()
                first, last = ends["first"], ends["last"]
                if after < last and first > after + 1:
                    message = f"Changes after {after} are no longer kept. Read the records anew."
                    raise Gone("changes_forgotten", message, after=after, oldest=first)
                if after < last:
                    return await _read(session, self._seals, after, limit)
            if not wait:
                return []
            await news.wait()

    async def last(self) -> int:
        async with self._connections.reading() as session:
            return (await session.run(_LAST)).scalar_one()

    async def tell(self, changes: Sequence[Change]) -> None:
        """The changes were committed; nobody else has committed since. What another process committed before, or a commit whose
        caller was gone, is told first."""
        if not changes:
            return
        if self._told is not None and self._listeners and changes[0].sequence > self._told + 1:
            async with self._connections.reading() as session:
                changes = [*await _read(session, self._seals, self._told, None, before=changes[0].sequence), *changes]
        self._told = changes[-1].sequence
        for listener in self._listeners:
            listener(changes)

    def wake(self) -> None:
        """Whoever waits looks again."""
        self._news.set()
        self._news = anyio.Event()

    async def forget(self, keep: int) -> None:
        async with self._connections.writing(durable=False) as session:
            last = (await session.run(_LAST)).scalar_one()
            await session.run(sa.delete(CHANGES).where(CHANGES.c.sequence <= last - max(1, keep)))


def _row(change: Change, seals: Seals) -> dict[str, Any]:
    shape = SHAPES_FOLLOWED[change.kind]
    body = None if change.record is None else shape.dump(change.record, seals)
    return {"sequence": change.sequence, "kind": shape.noun, "record": change.id, "body": body}


async def _read(session: Session, seals: Seals, after: int, limit: int | None, *, before: int | None = None) -> list[Change]:
    page = _PAGE if before is None else _PAGE.where(CHANGES.c.sequence < before)
    result = await session.run(page if limit is None else page.limit(limit), {"after": after})
    changes: list[Change] = []
    for row in result.mappings():
        if row["kind"] != START:
            kind = KINDS[row["kind"]]
            record: Followed | None = None if row["body"] is None else SHAPES_FOLLOWED[kind].load(row["body"], seals)
            changes.append(Change(row["sequence"], kind, row["record"], record))
    return changes
