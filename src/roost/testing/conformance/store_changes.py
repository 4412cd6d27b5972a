"""What every Store must do: the feed of committed changes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import TaskGroup

from roost.contracts.store import Change, Idempotency, Store
from roost.domain.errors import Gone
from roost.domain.events import Event
from roost.domain.lifecycle import State
from roost.domain.sandbox import Sandbox
from roost.testing.conformance.records import event, keep, sandbox


def told(changes: Sequence[Change]) -> list[tuple[type, str, object]]:
    return [(change.kind, change.id, change.record) for change in changes]


class ChangeConformance:
    """changes, last_change, subscribe, forget_changes."""

    async def test_every_record_and_event_is_a_change_in_order_of_commit(self, store: Store) -> None:
        assert await store.changes(0) == []
        start = await store.last_change()
        [first] = await keep(store, sandbox(1))
        async with store.transaction() as transaction:
            happened = await transaction.append(event(1))
            second = await transaction.put(replace(first, state=State.PAUSED), expect_revision=1)
        async with store.transaction() as transaction:
            await transaction.delete(Sandbox, first.id)
        changes = await store.changes(start)
        assert told(changes) == [
            (Sandbox, first.id, first),
            (Event, str(happened.sequence), happened),
            (Sandbox, first.id, second),
            (Sandbox, first.id, None),
        ]
        sequences = [change.sequence for change in changes]
        assert sequences == sorted(set(sequences))
        assert changes[1].sequence == happened.sequence, "whoever follows either follows both"
        assert await store.last_change() == sequences[-1]
        assert await store.changes(sequences[1]) == changes[2:]
        assert await store.changes(start, limit=2) == changes[:2]

    async def test_a_record_written_twice_in_one_transaction_is_told_once(self, store: Store) -> None:
        async with store.transaction() as transaction:
            first = await transaction.put(sandbox(1), expect_revision=None)
            await transaction.put(sandbox(2), expect_revision=None)
            second = await transaction.put(replace(first, state=State.PAUSED), expect_revision=1)
        changes = await store.changes(await store.last_change() - 2)
        assert told(changes) == [(Sandbox, sandbox(2).id, replace(sandbox(2), revision=1)), (Sandbox, first.id, second)]

    async def test_what_is_rolled_back_or_only_read_is_no_change(self, store: Store) -> None:
        heard: list[Change] = []
        store.subscribe(heard.extend)
        before = await store.last_change()
        with pytest.raises(ZeroDivisionError):
            async with store.transaction() as transaction:
                await transaction.put(sandbox(1), expect_revision=None)
                await transaction.append(event(1))
                raise ZeroDivisionError
        async with store.transaction() as transaction:
            assert await transaction.get(Sandbox, sandbox(1).id) is None
            assert not await transaction.delete(Sandbox, sandbox(1).id)
        assert (await store.last_change(), await store.changes(before), heard) == (before, [], [])

    async def test_what_nobody_follows_is_no_change(self, store: Store) -> None:
        before = await store.last_change()
        await keep(store, Idempotency("team/key", "digest", sandbox(1).id, 1.0))
        assert await store.last_change() == before

    async def test_whoever_waits_gets_the_next_commit_and_none_before_it(self, store: Store) -> None:
        found: list[Change] = []
        start = await store.last_change()

        async def follow() -> None:
            found.extend(await store.changes(start, wait=True))

        async with _task_group_that_ends() as tasks:
            tasks.start_soon(follow)
            with pytest.raises(ZeroDivisionError):
                async with store.transaction() as transaction:
                    await transaction.append(event(1))
                    raise ZeroDivisionError
            async with store.transaction() as transaction:
                written = await transaction.append(event(2))
                for _ in range(10):
                    await anyio.lowlevel.checkpoint()
                assert found == []
        assert [change.record for change in found] == [written]
        assert await store.changes(start, wait=True) == found, "and at once when there is one already"

    async def test_a_reader_that_follows_misses_and_repeats_none(self, store: Store) -> None:
        total = 30
        followed: dict[str, list[str]] = {"one": [], "other": []}
        start = await store.last_change()

        async def follow(who: str) -> None:
            position = start
            while len(followed[who]) < total:
                for change in await store.changes(position, wait=True, limit=7):
                    followed[who].append(change.id)
                    position = change.sequence

        async with _task_group_that_ends() as tasks:
            for who in followed:
                tasks.start_soon(follow, who)
            for number in range(total):
                tasks.start_soon(keep, store, sandbox(number))
        assert sorted(followed["one"]) == sorted(sandbox(number).id for number in range(total))
        assert followed["one"] == followed["other"]

    async def test_listeners_know_before_the_block_is_left(self, store: Store) -> None:
        heard: list[Change] = []
        store.subscribe(heard.extend)
        start = await store.last_change()
        async with store.transaction() as transaction:
            written = await transaction.put(sandbox(1), expect_revision=None)
            assert heard == []
        assert told(heard) == [(Sandbox, written.id, written)]
        await keep(store, sandbox(2))
        assert heard == await store.changes(start)

    async def test_changes_too_old_to_follow_are_refused_not_skipped(self, store: Store) -> None:
        start = await store.last_change()
        await keep(store, *(sandbox(number) for number in range(5)))
        last = await store.last_change()
        await store.forget_changes(keep=2)
        assert [change.sequence for change in await store.changes(last - 2)] == [last - 1, last]
        with pytest.raises(Gone):
            await store.changes(start)
        await store.forget_changes(keep=0)
        assert await store.last_change() == last, "numbers are never given twice"
        await keep(store, sandbox(6))
        assert [change.id for change in await store.changes(last)] == [sandbox(6).id]


@asynccontextmanager
async def _task_group_that_ends() -> AsyncIterator[TaskGroup]:
    """A store that forgets to wake those who wait fails the test instead of holding it up."""
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            yield tasks
