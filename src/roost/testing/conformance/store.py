"""What every Store must do: each promise of `contracts.store`, tried.

A test module subclasses `StoreConformance` and provides the fixture `store`: migrated, empty, closed afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import HealthCheck, given, settings

from roost.contracts.store import EventQuery, Query, Store
from roost.domain.errors import NameTaken, StaleRevision
from roost.domain.ids import KeyId, SnapshotId, TeamId, TemplateId
from roost.domain.lifecycle import State
from roost.domain.sandbox import Sandbox, Size
from roost.domain.team import ApiKey
from roost.domain.template import Template
from roost.testing.conformance.records import TEAM, event, keep, numbers, read, sandbox, two_versions
from roost.testing.conformance.store_changes import ChangeConformance
from roost.testing.conformance.store_queries import EventConformance, FindConformance, UsageConformance


class RecordConformance:
    """get, put, delete: one record at a time."""

    async def test_a_record_comes_back_as_it_was_put_with_revision_one(self, store: Store) -> None:
        [written] = await keep(store, sandbox(1, name="web", metadata={"a": "b"}))
        assert written == sandbox(1, name="web", metadata={"a": "b"}, revision=1)
        assert await read(store, Sandbox, written.id) == written

    @settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(versions=two_versions())
    async def test_every_field_of_every_kind_survives(self, store: Store, versions: tuple[Any, Any]) -> None:
        record, changed = versions
        kind = type(record)
        async with store.transaction() as transaction:
            first = await transaction.put(record, expect_revision=None)
            assert await transaction.get(kind, record.id) == first == replace(record, revision=1)
            second = await transaction.put(changed, expect_revision=1)
        assert await read(store, kind, record.id) == second == replace(changed, revision=2)
        async with store.transaction() as transaction:
            assert await transaction.delete(kind, record.id)

    async def test_what_is_not_there_is_none(self, store: Store) -> None:
        assert await read(store, Sandbox, "i0") is None

    async def test_kinds_do_not_share_ids(self, store: Store) -> None:
        key = ApiKey(KeyId("same"), TEAM, "first", "digest", "abcd", 1.0)
        template = Template(TemplateId("same"), None, "base", SnapshotId("s1"), Size(), "digest", 1.0)
        await keep(store, key, template)
        assert (await read(store, ApiKey, "same")).name == "first"
        assert (await read(store, Template, "same")).team is None

    async def test_put_raises_the_revision_by_one(self, store: Store) -> None:
        [first] = await keep(store, sandbox(1))
        async with store.transaction() as transaction:
            second = await transaction.put(replace(first, state=State.PAUSED), expect_revision=first.revision)
            third = await transaction.put(replace(second, state=State.KILLING), expect_revision=second.revision)
        assert [first.revision, second.revision, third.revision] == [1, 2, 3]
        assert await read(store, Sandbox, first.id) == third

    async def test_put_of_an_existing_id_as_new_is_stale(self, store: Store) -> None:
        [first] = await keep(store, sandbox(1))
        with pytest.raises(StaleRevision, match=first.id):
            await keep(store, sandbox(1, template="other"))
        assert await read(store, Sandbox, first.id) == first

    async def test_put_with_another_revision_is_stale(self, store: Store) -> None:
        [first] = await keep(store, sandbox(1))
        for wrong in (0, 2):
            with pytest.raises(StaleRevision) as caught:
                async with store.transaction() as transaction:
                    await transaction.put(replace(first, template="other"), expect_revision=wrong)
            assert caught.value.facts == {"kind": "sandbox", "id": first.id}
        assert await read(store, Sandbox, first.id) == first

    async def test_put_of_what_is_gone_is_stale(self, store: Store) -> None:
        [first] = await keep(store, sandbox(1))
        async with store.transaction() as transaction:
            assert await transaction.delete(Sandbox, first.id)
        with pytest.raises(StaleRevision):
            async with store.transaction() as transaction:
                await transaction.put(first, expect_revision=first.revision)
        assert await read(store, Sandbox, first.id) is None

    async def test_delete_says_whether_it_was_there_and_may_be_repeated(self, store: Store) -> None:
        await keep(store, sandbox(1), sandbox(2))
        async with store.transaction() as transaction:
            assert await transaction.delete(Sandbox, sandbox(1).id)
            assert not await transaction.delete(Sandbox, sandbox(1).id)
        async with store.transaction() as transaction:
            assert not await transaction.delete(Sandbox, sandbox(1).id)
        assert await numbers(store) == [2]

    async def test_a_big_record(self, store: Store) -> None:
        big = sandbox(1, env={f"KEY_{i}": "ü" * 4096 for i in range(256)}, metadata={"emoji 🦜": "x" * 100_000})
        [written] = await keep(store, big)
        assert await read(store, Sandbox, big.id) == written == replace(big, revision=1)

    async def test_a_living_name_is_taken_within_its_team(self, store: Store) -> None:
        await keep(store, sandbox(1, name="web"))
        with pytest.raises(NameTaken) as caught:
            await keep(store, sandbox(2, name="web"))
        assert caught.value.facts == {"name": "web", "sandbox": sandbox(1).id}
        await keep(store, sandbox(3, name="web", team=TeamId("other")), sandbox(4), sandbox(5))

    async def test_a_name_is_taken_by_renaming_too(self, store: Store) -> None:
        _, second = await keep(store, sandbox(1, name="web"), sandbox(2, name="db"))
        with pytest.raises(NameTaken):
            async with store.transaction() as transaction:
                await transaction.put(replace(second, name="web"), expect_revision=second.revision)
        assert await read(store, Sandbox, second.id) == second

    async def test_a_transaction_goes_on_after_a_taken_name(self, store: Store) -> None:
        await keep(store, sandbox(1, name="web"))
        async with store.transaction() as transaction:
            with pytest.raises(NameTaken):
                await transaction.put(sandbox(2, name="web"), expect_revision=None)
            await transaction.put(sandbox(2, name="web-2"), expect_revision=None)
        assert (await read(store, Sandbox, sandbox(2).id)).name == "web-2"

    async def test_the_dead_give_their_name_back(self, store: Store) -> None:
        [first] = await keep(store, sandbox(1, name="web"))
        async with store.transaction() as transaction:
            await transaction.put(replace(first, state=State.DEAD), expect_revision=first.revision)
            await transaction.put(sandbox(2, name="web"), expect_revision=None)
            await transaction.put(sandbox(3, name="web", state=State.DEAD), expect_revision=None)
        assert await numbers(store, equal={"name": "web"}) == [3, 2, 1]


class TransactionConformance:
    """All of it or none; one after the other; whoever is cancelled leaves nothing."""

    async def test_a_block_that_raises_changes_nothing(self, store: Store) -> None:
        first, second = await keep(store, sandbox(1), sandbox(2))
        with pytest.raises(ZeroDivisionError):
            async with store.transaction() as transaction:
                await transaction.put(replace(first, template="other"), expect_revision=1)
                await transaction.put(sandbox(3), expect_revision=None)
                await transaction.delete(Sandbox, second.id)
                await transaction.append(event(1))
                raise ZeroDivisionError
        assert await read(store, Sandbox, first.id) == first
        assert await numbers(store) == [2, 1]
        assert await store.events(EventQuery()) == []

    async def test_a_reader_waits_for_no_writer_and_sees_what_was_committed(self, store: Store) -> None:
        [first] = await keep(store, sandbox(1))
        async with store.transaction() as transaction:
            later = await transaction.put(replace(first, template="later"), expect_revision=first.revision)
            async with store.reading() as reader:
                assert await reader.get(Sandbox, first.id) == first
        async with store.reading() as reader:
            assert await reader.find(Sandbox, Query(equal={"template": "later"})) == [later]

    async def test_what_need_not_outlive_the_machine_is_there_for_everybody(self, store: Store) -> None:
        async with store.transaction(durable=False) as transaction:
            kept = await transaction.put(sandbox(1), expect_revision=None)
        assert await read(store, Sandbox, kept.id) == kept
        with pytest.raises(ZeroDivisionError):
            async with store.transaction(durable=False) as transaction:
                await transaction.delete(Sandbox, kept.id)
                raise ZeroDivisionError
        assert await read(store, Sandbox, kept.id) == kept

    async def test_of_many_who_expect_one_revision_one_wins(self, store: Store) -> None:
        [first] = await keep(store, sandbox(1))
        outcomes: list[str] = []

        async def contend(number: int) -> None:
            try:
                async with store.transaction() as transaction:
                    await transaction.put(replace(first, template=str(number)), expect_revision=first.revision)
            except StaleRevision:
                outcomes.append("stale")
            else:
                outcomes.append(str(number))

        async with anyio.create_task_group() as tasks:
            for number in range(16):
                tasks.start_soon(contend, number)
        [winner] = [outcome for outcome in outcomes if outcome != "stale"]
        assert len(outcomes) == 16
        final = await read(store, Sandbox, first.id)
        assert (final.template, final.revision) == (winner, 2)

    async def test_of_many_who_create_one_id_one_wins(self, store: Store) -> None:
        won: list[int] = []

        async def contend(number: int) -> None:
            try:
                await keep(store, sandbox(1, template=str(number)))
                won.append(number)
            except StaleRevision:
                pass

        async with anyio.create_task_group() as tasks:
            for number in range(8):
                tasks.start_soon(contend, number)
        assert len(won) == 1
        assert (await read(store, Sandbox, sandbox(1).id)).template == str(won[0])

    async def test_read_then_write_in_one_transaction_loses_no_update(self, store: Store) -> None:
        await keep(store, sandbox(1, incarnation=0))

        async def count() -> None:
            async with store.transaction() as transaction:
                found = await transaction.get(Sandbox, sandbox(1).id)
                assert found is not None
                await anyio.lowlevel.checkpoint()
                await transaction.put(replace(found, incarnation=found.incarnation + 1), expect_revision=found.revision)

        async with anyio.create_task_group() as tasks:
            for _ in range(16):
                tasks.start_soon(count)
        assert (await read(store, Sandbox, sandbox(1).id)).incarnation == 16

    async def test_a_cancelled_block_changes_nothing(self, store: Store) -> None:
        with anyio.CancelScope() as scope:
            async with store.transaction() as transaction:
                await transaction.put(sandbox(1), expect_revision=None)
                await transaction.append(event(1))
                scope.cancel()
                await anyio.lowlevel.checkpoint()
        assert scope.cancelled_caught
        assert await read(store, Sandbox, sandbox(1).id) is None
        assert await store.events(EventQuery()) == []
        await keep(store, sandbox(1))

    async def test_cancelled_anywhere_it_is_all_there_or_not_at_all(self, store: Store) -> None:
        async def write(number: int) -> None:
            async with store.transaction() as transaction:
                await transaction.put(sandbox(number), expect_revision=None)
                await transaction.append(event(number))

        for number in range(40):
            await _cancel_after(number, lambda number=number: write(number))
        kept = await numbers(store, oldest_first=True)
        told = [int(one.at) for one in await store.events(EventQuery(limit=1000))]
        assert kept == told
        await keep(store, sandbox(1000))  # nobody left the writer's turn taken

    async def test_one_that_waits_its_turn_can_be_cancelled(self, store: Store) -> None:
        async with store.transaction() as transaction:
            await transaction.put(sandbox(1), expect_revision=None)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(keep, store, sandbox(2))
                await anyio.lowlevel.checkpoint()
                tasks.cancel_scope.cancel()
        assert await numbers(store) == [1]


class StoreConformance(
    RecordConformance, FindConformance, TransactionConformance, EventConformance, ChangeConformance, UsageConformance
):
    """All of the contract."""

    async def test_migrate_and_close_may_be_called_twice(self, store: Store) -> None:
        [first] = await keep(store, sandbox(1))
        await store.migrate()
        assert await read(store, Sandbox, first.id) == first
        await store.close()
        await store.close()


async def _cancel_after(steps: int, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Starts the work and cancels it after so many turns of the loop."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(work)
        for _ in range(steps):
            await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
