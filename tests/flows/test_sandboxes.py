"""Creating, listing, changing: what is accepted, what is refused, and that nothing is half made."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import anyio
import pytest

from roost.control.sandboxes.requests import CreateSandbox, SandboxChanges, SandboxFilter
from roost.domain.errors import (
    EngineFailed,
    IdempotencyMismatch,
    Invalid,
    NameTaken,
    NodeFull,
    RoostError,
    SandboxDead,
    TemplateNotFound,
    WrongState,
)
from roost.domain.events import EventKind
from roost.domain.ids import TeamId
from roost.domain.lifecycle import State
from roost.domain.sandbox import SizeChange, SleepPolicy
from roost.domain.snapshot import Snapshot
from tests.flows.test_meetings import Asked
from tests.flows.world import ME, Ground, Roost, serving

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("request_", "error", "named"),
    [
        (CreateSandbox(template="nope"), TemplateNotFound, "nope"),
        (CreateSandbox(template="s" + "0" * 20), TemplateNotFound, "s000"),
        (CreateSandbox(name="Not Legal"), Invalid, "Not Legal"),
        (CreateSandbox(name="x" * 64), Invalid, "63"),
        (CreateSandbox(metadata={f"k{i}": "" for i in range(65)}), Invalid, "65"),
        (CreateSandbox(metadata={"k": "x" * 4097}), Invalid, "4097"),
        (CreateSandbox(metadata={"": "x"}), Invalid, "metadata"),
        (CreateSandbox(env={"A=B": "x"}), Invalid, "A=B"),
        (CreateSandbox(env={"A": "x" * 70_000}), Invalid, "70000"),
        (CreateSandbox(policy=SleepPolicy(timeout_s=0)), Invalid, "timeout_s"),
        (CreateSandbox(policy=SleepPolicy(timeout_s=float("nan"))), Invalid, "timeout_s"),
        (CreateSandbox(policy=SleepPolicy(idle_s=-1)), Invalid, "idle_s"),
        (CreateSandbox(policy=SleepPolicy(idle_cpu_share=-0.1)), Invalid, "idle_cpu_share"),
        (CreateSandbox(size=SizeChange(memory_mb=-5)), Invalid, "memory_mb"),
        (CreateSandbox(size=SizeChange(memory_mb=16)), Invalid, "64"),
        (CreateSandbox(size=SizeChange(cpus=10_000)), Invalid, "cpus"),
        (CreateSandbox(size=SizeChange(memory_mb=99_999_999)), Invalid, "memory_mb is 99999999: .* to 4194304"),
        (CreateSandbox(idempotency_key=""), Invalid, "idempotency"),
    ],
)
async def test_a_bad_request_is_refused_by_name_and_makes_nothing(
    roost: Roost, request_: CreateSandbox, error: type[RoostError], named: str
) -> None:
    with pytest.raises(error, match=named):
        await roost.sandboxes.create(ME, request_)
    assert await roost.ground.records() == []
    assert await roost.ground.events(EventKind.CREATED) == []


async def test_a_name_belongs_to_one_living_sandbox_of_a_team(roost: Roost) -> None:
    first = await roost.sandbox(name="web")
    with pytest.raises(NameTaken) as refused:
        await roost.sandbox(name="web")
    assert refused.value.facts["sandbox"] == first.id
    other = await roost.sandboxes.create(replace(ME, team=TeamId("others")), CreateSandbox(name="web"))
    assert other.name == "web"
    second = await roost.sandbox(name="api")
    with pytest.raises(NameTaken):
        await roost.sandboxes.update(ME, second.id, SandboxChanges(name="web"))
    assert len(await roost.ground.records()) == 3


@pytest.mark.parametrize("what", ["memory", "disk"])
async def test_a_full_machine_refuses_and_says_what_is_missing(ground: Ground, what: str) -> None:
    enough = getattr(ground.node, f"{what}_free_bytes")
    setattr(ground.node, f"{what}_free_bytes", 100 * 1024**2)
    async with serving(ground) as roost:
        with pytest.raises(NodeFull, match=what):
            await roost.sandbox()
        assert await ground.records() == []
        setattr(ground.node, f"{what}_free_bytes", enough)
        await roost.sandbox()  # as soon as there is room, not when somebody looks around next


# Idempotency


async def test_the_same_key_gets_the_same_sandbox_also_while_it_is_created(roost: Roost) -> None:
    gate = roost.ground.node.gate("create")
    asked = [Asked(roost, lambda: roost.sandbox(name="web", idempotency_key="k1")) for _ in range(4)]
    await gate.reached.wait()
    gate.open()
    answers = [(await each.done()).answer for each in asked]
    assert len({answer.id for answer in answers}) == 1
    assert {answer.state for answer in answers} == {State.RUNNING}
    assert (await roost.sandbox(name="web", idempotency_key="k1")).id == answers[0].id
    assert len(await roost.ground.records()) == 1


async def test_another_request_under_the_same_key_is_refused(roost: Roost) -> None:
    await roost.sandbox(name="web", idempotency_key="k1")
    with pytest.raises(IdempotencyMismatch, match="k1"):
        await roost.sandbox(name="api", idempotency_key="k1")
    other = replace(ME, team=TeamId("others"))
    assert await roost.sandboxes.create(other, CreateSandbox(idempotency_key="k1")), "another team's keys are its own"


async def test_a_key_whose_create_failed_may_be_used_again(roost: Roost) -> None:
    roost.ground.node.fail("create", EngineFailed("restore", "no"))
    with pytest.raises(EngineFailed):
        await roost.sandbox(idempotency_key="k1")
    assert (await roost.sandbox(idempotency_key="k1")).state is State.RUNNING


async def test_a_key_whose_sandbox_was_killed_says_so(roost: Roost) -> None:
    sandbox = await roost.sandbox(idempotency_key="k1")
    await roost.sandboxes.kill(ME, sandbox.id)
    with pytest.raises(SandboxDead):
        await roost.sandbox(idempotency_key="k1")


async def test_a_key_survives_the_server_and_lasts_a_day(ground: Ground) -> None:
    async with serving(ground) as roost:
        sandbox = await roost.sandbox(idempotency_key="k1")
    async with serving(ground) as roost:
        assert (await roost.sandbox(idempotency_key="k1")).id == sandbox.id
        ground.clock.advance(25 * 3600)

        async def a_new_one() -> bool:
            return (await roost.sandbox(idempotency_key="k1")).id != sandbox.id

        await ground.until(a_new_one)


# Lists


async def test_lists_are_filtered_and_paged_stably(roost: Roost) -> None:
    made = []
    for i in range(12):
        made.append(await roost.sandbox(name=f"n{i}", metadata={"even": str(i % 2 == 0)}))
        roost.ground.clock.advance(1)
    await roost.power.pause(ME, "n3")
    await roost.sandboxes.kill(ME, "n4")

    async def names(wanted: SandboxFilter) -> list[str | None]:
        found, cursor = [], None
        while True:
            page = await roost.sandboxes.list(ME, replace(wanted, cursor=cursor))
            found += [record.name for record in page.items]
            assert len(page.items) <= wanted.limit
            if (cursor := page.next_cursor) is None:
                return found

    everybody = [f"n{i}" for i in range(11, -1, -1) if i != 4]
    assert await names(SandboxFilter(limit=5)) == everybody
    assert await names(SandboxFilter(limit=1, oldest_first=True)) == everybody[::-1]
    assert await names(SandboxFilter(states=(State.PAUSED,))) == ["n3"]
    assert await names(SandboxFilter(states=(State.DEAD,))) == ["n4"]
    assert await names(SandboxFilter(metadata={"even": "True"}, limit=2)) == ["n10", "n8", "n6", "n2", "n0"]
    assert await names(SandboxFilter(name_prefix="n1", limit=2)) == ["n11", "n10", "n1"]
    assert await names(SandboxFilter(template="nope")) == []
    assert await names(SandboxFilter(started_after=made[9].started_at)) == ["n11", "n10"]
    assert await names(SandboxFilter(limit=11)) == everybody


async def test_a_cursor_that_was_touched_or_belongs_elsewhere_is_refused(roost: Roost) -> None:
    for _ in range(3):
        await roost.sandbox()
    cursor = (await roost.sandboxes.list(ME, SandboxFilter(limit=1))).next_cursor
    assert cursor is not None
    for bad in ("", "!!", "e30", cursor[:-6], cursor[:5] + "A" + cursor[6:], cursor * 2):
        with pytest.raises(Invalid, match="cursor"):
            await roost.sandboxes.list(ME, SandboxFilter(limit=1, cursor=bad))
    with pytest.raises(Invalid, match="cursor"):
        await roost.sandboxes.list(ME, SandboxFilter(limit=1, cursor=cursor, oldest_first=True))
    for limit in (0, 101):
        with pytest.raises(Invalid, match="page"):
            await roost.sandboxes.list(ME, SandboxFilter(limit=limit))


# Changes


async def test_changes_are_written_told_and_routed(roost: Roost) -> None:
    sandbox = await roost.sandbox(name="web", metadata={"a": "1"})
    changes = SandboxChanges(name=None, metadata={"b": "2"}, policy=SleepPolicy(timeout_s=30, wake_on_traffic=False))
    changed = await roost.sandboxes.update(ME, "web", changes)
    assert (changed.name, changed.metadata) == (None, {"b": "2"})
    assert changed.expires_at == roost.ground.clock.now() + 30
    route = roost.directory.locate(sandbox.id)
    assert route is not None and not route.wakes
    [event] = await roost.ground.events(EventKind.UPDATED)
    assert event.facts["fields"] == "metadata, name, policy"
    assert await roost.sandboxes.update(ME, sandbox.id, SandboxChanges()) == changed, "nothing mentioned, nothing changed"
    cleared = await roost.sandboxes.update(ME, sandbox.id, SandboxChanges(policy=SleepPolicy()))
    assert cleared.expires_at is None


async def test_the_dead_do_not_change_and_sleepers_have_no_deadline(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    await roost.power.pause(ME, sandbox.id)
    with pytest.raises(WrongState, match="paused"):
        await roost.sandboxes.extend(ME, sandbox.id, 60)
    await roost.sandboxes.kill(ME, sandbox.id)
    with pytest.raises(SandboxDead):
        await roost.sandboxes.update(ME, sandbox.id, SandboxChanges(metadata={}))
    with pytest.raises(SandboxDead):
        await roost.sandboxes.hold(ME, sandbox.id, 60, "why")


async def test_a_change_during_a_move_is_not_undone_by_its_end(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    gate = roost.ground.node.gate("pause")
    paused = Asked(roost, lambda: roost.power.pause(ME, sandbox.id))
    await gate.reached.wait()
    await roost.sandboxes.update(ME, sandbox.id, SandboxChanges(metadata={"new": "yes"}))
    gate.open()
    record = (await paused.done()).answer
    assert (record.state, record.metadata) == (State.PAUSED, {"new": "yes"})


async def test_two_changes_of_a_policy_at_once_are_both_kept(roost: Roost) -> None:
    sandbox = await roost.sandbox()

    async def change(mentioned: Any) -> None:
        changes = SandboxChanges(policy=lambda policy: replace(policy, **mentioned))
        await roost.sandboxes.update(ME, sandbox.id, changes)

    async with anyio.create_task_group() as group:
        for fields in ({"idle_s": 300.0}, {"timeout_s": 600.0}, {"wake_on_traffic": False}):
            group.start_soon(change, fields)
    policy = (await roost.sandboxes.get(ME, sandbox.id)).policy
    assert (policy.idle_s, policy.timeout_s, policy.wake_on_traffic) == (300.0, 600.0, False)


async def test_memory_that_does_not_hold_what_it_starts_from_is_refused(roost: Roost) -> None:
    template = await roost.templates.get(ME, "base")
    async with roost.ground.store.transaction() as transaction:
        entry = await transaction.get(Snapshot, template.snapshot)
        assert entry is not None
        await transaction.put(replace(entry, memory_bytes=300 << 20), expect_revision=entry.revision)
    with pytest.raises(Invalid, match=r"holds 300 already\. Ask for 364"):
        await roost.sandboxes.create(ME, CreateSandbox(size=SizeChange(memory_mb=128)))
    assert (await roost.sandboxes.create(ME, CreateSandbox(size=SizeChange(memory_mb=364)))).size.memory_mb == 364
    assert (await roost.sandboxes.create(ME, CreateSandbox(size=SizeChange(cpus=1)))).size.cpus == 1
