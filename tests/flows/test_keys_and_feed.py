from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import anyio
import anyio.lowlevel
import pytest

from roost.contracts.store import EventQuery
from roost.domain import access
from roost.domain.access import Role, Scope
from roost.domain.errors import Conflict, Forbidden, Invalid, NotFound, SandboxNotFound, Unauthenticated
from roost.domain.events import Event, EventKind
from roost.domain.ids import KeyId, TeamId
from roost.domain.team import DEFAULT_TEAM, ApiKey
from tests.flows.world import ME, OPERATOR, PATIENCE_S, STRANGER, TEAM, Ground, Roost

pytestmark = pytest.mark.anyio


async def test_the_first_key_is_made_once_and_shown_once(roost: Roost) -> None:
    kept: list[str] = []
    await roost.keys.ensure_operator(None, kept.append)
    await roost.keys.ensure_operator(None, kept.append)
    [secret] = kept
    assert (await roost.keys.identify(secret)).team == DEFAULT_TEAM
    [key] = [key for key in await roost.keys.list(ME) if key.id != ME.key]
    assert secret not in repr(key) and key.hint == secret[-4:]


async def test_a_first_key_that_could_not_be_kept_is_none(roost: Roost) -> None:
    """The disk was full, or the server killed, before its secret was written down: the next one makes another."""

    def fail(_: str) -> None:
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        await roost.keys.ensure_operator(None, fail)
    kept: list[str] = []
    await roost.keys.ensure_operator(None, kept.append)
    assert (await roost.keys.identify(kept[0])).team == DEFAULT_TEAM


async def test_the_key_that_was_kept_becomes_the_operators(roost: Roost) -> None:
    """In a home of a Roost that knew no scopes: the home's own key operates, others reach as far as before."""
    _, other = await roost.keys.create(ME, "older")
    _, own = await roost.keys.create(ME, "first")
    kept: list[str] = []
    await roost.keys.ensure_operator(own, kept.append)
    await roost.keys.ensure_operator(other, kept.append)
    assert not kept
    assert [str((await roost.keys.identify(secret)).scope) for secret in (own, other)] == ["operator", "full"]


async def test_a_home_whose_own_key_was_revoked_gets_another(roost: Roost) -> None:
    _, secret = await roost.keys.create(ME, "somebody's")
    kept: list[str] = []
    await roost.keys.ensure_operator("e2b_revoked", kept.append)
    assert str((await roost.keys.identify(kept[0])).scope) == "operator"
    assert str((await roost.keys.identify(secret)).scope) == "full"


async def test_nobody_gives_or_takes_more_than_they_have(roost: Roost) -> None:
    boss, _ = await roost.keys.create(OPERATOR, "boss", access.OPERATOR)
    with pytest.raises(Forbidden):
        await roost.keys.create(ME, "more", access.OPERATOR)
    with pytest.raises(Forbidden):
        await roost.keys.revoke(ME, boss.id)
    sandbox = await roost.sandbox()
    for scope in (access.READ_ONLY, Scope(Role.SANDBOX, sandbox.id)):
        key, secret = await roost.keys.create(ME, "less", scope)
        less = await roost.keys.identify(secret)
        assert less.scope == scope
        for work in (roost.keys.create(less, "mine"), roost.keys.list(less), roost.keys.revoke(less, key.id)):
            with pytest.raises(Forbidden):
                await work
    with pytest.raises(SandboxNotFound):
        await roost.keys.create(STRANGER, "theirs", Scope(Role.SANDBOX, sandbox.id))


async def test_the_last_key_of_an_operator_stays(roost: Roost) -> None:
    one, _ = await roost.keys.create(OPERATOR, "one", access.OPERATOR)
    two, _ = await roost.keys.create(OPERATOR, "two", access.OPERATOR)
    await roost.keys.revoke(OPERATOR, one.id)
    with pytest.raises(Conflict, match="last key of an operator"):
        await roost.keys.revoke(OPERATOR, two.id)


async def test_a_revoked_key_opens_nothing_from_then_on(roost: Roost) -> None:
    key, secret = await roost.keys.create(ME, "ci")
    principal = await roost.keys.identify(secret)
    assert (principal.team, principal.key) == (TEAM, key.id)
    await roost.keys.identify(secret)
    with pytest.raises(NotFound):
        await roost.keys.revoke(STRANGER, key.id)
    await roost.keys.revoke(ME, key.id)
    with pytest.raises(Unauthenticated):
        await roost.keys.identify(secret)
    with pytest.raises(NotFound):
        await roost.keys.revoke(ME, key.id)


async def test_whoever_follows_is_told_when_their_key_is_revoked(roost: Roost) -> None:
    key, _ = await roost.keys.create(ME, "anna")
    other, _ = await roost.keys.create(ME, "bob")
    ended: list[str] = []

    async def follow(id: KeyId, name: str) -> None:
        await roost.keys.wait_until_revoked(replace(ME, key=id))
        ended.append(name)

    async def somebody_ended() -> bool:
        return bool(ended)

    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow, key.id, "anna")
            tasks.start_soon(follow, other.id, "bob")
            await anyio.wait_all_tasks_blocked()
            await roost.keys.revoke(ME, other.id)
            await roost.ground.until(somebody_ended)
            await roost.quiet()
            assert ended == ["bob"]
            await roost.keys.revoke(ME, key.id)
        assert ended == ["bob", "anna"]
        await roost.keys.wait_until_revoked(replace(ME, key=key.id))  # One that is gone already is not waited for.


@pytest.mark.parametrize("credential", ["", "e2b_" + "0" * 40, "x" * 10_000, "ключ"])
async def test_what_is_no_key_is_refused(roost: Roost, credential: str) -> None:
    with pytest.raises(Unauthenticated):
        await roost.keys.identify(credential)


async def test_a_key_revoked_while_it_is_looked_up_is_not_remembered(roost: Roost) -> None:
    for number in range(20):
        key, secret = await roost.keys.create(ME, f"k{number}")
        async with anyio.create_task_group() as group:
            group.start_soon(roost.keys.revoke, ME, key.id)
            for _ in range(number % 7):
                await anyio.lowlevel.checkpoint()
            with suppress(Unauthenticated):
                await roost.keys.identify(secret)
            with suppress(Unauthenticated):
                await roost.keys.get(key.id)
        with pytest.raises(Unauthenticated):
            await roost.keys.identify(secret)
        with pytest.raises(Unauthenticated):
            await roost.keys.get(key.id)


async def test_a_key_made_by_somebody_else_works_at_once(roost: Roost) -> None:
    key, secret = await roost.keys.create(ME, "a")
    async with roost.ground.store.transaction() as transaction:
        await transaction.delete(ApiKey, key.id)
    with pytest.raises(Unauthenticated):
        await roost.keys.identify(secret)
    async with roost.ground.store.transaction() as transaction:
        await transaction.put(key, expect_revision=None)
    assert (await roost.keys.identify(secret)).key == key.id
    with pytest.raises(Invalid):
        await roost.keys.create(ME, "")


async def _append(roost: Roost, count: int, team: TeamId = TEAM) -> None:
    for number in range(count):
        async with roost.ground.store.transaction() as transaction:
            await transaction.append(Event(EventKind.UPDATED, team, 1.0, facts={"n": number}))


async def test_the_live_feed_has_no_gap_and_no_double(roost: Roost) -> None:
    start = await roost.events.newest()
    await _append(roost, 150)
    seen: list[int] = []
    enough = anyio.Event()

    async def read() -> None:
        async for event in roost.events.follow(ME, EventQuery(after=start)):
            seen.append(event.sequence)
            if len(seen) == 400:
                enough.set()

    async with anyio.create_task_group() as group:
        group.start_soon(read)
        await _append(roost, 100, TeamId("others"))
        await _append(roost, 250)
        with anyio.fail_after(PATIENCE_S):
            await enough.wait()
        group.cancel_scope.cancel()
    mine = [event.sequence for event in await roost.ground.events() if event.team == TEAM and event.sequence > start]
    assert seen == mine


async def test_a_reader_can_go_on_where_it_left_off(roost: Roost) -> None:
    start = await roost.events.newest()
    await _append(roost, 10)
    events = await roost.events.list(ME, EventQuery(after=start, limit=100))
    followed: list[int] = []
    async for event in roost.events.follow(ME, EventQuery(after=events[4].sequence)):
        followed.append(event.sequence)
        if len(followed) == 5:
            break
    assert followed == [event.sequence for event in events[5:]]
    with pytest.raises(Invalid):
        await roost.events.list(ME, EventQuery(limit=1000))


async def test_the_feed_can_be_about_one_sandbox_and_some_kinds(roost: Roost) -> None:
    first, second = await roost.sandbox(), await roost.sandbox()
    await roost.power.pause(ME, first.id)
    await roost.power.pause(ME, second.id)
    about = await roost.events.list(ME, EventQuery(sandbox=first.id, kinds=(EventKind.PAUSED,)))
    assert [(event.sandbox, event.kind) for event in about] == [(first.id, EventKind.PAUSED)]
    assert await roost.events.list(STRANGER, EventQuery(sandbox=first.id)) == ()


async def test_events_are_forgotten_after_ninety_days_and_followers_go_on(roost: Roost, ground: Ground) -> None:
    await roost.sandbox()
    last = await roost.events.newest()
    ground.clock.advance(89 * 86400)
    await roost.quiet()
    assert await ground.events(EventKind.CREATED)
    ground.clock.advance(2 * 86400)
    await roost.quiet()
    assert not await ground.events(EventKind.CREATED)
    sandbox = await roost.sandbox()
    event = await anext(roost.events.follow(ME, EventQuery(after=last, kinds=(EventKind.CREATED,))))
    assert event.sandbox == sandbox.id and event.sequence > last
