"""Events: those that were, and those that come."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace

from roost.contracts.store import EventQuery, Store
from roost.control.sandboxes.checks import check_limit
from roost.domain.access import Principal
from roost.domain.errors import Gone
from roost.domain.events import Event
from roost.domain.ids import SandboxId

_BATCH = 100


class EventLog:
    def __init__(self, *, store: Store) -> None:
        self._store = store

    async def list(self, principal: Principal, wanted: EventQuery) -> tuple[Event, ...]:
        """Events that match and that the principal may see. Raises Invalid for a bad limit."""
        check_limit(wanted.limit)
        return tuple(await self._store.events(_theirs(principal, wanted)))

    async def newest(self) -> int:
        """Follow from here to see only what comes."""
        return await self._store.last_change()

    async def follow(self, principal: Principal, wanted: EventQuery) -> AsyncIterator[Event]:
        """Every matching event after `wanted.after`, in order, none missing, none twice; waits for more for ever."""
        query = replace(_theirs(principal, wanted), newest_first=False, before=None, limit=_BATCH)
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


def _theirs(principal: Principal, wanted: EventQuery) -> EventQuery:
    """Who is there for one sandbox sees its events alone: those of any other look like none."""
    only = principal.scope.sandbox
    sandbox = wanted.sandbox if only is None or wanted.sandbox == only else only if wanted.sandbox is None else SandboxId("")
    return replace(wanted, team=principal.team, sandbox=sandbox)
