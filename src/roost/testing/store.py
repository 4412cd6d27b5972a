"""The store contract in memory. Passes the conformance suite of the SQL driver; keeps nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import anyio.lowlevel

from roost.contracts.store import FOLLOWED, Change, EventQuery, Listener, Query, R, Record
from roost.domain.errors import Gone, NameTaken, StaleRevision
from roost.domain.events import Event
from roost.domain.ids import SandboxId
from roost.domain.lifecycle import LIVING, State
from roost.domain.node import Usage
from roost.domain.sandbox import Sandbox

Key = tuple[type, str]


class MemoryStore:
    def __init__(self) -> None:
        self._records: dict[Key, Record] = {}
        self._events: list[Event] = []
        self._changes: list[Change] = []
        self._last_change = 0
        self._listeners: list[Listener] = []
        self._usage: dict[SandboxId, dict[float, Usage]] = {}
        self._writer = anyio.Lock()
        self._news = anyio.Event()

    def transaction(self, *, durable: bool = True) -> AbstractAsyncContextManager[MemoryTransaction]:
        return self._transaction()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[MemoryTransaction]:
        yield MemoryTransaction(dict(self._records), self._last_change)

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[MemoryTransaction]:
        async with self._writer:
            transaction = MemoryTransaction(self._records, self._last_change)
            yield transaction
            changes = transaction.apply()
            self._events.extend(transaction.appended)
            if changes:
                self._last_change = changes[-1].sequence
                self._changes.extend(changes)
                for listener in self._listeners:
                    listener(changes)
                self._news.set()
                self._news = anyio.Event()

    async def events(self, query: EventQuery) -> list[Event]:
        await anyio.lowlevel.checkpoint()
        found = [event for event in self._events if query.wants(event)]
        if query.newest_first:
            found.reverse()
        return found[: query.limit]

    async def changes(self, after: int, *, wait: bool = False, limit: int = 100) -> list[Change]:
        await anyio.lowlevel.checkpoint()
        while wait and self._last_change <= after:
            await self._news.wait()
        if after < self._last_change and self._changes[0].sequence > after + 1:
            raise Gone("changes_forgotten", f"Changes after {after} are no longer kept. Read the records anew.", after=after)
        return [change for change in self._changes if change.sequence > after][:limit]

    async def last_change(self) -> int:
        await anyio.lowlevel.checkpoint()
        return self._last_change

    def subscribe(self, listener: Listener) -> None:
        self._listeners.append(listener)

    async def add_usage(self, sandbox: SandboxId, samples: Sequence[Usage]) -> None:
        await anyio.lowlevel.checkpoint()
        kept = self._usage.setdefault(sandbox, {})
        for sample in samples:
            kept.setdefault(sample.at, sample)

    async def usage(self, sandbox: SandboxId, start: float, end: float, limit: int) -> list[Usage]:
        await anyio.lowlevel.checkpoint()
        kept = self._usage.get(sandbox, {})
        return [kept[at] for at in sorted(kept) if start <= at <= end][:limit]

    async def forget_usage(self, before: float) -> None:
        await anyio.lowlevel.checkpoint()
        for sandbox, kept in list(self._usage.items()):
            self._usage[sandbox] = {at: sample for at, sample in kept.items() if at >= before}

    async def forget_events(self, before: float) -> None:
        await anyio.lowlevel.checkpoint()
        self._events = [event for event in self._events if event.at >= before]

    async def forget_changes(self, keep: int) -> None:
        await anyio.lowlevel.checkpoint()
        self._changes = self._changes[-max(1, keep) :]

    async def migrate(self) -> None:
        await anyio.lowlevel.checkpoint()

    async def close(self) -> None:
        await anyio.lowlevel.checkpoint()


class MemoryTransaction:
    """Writes are kept aside until the block ends well."""

    def __init__(self, records: dict[Key, Record], last_change: int) -> None:
        self._records = records
        self._written: dict[Key, Record | None] = {}
        self._next = last_change + 1
        self.appended: list[Event] = []

    async def get(self, kind: type[R], id: str) -> R | None:
        await anyio.lowlevel.checkpoint()
        return self._get(kind, id)

    async def find(self, kind: type[R], query: Query) -> list[R]:
        await anyio.lowlevel.checkpoint()
        found = [record for record in self._all(kind) if _matches(record, query)]
        found.sort(key=lambda record: (record.created_at, record.id), reverse=not query.oldest_first)
        return found[: query.limit]

    async def put(self, record: R, *, expect_revision: int | None) -> R:
        await anyio.lowlevel.checkpoint()
        kind = type(record)
        stored = self._get(kind, record.id)
        if (stored.revision if stored else None) != expect_revision:
            raise StaleRevision(kind.__name__.lower(), record.id)
        if isinstance(record, Sandbox):
            self._check_name(record)
        written = replace(record, revision=(stored.revision if stored else 0) + 1)
        self._written.pop((kind, record.id), None)
        self._written[kind, record.id] = written
        return written

    async def delete(self, kind: type[R], id: str) -> bool:
        await anyio.lowlevel.checkpoint()
        if self._get(kind, id) is None:
            return False
        self._written[kind, id] = None
        return True

    async def append(self, event: Event) -> Event:
        await anyio.lowlevel.checkpoint()
        kept = replace(event, sequence=self._next)
        self._next += 1
        self.appended.append(kept)
        return kept

    def apply(self) -> list[Change]:
        changes = [Change(event.sequence, Event, str(event.sequence), event) for event in self.appended]
        for key, record in self._written.items():
            if key[0] in FOLLOWED:
                changes.append(Change(self._next, key[0], key[1], record))  # pyright: ignore[reportArgumentType]
                self._next += 1
            if record is None:
                self._records.pop(key, None)
            else:
                self._records[key] = record
        return changes

    def _get(self, kind: type[R], id: str) -> R | None:
        key = (kind, id)
        record = self._written[key] if key in self._written else self._records.get(key)
        return record if isinstance(record, kind) else None

    def _all(self, kind: type[R]) -> list[R]:
        merged = {**self._records, **self._written}
        return [record for (stored_kind, _), record in merged.items() if stored_kind is kind and isinstance(record, kind)]

    def _check_name(self, record: Sandbox) -> None:
        if record.name is None or record.state not in LIVING:
            return
        for other in self._all(Sandbox):
            same = (other.team, other.name) == (record.team, record.name)
            if same and other.id != record.id and other.state in LIVING:
                raise NameTaken(record.name, other.id)


def _matches(record: Any, query: Query) -> bool:
    position = (record.created_at, record.id)
    if query.after is not None and not (position > query.after if query.oldest_first else position < query.after):
        return False
    if query.created_from is not None and record.created_at < query.created_from:
        return False
    if query.due_before is not None:
        due = record.expires_at is not None and record.expires_at <= query.due_before
        if not (due and record.state is State.RUNNING):
            return False
    return (
        all(getattr(record, field) == value for field, value in query.equal.items())
        and all(getattr(record, field) in values for field, values in query.one_of.items())
        and all(record.metadata.get(key) == value for key, value in query.metadata.items())
    )
