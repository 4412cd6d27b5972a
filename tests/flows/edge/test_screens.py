"""Screens: who sees them, whose input counts, and what sleep, links and takeovers do to open ones."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import pytest

from roost.domain.errors import SandboxLost
from roost.domain.link import LinkMode
from roost.edge.limits import AGENT_PORT, EdgeLimits
from tests.flows.edge.desktop import GREETING, KEY, KEY_UP, POINTER, POINTER_UP, UPDATE, Desktop, desktop

pytestmark = pytest.mark.anyio
__all__ = ["desktop"]


async def test_who_watches_sees_the_picture_and_moves_nothing(world: Any, desktop: Desktop) -> None:
    async with desktop.watch(desktop.link(LinkMode.VIEW)) as person:
        await person.socket.send(KEY + UPDATE)
        await world.until(lambda: len(desktop.said[0]) >= len(UPDATE))
        desktop.screens[0].write(b"more")
        assert await person.read(4) == b"more"
    assert bytes(desktop.said[0]) == UPDATE
    await world.until(lambda: world.ledger.traffic(desktop.sandbox.id).open_connections == 0)


async def test_only_the_link_that_drives_is_heard_of_many(world: Any, desktop: Desktop) -> None:
    anna, ben = desktop.link(), desktop.link()
    async with desktop.watch(anna) as first, desktop.watch(ben) as second:
        desktop.drives(anna)
        await second.socket.send(KEY + UPDATE)
        await first.socket.send(KEY)
        await world.until(lambda: bytes(desktop.said[0]) == KEY and bytes(desktop.said[1]) == UPDATE)
        desktop.drives(ben)
        await world.until(lambda: bytes(desktop.said[0]) == KEY + KEY_UP)
        await first.socket.send(POINTER + UPDATE)
        await second.socket.send(POINTER)
        await world.until(lambda: bytes(desktop.said[0]) == KEY + KEY_UP + UPDATE)
        await world.until(lambda: bytes(desktop.said[1]) == UPDATE + POINTER)
    assert bytes(desktop.said[1]) == UPDATE + POINTER + POINTER_UP, "what is pressed when the browser goes is let go"


async def test_messages_may_come_in_pieces_and_fragments(world: Any, desktop: Desktop) -> None:
    token = desktop.link()
    async with desktop.watch(token) as person:
        desktop.drives(token)
        await person.socket.send([KEY[:3], KEY[3:] + UPDATE[:1], UPDATE[1:]])
        await world.until(lambda: bytes(desktop.said[0]) == KEY + UPDATE)


@pytest.mark.parametrize("offered", [None, ["binary"], ["base64", "binary"], ["base64"]])
async def test_the_subprotocol_is_binary_if_that_is_offered(desktop: Desktop, offered: Any) -> None:
    async with desktop.watch(desktop.link(), subprotocols=offered) as person:
        assert person.socket.subprotocol == ("binary" if offered and "binary" in offered else None)


async def test_links_that_open_nothing_say_why(world: Any, desktop: Desktop) -> None:
    expired, revoked = desktop.link(lives_s=10), desktop.link()
    world.clock.advance(10)
    desktop.revoke(revoked)
    assert (await desktop.refused(expired))[0] == 4003
    assert (await desktop.refused(revoked))[0] == 4001
    assert (await desktop.refused("0" * 64))[0] == 4001
    assert desktop.said == []


async def test_a_link_of_one_sandbox_opens_no_other(world: Any, desktop: Desktop) -> None:
    other = await Desktop(world, world.sandbox()).open()
    assert (await other.refused(desktop.link()))[0] == 4001
    picture = await other.ask("GET", f"/desktop/screenshot?link={desktop.link()}", token=None)
    assert (picture.status_code, picture.json()["error"]["code"]) == (401, "link_ended")
    assert other.said == [] and other.heard == []


@pytest.mark.parametrize("end", ["revoked", "expired"])
async def test_an_open_screen_ends_with_its_link(world: Any, desktop: Desktop, end: str) -> None:
    token, stays = desktop.link(lives_s=10), desktop.link()
    async with desktop.watch(token) as person, desktop.watch(stays) as other:
        if end == "revoked":
            desktop.revoke(token)
        else:
            world.clock.advance(10)
            world.routes.place(world.routes.locate(desktop.sandbox.id))
        code, reason = await person.closed()
        assert (code, "expired" in reason) == ((4001, False) if end == "revoked" else (4003, True))
        desktop.screens[1].write(b"more")
        assert await other.read(4) == b"more"


async def test_expiry_holds_for_input_before_anybody_announced_it(world: Any, desktop: Desktop) -> None:
    token = desktop.link(lives_s=10)
    async with desktop.watch(token) as person:
        desktop.drives(token)
        await anyio.wait_all_tasks_blocked()
        world.clock.advance(10)
        await person.socket.send(KEY + UPDATE)
        await world.until(lambda: bytes(desktop.said[0]) == UPDATE)


async def test_opening_the_screen_of_a_sleeper_wakes_it(world: Any, desktop: Desktop) -> None:
    gate = world.routes.hold_wakes(desktop.sandbox.id)
    token = desktop.link()
    world.routes.sleep(desktop.sandbox.id)
    async with anyio.create_task_group() as tasks:

        async def watch() -> None:
            async with desktop.watch(token):
                pass

        tasks.start_soon(watch)
        await world.until(lambda: world.routes.waiting(desktop.sandbox.id) == 1)
        gate.set()
    assert world.routes.flights == [(desktop.sandbox.id, "somebody opened its screen")]


async def test_a_bad_link_wakes_nobody(world: Any, desktop: Desktop) -> None:
    world.routes.sleep(desktop.sandbox.id)
    assert (await desktop.refused("0" * 64))[0] == 4001
    assert world.routes.flights == []


async def test_a_wake_that_fails_is_told(world: Any, desktop: Desktop) -> None:
    token = desktop.link()
    world.routes.sleep(desktop.sandbox.id)
    world.routes.fail_wakes(desktop.sandbox.id, SandboxLost(desktop.sandbox.id, "nothing is left"))
    assert await desktop.refused(token) == (1013, f"The process of sandbox {desktop.sandbox.id} is gone: nothing is left.")


async def test_a_sandbox_without_a_screen_says_so(world: Any) -> None:
    blind = await Desktop(world, world.sandbox()).open(has_screen=False)
    assert (await blind.refused(blind.link()))[0] == 4005


async def test_a_viewer_waits_over_sleep_and_the_input_of_who_drives_wakes(world: Any, desktop: Desktop) -> None:
    token, other = desktop.link(), desktop.link(LinkMode.VIEW)
    async with desktop.watch(token) as person, desktop.watch(other) as viewer:
        desktop.drives(token)
        world.routes.sleep(desktop.sandbox.id)
        await anyio.wait_all_tasks_blocked()
        await viewer.socket.send(KEY + UPDATE)
        await person.socket.send(UPDATE)
        await (await person.socket.ping())  # both were read: the edge itself answers
        await (await viewer.socket.ping())
        assert world.routes.flights == [], "who only looks wakes nobody"
        await person.socket.send(KEY)
        await world.until(lambda: bytes(desktop.said[0]) == UPDATE + KEY and bytes(desktop.said[1]) == UPDATE)
        assert world.routes.flights == [(desktop.sandbox.id, "traffic on an open connection")]


async def test_what_is_pressed_when_it_sleeps_is_let_go_when_it_wakes(world: Any, desktop: Desktop) -> None:
    token = desktop.link()
    async with desktop.watch(token) as person:
        desktop.drives(token)
        await person.socket.send(KEY)
        await world.until(lambda: bytes(desktop.said[0]) == KEY)
        world.routes.sleep(desktop.sandbox.id)
        desktop.drives(None)
        await anyio.wait_all_tasks_blocked()
        assert world.routes.flights == []
        await world.routes.wake(desktop.sandbox.id, "test")
        await world.until(lambda: bytes(desktop.said[0]) == KEY + KEY_UP)


async def test_death_and_another_address_end_it(world: Any, desktop: Desktop) -> None:
    async with desktop.watch(desktop.link()) as person:
        world.routes.sleep(desktop.sandbox.id, home="127.9.9.9")
        await world.routes.wake(desktop.sandbox.id, "test")
        assert (await person.closed())[0] == 1012
    dying = await Desktop(world, world.sandbox()).open()
    async with dying.watch(dying.link()) as person:
        world.routes.remove(dying.sandbox.id)
        assert (await person.closed())[0] == 4004


async def test_a_screen_server_that_hangs_up_is_told(desktop: Desktop) -> None:
    async with desktop.watch(desktop.link()) as person:
        desktop.screens[0].close()
        assert (await person.closed())[0] == 1011


async def test_who_cannot_be_followed_is_told_why(desktop: Desktop) -> None:
    async with desktop.watch(desktop.link()) as person:
        await person.socket.send(b"\x07")
        why = "This viewer cannot be followed: it sends a message of type 7, which is not known here."
        assert await person.closed() == (1008, why)
    async with desktop.watch(desktop.link()) as person:
        await person.socket.send("text")
        assert (await person.closed())[0] == 1003


async def test_a_slow_viewer_stops_the_screen_and_nobody_else(worlds: Any) -> None:
    async with worlds(
        EdgeLimits(linger_s=0.2, shutdown_grace_s=0.05, high_water_bytes=64 * 1024, low_water_bytes=16 * 1024)
    ) as world:
        desktop = await Desktop(world, world.sandbox()).open()
        async with desktop.watch(desktop.link(), max_queue=1) as slow, desktop.watch(desktop.link()) as quick:
            written = [0]

            async def paint() -> None:
                while written[0] < 32:
                    desktop.screens[0].write(bytes(1 << 20))
                    await desktop.screens[0].drain()
                    written[0] += 1

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(paint)
                await world.stalls(lambda: written[0])
                assert written[0] < 32
                desktop.screens[1].write(b"more")
                assert await quick.read(4) == b"more"
                assert await slow.read(32 << 20) == bytes(32 << 20)


async def test_a_browser_that_drives_and_answers_no_more_is_let_go(world: Any, desktop: Desktop) -> None:
    token = desktop.link()
    headers = "".join(f"{name}: {value}\r\n" for name, value in world.headers(desktop.sandbox, AGENT_PORT).items())
    async with world.raw() as (reader, writer):  # speaks WebSocket, and does not answer pings
        writer.write(
            f"GET /desktop/rfb?link={token} HTTP/1.1\r\nHost: x\r\n{headers}Connection: Upgrade\r\nUpgrade: websocket\r\n"
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        await reader.readuntil(GREETING)
        began = world.clock.now()
        desktop.drives(token)
        link = desktop.record(token).id
        for _ in range(3):
            await world.until(lambda: world.clock.next_alarm is not None)
            world.clock.advance(3)
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await reader.readexactly(1 << 20)
        assert world.ledger.watched_at(desktop.sandbox.id, link) == began, "it is not known to have been there since"


async def test_a_browser_that_answers_is_known_to_be_there(world: Any, desktop: Desktop) -> None:
    token = desktop.link()
    async with desktop.watch(token) as person:
        desktop.drives(token)
        link = desktop.record(token).id
        for _ in range(5):
            await world.until(lambda: world.clock.next_alarm is not None)
            world.clock.advance(3)
            await world.until(lambda: world.ledger.watched_at(desktop.sandbox.id, link) == world.clock.now())
        desktop.drives(None)
        await world.until(lambda: not person.buffer)
    await world.until(lambda: world.ledger.traffic(desktop.sandbox.id).open_connections == 0)
