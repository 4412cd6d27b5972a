"""What changes, as it changes, for people who look: records, and how busy the sandboxes are. In memory; one sampler for all.

Records come from the feed of changes, figures from the keeper's look at the meters. Each
watcher has what it has not read yet merged by sandbox, so a slow one costs no more than a fast one and ends up with the newest.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from weakref import WeakSet

import anyio

from roost.contracts.clock import Clock
from roost.contracts.store import Change
from roost.control.fleet.pulses import Pulses, Reading
from roost.domain.access import Principal, sees
from roost.domain.ids import SandboxId, TeamId
from roost.domain.lifecycle import State
from roost.domain.sandbox import Sandbox

BEAT_S = 10.0
LEAST_SHARE = 0.02  # of a core
LEAST_BYTES = 4 << 20
LEAST_PART = 0.05  # of the memory it used before


@dataclass(frozen=True, slots=True)
class Beat:
    """How busy sandboxes are that are noticeably busier, or less so, than was last told."""

    readings: Mapping[SandboxId, Reading]
    dozing: Mapping[SandboxId, bool]  # sleepers that began to doze, or no longer do


class Live:
    """Written by the feed of changes (`hear`) and the keeper (`beat`); never blocks."""

    def __init__(self, *, clock: Clock, pulses: Pulses) -> None:
        self._clock = clock
        self._pulses = pulses
        self._watches: WeakSet[Watch] = WeakSet()
        self._told: dict[SandboxId, Reading] = {}
        self._told_dozing: frozenset[SandboxId] = frozenset()
        self._next_beat_at = 0.0

    def hear(self, changes: Sequence[Change]) -> None:
        for change in changes:
            if isinstance(change.record, Sandbox):
                for watch in self._watches:
                    watch.add_record(change.record)

    def beat(self, living: Sequence[Sandbox]) -> None:
        """The meters were read. Told to the watchers every ten seconds at most; who began to doze at once."""
        self._tell_dozing(living)
        now = self._clock.now()
        if now < self._next_beat_at:
            return
        self._next_beat_at = now + BEAT_S
        running = {record.id: record.team for record in living if record.state is State.RUNNING}
        for sandbox in self._told.keys() - running.keys():
            del self._told[sandbox]
        for sandbox, team in running.items():
            recent = self._pulses.recent(sandbox)
            if recent and is_noticeable(self._told.get(sandbox), recent[-1]):
                self._told[sandbox] = recent[-1]
                for watch in self._watches:
                    watch.add_reading(team, sandbox, recent[-1])

    def _tell_dozing(self, living: Iterable[Sandbox]) -> None:
        before, self._told_dozing = self._told_dozing, self._pulses.dozing
        changed = before ^ self._told_dozing
        if changed:
            for record in living:
                if record.id in changed:
                    for watch in self._watches:
                        watch.add_dozing(record.team, record.id, record.id in self._told_dozing)

    def watch(self, principal: Principal) -> Watch:
        """Everything of theirs that changes from now on."""
        watch = Watch(principal)
        self._watches.add(watch)
        return watch


class Watch:
    """For one reader."""

    def __init__(self, principal: Principal) -> None:
        self._principal = principal
        self._records: dict[SandboxId, Sandbox] = {}
        self._readings: dict[SandboxId, Reading] = {}
        self._dozing: dict[SandboxId, bool] = {}
        self._news = anyio.Event()

    def add_record(self, record: Sandbox) -> None:
        if sees(self._principal, record.team, record.id):
            self._records.pop(record.id, None)
            self._records[record.id] = record
            self._news.set()

    def add_reading(self, team: TeamId, sandbox: SandboxId, reading: Reading) -> None:
        if sees(self._principal, team, sandbox):
            self._readings[sandbox] = reading
            self._news.set()

    def add_dozing(self, team: TeamId, sandbox: SandboxId, dozing: bool) -> None:
        if sees(self._principal, team, sandbox):
            self._dozing[sandbox] = dozing
            self._news.set()

    def __aiter__(self) -> AsyncIterator[Sandbox | Beat]:
        return self

    async def __anext__(self) -> Sandbox | Beat:
        while not self._records and not self._readings and not self._dozing:
            self._news = anyio.Event()
            await self._news.wait()
        if self._records:
            return self._records.pop(next(iter(self._records)))
        beat, self._readings, self._dozing = Beat(self._readings, self._dozing), {}, {}
        return beat


def is_noticeable(told: Reading | None, reading: Reading) -> bool:
    """Whether a person would see the difference in a curve."""
    if told is None:
        return True
    moved_bytes = abs(reading.memory_bytes - told.memory_bytes)
    return abs(reading.cpu_share - told.cpu_share) >= LEAST_SHARE or moved_bytes >= max(
        LEAST_BYTES, told.memory_bytes * LEAST_PART
    )
