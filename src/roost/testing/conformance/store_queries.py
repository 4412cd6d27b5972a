"""The half of the store's suite that asks: find, events, usage."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from roost.contracts.store import EventQuery, Query, Store
from roost.contracts.usage import UsageLog
from roost.domain.events import Event, EventKind
from roost.domain.ids import SandboxId, SnapshotId, TeamId
from roost.domain.lifecycle import State
from roost.domain.node import Usage
from roost.domain.sandbox import Sandbox
from roost.domain.snapshot import Purpose, Snapshot, SnapshotKind
from roost.testing.conformance.records import TEAM, append, event, keep, numbers, sandbox, snapshot


class FindConformance:
    """find: conditions, order, pages."""

    async def test_newest_first_unless_asked_otherwise_ties_by_id(self, store: Store) -> None:
        await keep(store, sandbox(2, created_at=5.0), sandbox(1, created_at=5.0), sandbox(3, created_at=4.0))
        assert await numbers(store) == [2, 1, 3]
        assert await numbers(store, oldest_first=True) == [3, 1, 2]
        assert await numbers(store, limit=2) == [2, 1]

    async def test_conditions_are_anded(self, store: Store) -> None:
        other = TeamId("other")
        await keep(
            store,
            sandbox(1, state=State.PAUSED, snapshot=SnapshotId("s9")),
            sandbox(2),
            sandbox(3, team=other),
            sandbox(4, state=State.DEAD, reason="killed"),
        )
        assert await numbers(store, equal={"team": TEAM}) == [4, 2, 1]
        assert await numbers(store, equal={"team": TEAM, "state": State.PAUSED}) == [1]
        assert await numbers(store, equal={"snapshot": None}) == [4, 3, 2]
        assert await numbers(store, equal={"snapshot": "s9"}) == [1]
        assert await numbers(store, equal={"team": TEAM}, one_of={"state": [State.RUNNING, State.DEAD]}) == [4, 2]
        assert await numbers(store, one_of={"state": []}) == []
        assert await numbers(store, one_of={"snapshot": ["s9", None]}, equal={"team": TEAM}) == [4, 2, 1]
        assert await numbers(store, created_from=3.0) == [4, 3]
        assert await numbers(store, equal={"team": "nobody"}) == []

    async def test_fields_that_are_seldom_asked_for_can_be(self, store: Store) -> None:
        await keep(store, sandbox(1, reason="killed"), sandbox(2))
        assert await numbers(store, equal={"reason": "killed"}) == [1]
        assert await numbers(store, equal={"reason": None}) == [2]
        assert await numbers(store, equal={"operation": None}) == [2, 1]
        assert await numbers(store, one_of={"workdir": ["/home/user", "/elsewhere"]}) == [2, 1]

    async def test_a_transaction_finds_what_it_wrote(self, store: Store) -> None:
        await keep(store, sandbox(1), sandbox(2))
        async with store.transaction() as transaction:
            await transaction.put(sandbox(3), expect_revision=None)
            await transaction.delete(Sandbox, sandbox(1).id)
            assert [found.id for found in await transaction.find(Sandbox, Query())] == [sandbox(3).id, sandbox(2).id]

    async def test_metadata_every_pair_must_be_there(self, store: Store) -> None:
        await keep(
            store,
            sandbox(1, metadata={"user": "ann", "env": "prod"}),
            sandbox(2, metadata={"user": "ann"}),
            sandbox(3, metadata={"env": "ann"}),
            sandbox(4),
        )
        assert await numbers(store, metadata={"user": "ann"}) == [2, 1]
        assert await numbers(store, metadata={"user": "ann", "env": "prod"}) == [1]
        assert await numbers(store, metadata={"user": "an"}) == []

    @pytest.mark.parametrize("odd", ['quo"te', "it's", "a.b", "$", "[0]", "back\\slash", "%", "ключ", "", "a\nb", "' OR 1=1 --"])
    async def test_metadata_keys_and_values_of_any_spelling(self, store: Store, odd: str) -> None:
        await keep(store, sandbox(1, metadata={odd: odd}), sandbox(2, metadata={odd: "x"}), sandbox(3, metadata={"x": odd}))
        assert await numbers(store, metadata={odd: odd}) == [1]

    async def test_due_is_running_and_past_its_deadline(self, store: Store) -> None:
        await keep(
            store,
            sandbox(1, expires_at=10.0),
            sandbox(2, expires_at=10.5),
            sandbox(3, expires_at=9.0, state=State.PAUSED),
            sandbox(4, expires_at=1.0, state=State.PAUSING),
            sandbox(5),
            sandbox(6, expires_at=2.0),
        )
        assert await numbers(store, due_before=10.0) == [6, 1]
        assert await numbers(store, due_before=1.5) == []

    @pytest.mark.parametrize("oldest_first", [False, True])
    async def test_pages_stay_put_while_rows_come_and_go(self, store: Store, oldest_first: bool) -> None:
        await keep(store, *(sandbox(number, created_at=float(number // 3)) for number in range(10, 30)))
        seen: list[int] = []
        after: tuple[float, str] | None = None
        extra = 100
        while True:
            async with store.transaction() as transaction:
                page = await transaction.find(Sandbox, Query(after=after, limit=4, oldest_first=oldest_first))
                if not page:
                    break
                seen += [int(found.id[1:]) for found in page]
                after = (page[-1].created_at, page[-1].id)
                # Before the place already read: no later page may show these, or lose others to them.
                early = sandbox(extra, created_at=-1.0 if oldest_first else 1000.0)
                await transaction.put(early, expect_revision=None)
                await transaction.delete(Sandbox, page[0].id)
                extra += 1
        assert seen == sorted(range(10, 30), reverse=not oldest_first)

    async def test_snapshots_by_sandbox_and_purpose(self, store: Store) -> None:
        await keep(store, snapshot(1, sandbox="i1"), snapshot(2, sandbox="i1", purpose=Purpose.KEPT), snapshot(3))
        async with store.transaction() as transaction:
            found = await transaction.find(Snapshot, Query(equal={"sandbox": "i1"}))
            assert [one.id for one in found] == ["s2", "s1"]
            [kept] = await transaction.find(Snapshot, Query(one_of={"purpose": [Purpose.KEPT]}))
            assert kept.kind is SnapshotKind.MEMORY
            assert kept.purpose is Purpose.KEPT


class EventConformance:
    """append, events."""

    async def test_sequences_rise_and_events_come_back_in_order(self, store: Store) -> None:
        facts = {"text": "grün", "number": 3, "share": 0.5, "whole": 2.0, "yes": True, "nothing": None}
        written = await append(store, event(1, facts=facts), event(2, sandbox=None))
        assert written[0].sequence < written[1].sequence
        found = await store.events(EventQuery())
        assert found == written
        assert {key: type(value) for key, value in found[0].facts.items()} == {key: type(value) for key, value in facts.items()}

    async def test_conditions(self, store: Store) -> None:
        other = TeamId("other")
        one, two, three, four = await append(
            store,
            event(1),
            event(2, kind=EventKind.DIED),
            event(1, kind=EventKind.PAUSED, team=other),
            event(1, kind=EventKind.WOKE),
        )

        async def found(**conditions: Any) -> list[Event]:
            return await store.events(EventQuery(**conditions))

        assert await found(team=TEAM) == [one, two, four]
        assert await found(sandbox="i1", team=TEAM) == [one, four]
        assert await found(kinds=(EventKind.DIED, EventKind.PAUSED)) == [two, three]
        assert await found(after=two.sequence) == [three, four]
        assert await found(after=one.sequence, before=four.sequence) == [two, three]
        assert await found(newest_first=True, limit=2) == [four, three]
        assert await found(limit=1) == [one]

    async def test_old_events_are_forgotten_and_sequences_go_on(self, store: Store) -> None:
        told = await append(store, *(event(number) for number in range(4)))
        await store.forget_events(2.0)
        left = await store.events(EventQuery())
        assert [(each.sequence, each.at) for each in left] == [(each.sequence, each.at) for each in told[2:]]
        await store.forget_events(9.0)
        assert await store.events(EventQuery()) == []
        (after,) = await append(store, event(10))
        assert after.sequence > told[-1].sequence, "who follows by sequence must not miss it"


class UsageConformance:
    """`contracts.usage`."""

    async def test_samples_come_back_oldest_first_within_bounds(self, store: UsageLog) -> None:
        one, other = SandboxId("i1"), SandboxId("i2")
        samples = [Usage(float(at), at / 3, at * 10**12, 2, 3, 4) for at in (3, 1, 2)]
        await store.add_usage(one, samples)
        await store.add_usage(other, [Usage(2.0, 0, 0, 0, 0, 0)])
        await store.add_usage(one, [])
        assert [sample.at for sample in await store.usage(one, 0, 9, 10)] == [1.0, 2.0, 3.0]
        assert await store.usage(one, 2.0, 3.0, 1) == [samples[2]]
        assert await store.usage(SandboxId("i3"), 0, 9, 10) == []

    async def test_a_repeated_sample_changes_nothing(self, store: UsageLog) -> None:
        first = Usage(1.0, 1.0, 1, 1, 1, 1)
        await store.add_usage(SandboxId("i1"), [first])
        await store.add_usage(SandboxId("i1"), [replace(first, cpu_s=9.0), replace(first, at=2.0)])
        assert await store.usage(SandboxId("i1"), 0, 9, 10) == [first, replace(first, at=2.0)]

    async def test_old_samples_are_forgotten(self, store: UsageLog) -> None:
        await store.add_usage(SandboxId("i1"), [Usage(float(at), 0, 0, 0, 0, 0) for at in range(4)])
        await store.forget_usage(2.0)
        assert [sample.at for sample in await store.usage(SandboxId("i1"), 0, 9, 10)] == [2.0, 3.0]
