"""Links to screens and who drives: made, taken, given back, lost, ended; over restarts, forks and death."""

from __future__ import annotations

import pytest

from roost.contracts.store import Query
from roost.control.people.hands import GRACE_S
from roost.control.people.links import MOST_LINKS
from roost.domain.errors import Conflict, Exhausted, Forbidden, Gone, Invalid, NotFound, SandboxDead, Unauthenticated
from roost.domain.events import Event, EventKind
from roost.domain.link import Link, LinkMode
from roost.domain.sandbox import Driver, Sandbox
from tests.flows.test_keeper import pass_time
from tests.flows.world import ME, STRANGER, Ground, Roost, serving

pytestmark = pytest.mark.anyio


async def control_link(roost: Roost, sandbox: Sandbox, label: str = "anna", seconds: float = 3600.0) -> tuple[Link, str]:
    return await roost.links.make(ME, sandbox.id, mode=LinkMode.CONTROL, label=label, seconds=seconds)


async def driver(ground: Ground, sandbox: Sandbox) -> Driver | None:
    return (await ground.record(sandbox.id)).driver


async def driven(ground: Ground, sandbox: Sandbox) -> list[Event]:
    return await ground.events(EventKind.DRIVER_TOOK, EventKind.DRIVER_GAVE, sandbox=sandbox.id)


async def links(ground: Ground) -> list[Link]:
    async with ground.store.transaction() as transaction:
        return await transaction.find(Link, Query())


async def test_a_token_is_shown_once_and_kept_nowhere(roost: Roost) -> None:
    sandbox = await roost.sandbox(name="desk")
    link, token = await roost.links.make(ME, "desk", label="anna")
    assert (link.mode, link.sandbox, link.expires_at) == (LinkMode.VIEW, sandbox.id, link.created_at + 3600)
    assert await roost.links.list(ME, "desk") == (link,)
    assert all(token not in repr(kept) for kept in await links(roost.ground))
    route = roost.routes.locate(sandbox.id)
    assert route is not None and route.links == {link.digest: link}
    await roost.links.revoke(ME, "desk", link.id)
    assert await roost.links.list(ME, "desk") == ()
    route = roost.routes.locate(sandbox.id)
    assert route is not None and route.links == {}
    with pytest.raises(NotFound):
        await roost.links.revoke(ME, "desk", link.id)
    with pytest.raises(Unauthenticated):
        await roost.hands.look(token)


async def test_links_are_for_ones_own_sandboxes(roost: Roost) -> None:
    mine, other = await roost.sandbox(), await roost.sandbox()
    link, _ = await control_link(roost, mine)
    for attempt in (
        roost.links.make(STRANGER, mine.id),
        roost.links.list(STRANGER, mine.id),
        roost.links.revoke(STRANGER, mine.id, link.id),
        roost.links.revoke(ME, other.id, link.id),
    ):
        with pytest.raises(NotFound):
            await attempt
    assert await roost.links.list(ME, mine.id) == (link,)


@pytest.mark.parametrize(
    "wish", [{"seconds": 0}, {"seconds": 1e9}, {"seconds": float("nan")}, {"label": "x" * 101}, {"label": "\n"}]
)
async def test_links_have_bounds(roost: Roost, wish: dict[str, float | str]) -> None:
    sandbox = await roost.sandbox()
    with pytest.raises(Invalid):
        await roost.links.make(ME, sandbox.id, **wish)  # pyright: ignore[reportArgumentType]


async def test_there_is_a_most_of_links(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    for _ in range(MOST_LINKS):
        await roost.links.make(ME, sandbox.id, seconds=5)
    with pytest.raises(Exhausted):
        await roost.links.make(ME, sandbox.id)
    roost.ground.clock.advance(5)
    await roost.links.make(ME, sandbox.id)


async def test_one_person_drives_at_a_time(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    (anna, by_anna), (ben, by_ben) = await control_link(roost, sandbox), await control_link(roost, sandbox, "ben")
    took = await roost.hands.take(by_anna)
    assert took == Driver(anna.id, "anna", roost.ground.clock.now()) == await driver(roost.ground, sandbox)
    route = roost.routes.locate(sandbox.id)
    assert route is not None and route.driver == took
    roost.ground.clock.advance(2)
    assert await roost.hands.take(by_anna) == took, "asked again nothing changes"
    with pytest.raises(Conflict, match="anna drives") as refused:
        await roost.hands.take(by_ben)
    assert (refused.value.code, refused.value.facts["who"]) == ("somebody_drives", "anna")
    await roost.hands.give(by_ben)
    assert await driver(roost.ground, sandbox) == took, "who does not drive gives nothing back"
    assert (await roost.hands.take(by_ben, force=True)).link == ben.id
    roost.ground.clock.advance(3)
    await roost.hands.give(by_ben)
    await roost.hands.give(by_ben)
    assert await driver(roost.ground, sandbox) is None
    told = [(event.kind, dict(event.facts)) for event in await driven(roost.ground, sandbox)]
    assert told == [
        (EventKind.DRIVER_TOOK, {"who": "anna", "link": anna.id}),
        (EventKind.DRIVER_GAVE, {"who": "anna", "link": anna.id, "why": "somebody else took over", "seconds": 2}),
        (EventKind.DRIVER_TOOK, {"who": "ben", "link": ben.id}),
        (EventKind.DRIVER_GAVE, {"who": "ben", "link": ben.id, "why": "handed back", "seconds": 3}),
    ]


async def test_a_link_to_watch_by_drives_nothing(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    _, token = await roost.links.make(ME, sandbox.id)
    with pytest.raises(Forbidden) as refused:
        await roost.hands.take(token, force=True)
    assert refused.value.code == "view_only"
    seat = await roost.hands.look(token)
    assert (seat.sandbox.id, seat.driver) == (sandbox.id, None)


async def test_who_is_not_before_a_screen_for_ten_seconds_drives_no_longer(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    link, token = await control_link(roost, sandbox)
    await roost.hands.take(token)
    await pass_time(roost, 4)
    roost.ground.ledger.watched[link.id] = roost.ground.clock.now()
    await pass_time(roost, GRACE_S - 0.1)
    assert await driver(roost.ground, sandbox) is not None
    await pass_time(roost, 0.1)
    assert await driver(roost.ground, sandbox) is None
    gave = (await driven(roost.ground, sandbox))[-1]
    assert (gave.kind, gave.facts["why"], gave.facts["seconds"]) == (EventKind.DRIVER_GAVE, "the browser went away", 14)


async def test_who_never_opens_a_screen_is_let_go_to_the_second(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    _, token = await control_link(roost, sandbox)
    await pass_time(roost, 2)
    await roost.hands.take(token)
    await roost.quiet()
    roost.ground.clock.advance(GRACE_S)
    await roost.quiet()
    assert await driver(roost.ground, sandbox) is None


async def test_after_a_restart_who_comes_back_in_time_drives_on(ground: Ground) -> None:
    async with serving(ground) as roost:
        stays, leaves = await roost.sandbox(), await roost.sandbox()
        (link, token), (_, other) = await control_link(roost, stays), await control_link(roost, leaves)
        await roost.hands.take(token)
        await roost.hands.take(other)
    ground.clock.advance(3600 - 100)
    async with serving(ground) as roost:
        route = roost.routes.locate(stays.id)
        assert route is not None and link.digest in route.links and route.driver is not None
        await pass_time(roost, GRACE_S - 1)
        assert await driver(ground, leaves) is not None
        ground.ledger.watched[link.id] = ground.clock.now()
        await pass_time(roost, 1)
        assert await driver(ground, leaves) is None
        assert await driver(ground, stays) is not None


async def test_a_link_that_ends_takes_its_driver_along(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    link, token = await control_link(roost, sandbox, seconds=7)
    await roost.hands.take(token)
    await pass_time(roost, 6.9)
    assert await driver(roost.ground, sandbox) is not None
    changes = roost.routes.changes()
    await pass_time(roost, 0.1)
    assert await driver(roost.ground, sandbox) is None
    assert (await anext(changes)).sandbox == sandbox.id, "who holds its screens open is told"
    with pytest.raises(Gone):
        await roost.hands.take(token)
    assert await roost.links.list(ME, sandbox.id) == ()
    again, token = await control_link(roost, sandbox)
    await roost.hands.take(token)
    await roost.links.revoke(ME, sandbox.id, again.id)
    assert [event.facts.get("why") for event in await driven(roost.ground, sandbox)] == [
        None,
        "the link ended",
        None,
        "the link ended",
    ]
    route = roost.routes.locate(sandbox.id)
    assert route is not None and route.driver is None and list(route.links) == [link.digest]


async def test_screens_are_told_of_an_expiry_once(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    await control_link(roost, sandbox, seconds=7)
    await pass_time(roost, 7)
    changes = roost.routes.changes()
    await pass_time(roost, 60)
    roost.routes.remind(sandbox.id)
    other = await roost.sandbox()
    assert [(await anext(changes)).sandbox, (await anext(changes)).sandbox] == [sandbox.id, other.id]


async def test_old_links_and_those_of_the_dead_are_collected(roost: Roost) -> None:
    living, dying = await roost.sandbox(), await roost.sandbox()
    _, expired = await control_link(roost, living, seconds=10)
    stays, _ = await control_link(roost, living, seconds=30 * 24 * 3600)
    _, orphaned = await control_link(roost, dying, seconds=30 * 24 * 3600)
    await roost.hands.take(orphaned)
    await roost.sandboxes.kill(ME, dying.id)
    with pytest.raises(SandboxDead):
        await roost.hands.look(orphaned)
    assert await roost.links.list(ME, dying.id) == ()
    with pytest.raises(SandboxDead):
        await roost.links.make(ME, dying.id)
    await pass_time(roost, 700, step=60)
    assert len(await links(roost.ground)) == 3, "for a while who comes by one is told what became of it"
    with pytest.raises(Gone):
        await roost.hands.look(expired)
    await pass_time(roost, 25 * 3600, step=600)
    assert [link.id for link in await links(roost.ground)] == [stays.id]
    route = roost.routes.locate(living.id)
    assert route is not None and list(route.links) == [stays.digest]


async def test_a_fork_has_neither_driver_nor_links(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    _, token = await control_link(roost, sandbox)
    await roost.hands.take(token)
    (child,) = await roost.forks.fork(ME, sandbox.id, 1)
    assert isinstance(child, Sandbox) and child.driver is None
    route = roost.routes.locate(child.id)
    assert route is not None and (route.driver, route.links) == (None, {})


async def test_a_driver_stays_over_sleep(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    link, token = await control_link(roost, sandbox)
    took = await roost.hands.take(token)
    await roost.power.pause(ME, sandbox.id)
    await roost.power.resume(ME, sandbox.id)
    assert await driver(roost.ground, sandbox) == took
    await roost.power.pause(ME, sandbox.id)
    await roost.hands.give(token)
    route = roost.routes.locate(sandbox.id)
    assert route is not None and route.driver is None and link.digest in route.links


async def test_a_rollback_gives_the_seat_up(roost: Roost) -> None:
    sandbox = await roost.sandbox()
    _, token = await control_link(roost, sandbox)
    kept = await roost.snapshots.take(ME, sandbox.id)
    await roost.hands.take(token)
    back = await roost.rollbacks.roll_back(ME, sandbox.id, kept.id)
    assert back.driver is None
    assert (await driven(roost.ground, sandbox))[-1].facts["why"] == "the sandbox was rolled back"
