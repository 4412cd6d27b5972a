from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from roost.contracts.store import Change
from roost.control.fleet.living import LivingSandboxes
from roost.domain.lifecycle import State
from roost.domain.sandbox import Sandbox
from roost.testing.conformance.records import sandbox
from roost.testing.store import MemoryStore, MemoryTransaction

pytestmark = pytest.mark.anyio


async def put(store: MemoryStore, record: Sandbox) -> Sandbox:
    async with store.transaction() as transaction:
        return await transaction.put(record, expect_revision=record.revision or None)


def following(store: MemoryStore) -> LivingSandboxes:
    living = LivingSandboxes(store=store)
    store.subscribe(living.hear)
    return living


async def states(living: LivingSandboxes) -> dict[str, State]:
    return {record.id: record.state for record in await living.all()}


async def test_all_that_live_are_known_and_none_of_the_dead() -> None:
    store = MemoryStore()
    old = await put(store, sandbox(1, state=State.PAUSED))
    await put(store, sandbox(2, state=State.DEAD))
    living = following(store)
    new = await put(store, sandbox(3, state=State.RUNNING))
    assert await states(living) == {old.id: State.PAUSED, new.id: State.RUNNING}
    await put(store, replace(old, state=State.RESUMING))
    await put(store, replace(new, state=State.DEAD))
    assert await states(living) == {old.id: State.RESUMING}


class Late(MemoryStore):
    """Something is committed after the records were read and before whoever reads them has them."""

    living: LivingSandboxes
    meanwhile: Sandbox

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[MemoryTransaction]:
        async with super().reading() as reader:
            self.living.hear([Change(9, Sandbox, self.meanwhile.id, self.meanwhile)])
            yield reader


async def test_what_died_while_it_was_read_stays_dead() -> None:
    store = Late()
    record = await put(store, sandbox(1, state=State.RUNNING))
    store.living, store.meanwhile = LivingSandboxes(store=store), replace(record, state=State.DEAD, revision=record.revision + 1)
    assert await states(store.living) == {}
