"""Tokens are given, rotated and taken back; a server that dies in between leaves none of a revoked key's alive."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from roost.contracts.store import Query
from roost.domain import access
from roost.domain.access import Principal, Role, Scope
from roost.domain.errors import GuestUnreachable, SandboxDead, SandboxNotFound, Unauthenticated
from roost.domain.events import EventKind
from roost.domain.ids import SandboxId
from roost.domain.link import Link, LinkMode
from roost.domain.sandbox import Ingress, Sandbox
from roost.domain.team import ApiKey
from tests.flows.world import ME, PATIENCE_S, STRANGER, Ground, Roost, dies_at, serving

pytestmark = pytest.mark.anyio


async def somebody(roost: Roost, name: str = "anna", scope: Scope = access.FULL) -> Principal:
    _, secret = await roost.keys.create(ME, name, scope)
    return await roost.keys.identify(secret)


def token_inside(ground: Ground, sandbox: SandboxId) -> str:
    return ground.node.guests[sandbox].identity.access_token


async def tombs(ground: Ground) -> list[ApiKey]:
    async with ground.store.reading() as reader:
        return [key for key in await reader.find(ApiKey, Query()) if key.revoked_at is not None]


async def links_of(ground: Ground) -> list[Link]:
    async with ground.store.reading() as reader:
        return await reader.find(Link, Query())


async def test_a_rotated_token_is_known_to_the_guest_at_once(roost: Roost, ground: Ground) -> None:
    sandbox = await roost.sandbox(ingress=Ingress(public=False))
    given = await roost.tokens.rotate(ME, sandbox.id)
    assert given.access not in (sandbox.access_token, "") and given.traffic not in (sandbox.ingress.token, None)
    assert token_inside(ground, sandbox.id) == given.access
    record = await ground.record(sandbox.id)
    assert (record.access_token, record.token_pending, record.token_holders) == (given.access, False, (ME.key,))
    [event] = await ground.events(EventKind.TOKENS_ROTATED)
    assert event.sandbox == sandbox.id and given.access not in repr(event)
    route = roost.routes.locate(sandbox.id)
    assert route is not None and route.access_token == given.access and route.ingress.token == given.traffic


async def test_a_sleeper_is_told_when_it_wakes_and_sleeps_on_until_then(roost: Roost, ground: Ground) -> None:
    sandbox = await roost.sandbox()
    await roost.power.pause(ME, sandbox.id)
    given = await roost.tokens.rotate(ME, sandbox.id)
    assert ground.node.guests[sandbox.id].dozing
    await roost.power.resume(ME, sandbox.id)
    await roost.quiet()
    assert token_inside(ground, sandbox.id) == given.access
    assert not (await ground.record(sandbox.id)).token_pending


async def test_one_that_goes_back_to_an_older_moment_keeps_the_newer_token(roost: Roost, ground: Ground) -> None:
    sandbox = await roost.sandbox()
    snapshot = await roost.snapshots.take(ME, sandbox.id)
    given = await roost.tokens.rotate(ME, sandbox.id)
    await roost.rollbacks.roll_back(ME, sandbox.id, snapshot.id)
    assert token_inside(ground, sandbox.id) == given.access


async def test_a_guest_that_does_not_listen_is_told_later(roost: Roost, ground: Ground) -> None:
    sandbox = await roost.sandbox()
    ground.node.fail("inform", GuestUnreachable(sandbox.id, "no answer"), times=2)
    given = await roost.tokens.rotate(ME, sandbox.id)
    assert token_inside(ground, sandbox.id) == sandbox.access_token
    route = roost.routes.locate(sandbox.id)
    assert route is not None and route.access_token == given.access, "the edge knows already"
    for _ in range(3):
        ground.clock.advance(5)
        await roost.quiet()
    assert token_inside(ground, sandbox.id) == given.access
    assert not (await ground.record(sandbox.id)).token_pending


async def test_strangers_and_the_dead_get_none(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    for work in (roost.tokens.give(STRANGER, sandbox.id), roost.tokens.rotate(STRANGER, sandbox.id)):
        with pytest.raises(SandboxNotFound):
            await work
    await roost.sandboxes.kill(ME, sandbox.id)
    for work in (roost.tokens.give(ME, sandbox.id), roost.tokens.rotate(ME, sandbox.id)):
        with pytest.raises(SandboxDead):
            await work


async def test_revoking_takes_back_what_the_key_was_given_and_nothing_else(roost: Roost, ground: Ground) -> None:
    anna = await somebody(roost)
    assert anna.key is not None
    given, made, asleep, others = await roost.sandbox(), await roost.sandbox(), await roost.sandbox(), await roost.sandbox()
    for sandbox in (given, asleep):
        await roost.tokens.give(anna, sandbox.id)
    await roost.power.pause(ME, asleep.id)
    (child,) = await roost.forks.fork(anna, made.id, 1)
    assert isinstance(child, Sandbox)
    link, token = await roost.links.make(anna, given.id, mode=LinkMode.CONTROL)
    await roost.hands.take(token)
    kept, _ = await roost.links.make(ME, given.id)
    await roost.keys.revoke(ME, anna.key)
    for sandbox in (given, asleep, child):
        assert (await ground.record(sandbox.id)).access_token != sandbox.access_token
        assert (await ground.record(sandbox.id)).token_holders == ()
    for sandbox in (given, child):
        assert token_inside(ground, sandbox.id) == (await ground.record(sandbox.id)).access_token
    for sandbox in (made, others):
        assert (await ground.record(sandbox.id)).access_token == sandbox.access_token
    assert [each.id for each in await links_of(ground)] == [kept.id]
    assert (await ground.record(given.id)).driver is None
    assert await tombs(ground) == []
    route = roost.routes.locate(given.id)
    assert route is not None and link.digest not in route.links


async def test_what_an_older_roost_did_not_write_down_is_taken_back_too(roost: Roost, ground: Ground) -> None:
    """Any key of the team could read every token then."""
    sandbox = await roost.sandbox()
    link, _ = await roost.links.make(ME, sandbox.id)
    async with ground.store.transaction() as transaction:
        record = await transaction.get(Sandbox, sandbox.id)
        assert record is not None
        await transaction.put(replace(record, token_holders=None), expect_revision=record.revision)
        await transaction.put(replace(link, key=None), expect_revision=link.revision)
    looker = await somebody(roost, "looker", access.READ_ONLY)
    elsewhere = await somebody(roost, "elsewhere", Scope(Role.SANDBOX, (await roost.sandbox()).id))
    for key in (looker.key, elsewhere.key):
        await roost.keys.revoke(ME, key or "")
    assert (await ground.record(sandbox.id)).access_token == sandbox.access_token, "neither could read it"
    await roost.keys.revoke(ME, (await somebody(roost)).key or "")
    assert (await ground.record(sandbox.id)).access_token != sandbox.access_token
    assert await links_of(ground) == []


async def test_a_key_that_is_revoked_meanwhile_makes_and_gets_nothing(roost: Roost) -> None:
    """Its request was let in before."""
    sandbox = await roost.sandbox()
    anna = await somebody(roost)
    await roost.keys.revoke(ME, anna.key or "")
    for work in (
        roost.tokens.give(anna, sandbox.id),
        roost.tokens.rotate(anna, sandbox.id),
        roost.links.make(anna, sandbox.id),
        roost.keys.create(anna, "another"),
        roost.forks.fork(anna, sandbox.id, 1),
    ):
        with pytest.raises(Unauthenticated):
            await work


@pytest.mark.parametrize(
    "point",
    [
        "after commit revoked",
        "before commit running",
        "after commit running",
        "before inform",
        "after inform",
        "before commit the end of a key",
    ],
)
async def test_a_server_that_dies_while_it_revokes_is_followed_by_one_that_finishes(ground: Ground, point: str) -> None:
    held: dict[str, str] = {}

    async def prepare(roost: Roost) -> Principal:
        anna = await somebody(roost)
        for _ in range(2):
            sandbox = await roost.sandbox()
            held[sandbox.id] = (await roost.tokens.give(anna, sandbox.id)).access
            await roost.links.make(anna, sandbox.id)
        return anna

    async with serving(ground) as roost:
        anna = await prepare(roost)
        _, secret = await roost.keys.create(ME, "bob")
    await dies_at(ground, point, lambda roost: roost.keys.revoke(ME, anna.key or ""))
    async with serving(ground) as roost:
        with pytest.raises(Unauthenticated):
            await roost.keys.get(anna.key)  # pyright: ignore[reportArgumentType]
        assert (await roost.keys.identify(secret)).name == "bob"

        async def is_finished() -> bool:
            return not await tombs(ground)

        with anyio.fail_after(PATIENCE_S):
            await ground.until(is_finished)
        await roost.quiet()
        for id, token in held.items():
            record = await ground.record(id)
            assert record.access_token != token and not record.token_pending
            assert token_inside(ground, SandboxId(id)) == record.access_token
        assert await links_of(ground) == []
