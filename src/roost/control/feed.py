"""Events: those that were, and those that come."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace

from roost.contracts.store import EventQuery, Store
from roost.control.checks import check_limit
from roost.domain.errors import Gone
from roost.domain.events import Event
from roost.domain.ids import TeamId

_BATCH = 100


class Feed:
    def __init__(self, *, store: Store) -> None:
        self._store = store

    async def list(self, team: TeamId, wanted: EventQuery) -> tuple[Event, ...]:
        """The team's events that match. Raises Invalid for a bad limit."""
        check_limit(wanted.limit)
        return tuple(await self._store.events(replace(wanted, team=team)))

    async def newest(self) -> int:
        """Follow from here to see only what comes."""
        return await self._store.last_change()

    async def follow(self, team: TeamId, wanted: EventQuery) -> AsyncIterator[Event]:
        """Every matching event after `wanted.after`, in order, none missing, none twice; waits for more for ever."""
        query = replace(wanted, team=team, newest_first=False, before=None, limit=_BATCH)
        while True:
            position = await self._store.last_change()  # before looking: what comes after the look is a change after this
            events = await self._store.events(query)
            for event in events:
                yield event
            if events:
                query = replace(query, after=events[-1].sequence)
            if len(events) < _BATCH:
                await self._next(query, max(position, query.after))

    async def _next(self, query: EventQuery, position: int) -> None:
        """Returns when there may be another one."""
        with suppress(Gone):  # so much happened at once that it has to be looked up
            while changes := await self._store.changes(position, wait=True):
                if any(isinstance(change.record, Event) and query.wants(change.record) for change in changes):
                    return
                position = changes[-1].sequence
