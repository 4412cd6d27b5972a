"""The log of changes: what a transaction adds to it, what is read from it, and who is told.

A transaction numbers its events as it appends them and its records when it commits, so that a record written twice is told once.
Numbers are given while no other writer can commit: they become visible in their order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import anyio
import sqlalchemy as sa

from roost.contracts.store import FOLLOWED, Change, Followed, Listener, Record
from roost.domain.errors import Gone
from roost.domain.events import Event
from roost.drivers.store.connections import Connections, Session, StatementResult
from roost.drivers.store.records import EVENT_SHAPE, SHAPES, Dumped, Shape
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
_AFTER = sa.select(CHANGES).where(CHANGES.c.sequence > sa.bindparam("after")).order_by(CHANGES.c.sequence)
_PAGE = _AFTER.limit(sa.bindparam("limit", type_=sa.Integer))
_BETWEEN = _AFTER.where(CHANGES.c.sequence < sa.bindparam("before"))
_INSERT = sa.insert(CHANGES)


class TransactionLog:
    """The changes of one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._events: list[_Noted] = []
        self._records: dict[tuple[type[Any], str], tuple[Record, Dumped] | None] = {}  # None: deleted
        self._last: int | None = None  # number that was given
        self.changes: list[Change] = []  # once written

    def note(self, kind: type[Any], id: str, written: tuple[Record, Dumped] | None) -> None:
        """The record was written, or deleted."""
        if kind in FOLLOWED:
            self._records.pop((kind, id), None)
            self._records[kind, id] = written

    async def number(self) -> int:
        """The next number of the log. No other writer has it, or can come between."""
        dialect = self._session.dialect
        last = self._last
        if last is None and dialect.order_changes is not None:
            await self._session.run(sa.text(dialect.order_changes))
        if dialect.next_change is not None:
            given = (await self._session.run(sa.text(dialect.next_change))).value
        else:
            given = 1 + ((await self._session.run(_LAST)).value if last is None else last)
        self._last = given
        return given

    def note_event(self, event: Event, dumped: Dumped) -> None:
        self._events.append(_Noted(Change(event.sequence, Event, str(event.sequence), event), dumped))

    async def write(self) -> None:
        """The last thing a transaction does before it commits."""
        noted = list(self._events)
        for (kind, id), written in self._records.items():
            record, dumped = written or (None, None)
            noted.append(_Noted(Change(await self.number(), kind, id, record), dumped))  # pyright: ignore[reportArgumentType]
        if noted:
            await self._session.run(_INSERT, [each.row() for each in noted])
        self.changes = [each.change for each in noted]


@dataclass(frozen=True, slots=True)
class _Noted:
    """A change, and the record as the database keeps it."""

    change: Change
    body: Dumped | None

    def row(self) -> dict[str, Any]:
        noun = SHAPES_FOLLOWED[self.change.kind].noun
        return {"sequence": self.change.sequence, "kind": noun, "record": self.change.id, "body": self.body}


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
                ends = (await session.run(_ENDS)).rows[0]
                first, last = ends["first"], ends["last"]
                if after < last and first > after + 1:
                    message = f"Changes after {after} are no longer kept. Read the records anew."
                    raise Gone("changes_forgotten", message, after=after, oldest=first)
                if after < last:
                    return _changes(await session.run(_PAGE, {"after": after, "limit": limit}), self._seals)
            if not wait:
                return []
            await news.wait()

    async def last(self) -> int:
        async with self._connections.reading() as session:
            return (await session.run(_LAST)).value

    async def tell(self, changes: Sequence[Change]) -> None:
        """The changes were committed, and those of this process before them were told. What another process committed before, or
        a commit whose caller was gone, is told first."""
        if not changes:
            return
        if self._told is not None and self._listeners and changes[0].sequence > self._told + 1:
            async with self._connections.reading() as session:
                between = {"after": self._told, "before": changes[0].sequence}
                changes = [*_changes(await session.run(_BETWEEN, between), self._seals), *changes]
        self._told = changes[-1].sequence
        for listener in self._listeners:
            listener(changes)

    def wake(self) -> None:
        """Whoever waits looks again."""
        self._news.set()
        self._news = anyio.Event()

    async def forget(self, keep: int) -> None:
        async with self._connections.writing(durable=False) as session:
            last = (await session.run(_LAST)).value
            await session.run(sa.delete(CHANGES).where(CHANGES.c.sequence <= last - max(1, keep)))


def _changes(result: StatementResult, seals: Seals) -> list[Change]:
    changes: list[Change] = []
    for row in result.rows:
        if row["kind"] != START:
            kind = KINDS[row["kind"]]
            record: Followed | None = None if row["body"] is None else SHAPES_FOLLOWED[kind].load(row["body"], seals)
            changes.append(Change(row["sequence"], kind, row["record"], record))
    return changes
