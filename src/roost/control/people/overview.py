"""The whole fleet of a team in one look, and what becomes of it from there on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from roost.contracts.clock import Clock
from roost.contracts.store import Query, Store
from roost.control.fleet.pulses import Pulses, Reading
from roost.control.people.live import Beat, Live, Watch
from roost.domain.access import Principal, sees, within
from roost.domain.activity import Activity, explain
from roost.domain.errors import Gone
from roost.domain.lifecycle import LIVING
from roost.domain.sandbox import Sandbox

_BATCH = 500


@dataclass(frozen=True, slots=True)
class Member:
    """A living sandbox, why it is awake, and how busy it was lately."""

    sandbox: Sandbox
    activity: Activity
    recent: tuple[Reading, ...]


@dataclass(frozen=True, slots=True)
class View:
    """The fleet at one moment. Followed from `cursor` on, nothing is missed."""

    members: tuple[Member, ...]
    cursor: int
    at: float


class Overview:
    def __init__(self, *, store: Store, pulses: Pulses, live: Live, clock: Clock) -> None:
        self._store = store
        self._pulses = pulses
        self._live = live
        self._clock = clock

    async def look(self, principal: Principal) -> View:
        """All living sandboxes that the principal may see, newest first."""
        cursor = await self._store.last_change()  # before the records are read: rather told twice than never
        async with self._store.reading() as reader:
            living = await reader.find(Sandbox, Query(equal=within(principal, "id"), one_of={"state": sorted(LIVING)}))
        now = self._clock.now()
        return View(tuple(self._member(record, now) for record in living), cursor, now)

    def follow(self, principal: Principal, after: int | None) -> AsyncIterator[Sandbox | Beat]:
        """Every record as it changes, and how busy they are, for ever. With the cursor of a look (or the sequence of an event)
        the records come first that changed since, or all of them where that is no longer known."""
        return self._follow(self._live.watch(principal), principal, after)

    async def _follow(self, watch: Watch, principal: Principal, after: int | None) -> AsyncIterator[Sandbox | Beat]:
        if after is not None:
            for record in await self._missed(principal, after):
                yield record
        async for change in watch:
            yield change

    async def _missed(self, principal: Principal, after: int) -> list[Sandbox]:
        missed: dict[str, Sandbox] = {}
        try:
            while changes := await self._store.changes(after, limit=_BATCH):
                after = changes[-1].sequence
                for change in changes:
                    record = change.record
                    if isinstance(record, Sandbox) and sees(principal, record.team, record.id):
                        missed[change.id] = record
        except Gone:
            async with self._store.reading() as reader:
                return await reader.find(Sandbox, Query(equal=within(principal, "id"), one_of={"state": sorted(LIVING)}))
        return list(missed.values())

    def _member(self, record: Sandbox, now: float) -> Member:
        return Member(record, explain(record, self._pulses.signals(record), now), self._pulses.recent(record.id))
