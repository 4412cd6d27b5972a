"""The records of all living sandboxes, in memory. Whoever looks at all of them every few seconds does not read them all."""

from __future__ import annotations

from collections.abc import Sequence

from roost.contracts.store import Change, Query, Store
from roost.domain.ids import SandboxId
from roost.domain.lifecycle import LIVING
from roost.domain.sandbox import Sandbox


class LivingSandboxes:
    """Read once, then kept by the feed of changes. Of two versions of a record the newer one wins."""

    def __init__(self, *, store: Store) -> None:
        self._store = store
        self._heard: dict[SandboxId, Sandbox] = {}  # the dead too, until all have been read: a late answer must not revive them
        self._is_read = False

    def hear(self, changes: Sequence[Change]) -> None:
        for change in changes:
            if isinstance(change.record, Sandbox):
                self._put(change.record)

    async def all(self) -> list[Sandbox]:
        """As of now: whatever was committed by this process before, and perhaps more."""
        if not self._is_read:
            async with self._store.reading() as reader:
                for record in await reader.find(Sandbox, Query(one_of={"state": sorted(LIVING)})):
                    self._put(record)
            self._is_read = True
            self._heard = {id: record for id, record in self._heard.items() if record.state in LIVING}
        return list(self._heard.values())

    def _put(self, record: Sandbox) -> None:
        known = self._heard.get(record.id)
        if known is not None and known.revision > record.revision:
            return
        if self._is_read and record.state not in LIVING:
            self._heard.pop(record.id, None)
        else:
            self._heard[record.id] = record
