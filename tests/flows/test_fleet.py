"""The fleet in one look, and all that becomes of it in one stream."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
import anyio.lowlevel
import pytest
from starlette.types import Message

from roost.api.services import About
from roost.api.v1 import fleet
from roost.contracts.store import EventQuery
from roost.control.people.live import Beat
from roost.domain.access import Principal, Role, Scope
from roost.domain.lifecycle import State
from roost.domain.sandbox import Sandbox
from roost.testing.node import used
from roost.testing.store import MemoryStore
from tests.flows.world import ME, STRANGER, TEAM, Ground, Roost, serving

pytestmark = pytest.mark.anyio

ABOUT = About("0.0.0", "roost.localhost", 4700, "/home", 1, "engine 1", "agent 1")
MINUTE_BAR_BYTES = 150_000
HEARTBEATS_BYTES = 4 * len(": still here\n\n")  # of a minute; the tests' clock does not move what beats by the loop's


class Page:
    """A browser's side of the stream."""

    def __init__(self) -> None:
        self.received = bytearray()
        self.gone = anyio.Event()

    async def receive(self) -> Message:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        await anyio.lowlevel.checkpoint()
        self.received += message.get("body", b"")

    def told(self, kind: str) -> list[dict[str, object]]:
        blocks = [block.splitlines() for block in self.received.decode().split("\n\n")]
        of_kind = [lines for lines in blocks if f"event: {kind}" in lines]
        return [json.loads(line.removeprefix("data: ")) for lines in of_kind for line in lines if line.startswith("data: ")]


@asynccontextmanager
async def watching(roost: Roost, after: int) -> AsyncIterator[Page]:
    page = Page()
    events = roost.events.follow(ME, EventQuery(after=after))
    response = fleet.stream(events, roost.overview.follow(ME, after), ABOUT)
    async with anyio.create_task_group() as group:
        group.start_soon(response, {"type": "http"}, page.receive, page.send)
        await roost.quiet()
        yield page
        page.gone.set()


async def a_look_later(roost: Roost, *, busy: float = 0.0, memory_bytes: int = 200 << 20) -> None:
    """The keeper reads the meters again: every sandbox has used that much of a core meanwhile."""
    ground = roost.ground
    ground.clock.advance(5.0)
    for guest in ground.node.guests.values():
        used(guest, at=ground.clock.now(), cpu_s=(guest.usage.cpu_s if guest.usage else 0.0) + 5.0 * busy)
        assert guest.usage is not None
        guest.usage = replace(guest.usage, memory_bytes=memory_bytes)
    await roost.quiet()


async def test_a_look_shows_the_living_with_why_and_how_busy(roost: Roost, ground: Ground) -> None:
    awake, asleep, dead = [await roost.sandbox(name=name) for name in ("awake", "asleep", "dead")]
    await roost.power.pause(ME, asleep.id)
    await roost.sandboxes.kill(ME, dead.id)
    for share in (0.5, 0.5, 0.25):
        await a_look_later(roost, busy=share)
    view = await roost.overview.look(ME)
    members = {member.sandbox.id: member for member in view.members}
    assert members.keys() == {awake.id, asleep.id}
    assert members[awake.id].activity.awake and not members[asleep.id].activity.awake
    assert [round(reading.cpu_share, 2) for reading in members[awake.id].recent][-2:] == [0.5, 0.25]
    assert view.cursor == await roost.events.newest()


async def test_a_stream_tells_records_events_and_figures(roost: Roost) -> None:
    view = await roost.overview.look(ME)
    async with watching(roost, view.cursor) as page:
        sandbox = await roost.sandbox(name="new")
        await roost.power.pause(ME, sandbox.id)
        await roost.quiet()
        states = [record["state"] for record in page.told("sandbox") if record["id"] == sandbox.id]
        assert states[-1] == "paused" and "running" in states
        assert [event["sandbox"] for event in page.told("sandbox.paused")] == [sandbox.id]
        await roost.power.resume(ME, sandbox.id)
        for _ in range(5):
            await a_look_later(roost, busy=0.9)
        figures = page.told("pulse")[-1]["p"]
        assert isinstance(figures, dict)
        assert figures[sandbox.id] == [0.9, 200 << 20]
        await roost.sandboxes.kill(ME, sandbox.id)
        await roost.quiet()
        assert page.told("sandbox")[-1]["state"] == "dead"


async def test_what_changed_between_the_look_and_the_stream_is_told_and_nothing_else(roost: Roost) -> None:
    changed, quiet = await roost.sandbox(), await roost.sandbox()
    view = await roost.overview.look(ME)
    await roost.sandboxes.hold(ME, changed.id, 60, "busy")
    async with watching(roost, view.cursor) as page:
        assert {record["id"] for record in page.told("sandbox")} == {changed.id}
    assert quiet.state is State.RUNNING


async def test_whoever_comes_back_after_long_is_told_everything(roost: Roost) -> None:
    one, other = await roost.sandbox(), await roost.sandbox()
    async with watching(roost, after=1) as page:
        assert {record["id"] for record in page.told("sandbox")} == {one.id, other.id}
        assert page.told("sandbox.created")


async def test_other_teams_see_nothing(roost: Roost) -> None:
    watch = roost.live.watch(STRANGER)
    sandbox = await roost.sandbox()
    for _ in range(5):
        await a_look_later(roost, busy=0.9)
    assert not (await roost.overview.look(STRANGER)).members
    news: list[Sandbox | Beat] = []
    with anyio.move_on_after(0):
        news.append(await anext(watch))
    assert not news and sandbox.id


@pytest.mark.parametrize("busy", [False, True], ids=["idle", "restless"])
async def test_two_hundred_sandboxes_cost_little_to_watch(busy: bool) -> None:
    """Bytes of a minute: idle ones that tick a little, and, as the worst there is, all of them changing all the time."""
    ground = Ground(MemoryStore())
    await ground.introduce()
    async with serving(ground) as roost:
        await roost.build_base()
        for number in range(200):
            await roost.sandbox(name=f"agent-{number}", metadata={"owner": "team-a"})
        for _ in range(4):
            await a_look_later(roost, busy=0.01)
        view = await roost.overview.look(ME)
        async with watching(roost, view.cursor) as page:
            before = len(page.received)
            for look in range(12):
                share, drift = (0.9 * (look % 2), 64 << 20) if busy else (0.01 + 0.002 * (look % 3), 1 << 20)
                await a_look_later(roost, busy=share, memory_bytes=(200 << 20) + look % 4 * drift)
            spent = len(page.received) - before + HEARTBEATS_BYTES
            assert spent < MINUTE_BAR_BYTES, f"{spent} bytes"
            assert spent < 2_000 or busy, f"{spent} bytes"
    ground.node.close()


async def test_streams_tell_nothing_of_others(roost: Roost) -> None:
    """Neither another team's, nor to whoever is there for one sandbox the team's others."""
    mine, others = await roost.sandbox(name="mine"), await roost.sandbox(name="others")
    only = Principal(TEAM, Scope(Role.SANDBOX, mine.id), None)
    after = await roost.events.newest()
    heard: list[tuple[str, str]] = []

    async def follow(who: str, principal: Principal) -> None:
        async with anyio.create_task_group() as both:
            both.start_soon(follow_events, who, principal)
            both.start_soon(follow_records, who, principal)

    async def follow_events(who: str, principal: Principal) -> None:
        async for event in roost.events.follow(principal, EventQuery(after=after)):
            heard.append((who, str(event.sandbox)))

    async def follow_records(who: str, principal: Principal) -> None:
        async for record in roost.overview.follow(principal, after):
            heard.append((who, record.id if isinstance(record, Sandbox) else "beat"))

    async with anyio.create_task_group() as group:
        for who, principal in (("stranger", STRANGER), ("only", only), ("me", ME)):
            group.start_soon(follow, who, principal)
        await roost.power.pause(ME, others.id)
        await roost.power.pause(ME, mine.id)
        await roost.quiet()
        group.cancel_scope.cancel()
    assert {sandbox for who, sandbox in heard if who == "stranger"} <= {"beat"}
    assert {sandbox for who, sandbox in heard if who == "only"} - {"beat"} == {mine.id}
    assert {sandbox for who, sandbox in heard if who == "me"} - {"beat"} == {mine.id, others.id}
    assert await roost.events.list(only, EventQuery(sandbox=others.id)) == ()
