"""Events: those that were, and those that come."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

from roost.contracts.store import EventQuery, Store
from roost.control.checks import check_limit
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
        """The sequence of the last event there is; 0 before the first. Follow from here to see only what comes."""
        last = await self._store.events(EventQuery(newest_first=True, limit=1))
        return last[0].sequence if last else 0

    async def follow(self, team: TeamId, wanted: EventQuery) -> AsyncIterator[Event]:
        """Every matching event after `wanted.after`, in order, none missing, none twice; waits for more for ever."""
        query = replace(wanted, team=team, newest_first=False, before=None, limit=_BATCH)
        seen = 0
        while True:
            events = await self._store.events(query)
            for event in events:
                yield event
            if len(events) == _BATCH:
                query = replace(query, after=events[-1].sequence)
                continue
            # All that was there when `seen` was told has been read: go on behind it, also past others' events.
            query = replace(query, after=max(query.after, seen, events[-1].sequence if events else 0))
            seen = await self._store.wait_for_event(query.after)
