"""Requests to a desktop's agent: refused while a person drives, opened by links, and quiet where they are asked to be."""

from __future__ import annotations

from typing import Any

import anyio
import httpx
import pytest

from roost.domain.link import LinkMode
from roost.edge.limits import AGENT_PORT
from tests.flows.edge.conftest import TOKEN
from tests.flows.edge.desktop import Desktop, desktop

pytestmark = pytest.mark.anyio
__all__ = ["desktop"]


async def test_the_agents_hands_are_refused_while_a_person_drives(world: Any, desktop: Desktop) -> None:
    token = desktop.link()
    assert (await desktop.ask("POST", "/desktop/click")).status_code == 200
    desktop.drives(token)
    for method, path in (("POST", "/desktop/click"), ("POST", "/%64esktop/type?x=1"), ("PUT", "/desktop/clipboard")):
        refused = await desktop.ask(method, path)
        assert refused.status_code == 409
        error = refused.json()["error"]
        assert (error["code"], error["who"], error["since"]) == ("person_drives", "anna", "2023-11-14T22:13:20.000Z")
    assert (await desktop.ask("POST", "/desktop/click", token="wrong")).status_code == 401, "strangers are told nothing"
    assert (await desktop.ask("GET", "/desktop/screenshot")).status_code == 200
    assert (await desktop.ask("POST", "/files")).status_code == 200
    desktop.drives(None)
    assert (await desktop.ask("POST", "/desktop/click")).status_code == 200


async def test_a_click_under_way_is_refused_when_somebody_takes_over(world: Any, desktop: Desktop) -> None:
    token = desktop.link()
    desktop.gate = anyio.Event()
    results: list[Any] = []

    async def click() -> None:
        results.append(await desktop.ask("POST", "/desktop/click"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(click)
        await world.until(lambda: len(desktop.heard) == 1)
        desktop.drives(token)
    assert results[0].status_code == 409
    desktop.gate.set()


async def test_a_click_that_waits_for_its_sandbox_is_refused_too(world: Any, desktop: Desktop) -> None:
    token = desktop.link()
    gate = world.routes.hold_wakes(desktop.sandbox.id)
    world.routes.sleep(desktop.sandbox.id)
    results: list[Any] = []

    async def click() -> None:
        results.append(await desktop.ask("POST", "/desktop/click"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(click)
        await world.until(lambda: world.routes.waiting(desktop.sandbox.id) == 1)
        desktop.drives(token)
    gate.set()
    assert (results[0].status_code, desktop.heard) == (409, [])


async def test_a_link_opens_pictures_and_is_not_shown_to_the_sandbox(desktop: Desktop) -> None:
    token = desktop.link(LinkMode.VIEW)
    seen = await desktop.ask("GET", f"/desktop/screenshot?format=png&link={token}&scale=0.5", token=None)
    assert seen.text == "GET /desktop/screenshot?format=png&scale=0.5 HTTP/1.1"
    assert desktop.heard[0].get("x-access-token") == TOKEN
    assert token not in desktop.heard[0].head.decode()
    elsewhere = await desktop.ask("GET", f"/desktop?link={token}", token=None)
    assert elsewhere.text == f"GET /desktop?link={token} HTTP/1.1", "it stands for nothing there"
    assert desktop.heard[1].get("x-access-token") is None


async def test_frames_end_with_their_link(world: Any, desktop: Desktop) -> None:
    token = desktop.link()
    async with world.client() as client:
        headers = world.headers(desktop.sandbox, AGENT_PORT)
        async with client.stream("GET", f"/desktop/frames?link={token}", headers=headers) as response:
            pieces = response.aiter_raw()
            assert await anext(pieces) == b"frame"
            desktop.revoke(token)
            with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
                await anext(pieces)


async def test_quiet_requests_wake_nobody_and_count_for_nothing(world: Any, desktop: Desktop) -> None:
    for path, headers in (("/desktop/screenshot?a=b&quiet=1", {}), ("/desktop/screenshot?a=b", {"Roost-Quiet": "1"})):
        seen = await desktop.ask("GET", path, **headers)
        assert seen.text == "GET /desktop/screenshot?a=b HTTP/1.1"
    traffic = world.ledger.traffic(desktop.sandbox.id)
    assert (traffic.last_byte_at, traffic.quiet_requests) == (None, 2)
    assert traffic.quiet_bytes == traffic.received_bytes + traffic.sent_bytes > 0
    world.routes.sleep(desktop.sandbox.id)
    asleep = await desktop.ask("GET", "/processes?quiet=1")
    assert (asleep.status_code, asleep.json()["error"]["code"]) == (409, "asleep")
    assert (await desktop.ask("GET", "/processes?quiet=1", token="wrong")).status_code == 401
    linked = await desktop.ask("GET", f"/desktop/screenshot?quiet=1&link={desktop.link()}", token=None)
    assert linked.json()["error"]["code"] == "asleep"
    assert world.routes.flights == []
    assert (await desktop.ask("GET", "/processes")).status_code == 200
    assert world.ledger.traffic(desktop.sandbox.id).last_byte_at is not None


async def test_a_quiet_request_under_way_is_told_when_it_falls_asleep(world: Any, desktop: Desktop) -> None:
    desktop.gate = anyio.Event()
    results: list[Any] = []

    async def ask() -> None:
        results.append(await desktop.ask("POST", "/desktop/click?quiet=1"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await world.until(lambda: len(desktop.heard) == 1)
        world.routes.sleep(desktop.sandbox.id)
    assert results[0].json()["error"]["code"] == "asleep"
    assert world.routes.flights == []
    desktop.gate.set()


async def test_a_quiet_stream_waits_over_sleep(world: Any, desktop: Desktop) -> None:
    async with world.client() as client:
        headers = {**world.headers(desktop.sandbox, AGENT_PORT), "X-Access-Token": TOKEN}
        async with client.stream("GET", "/desktop/frames?quiet=1", headers=headers) as response:
            pieces = response.aiter_raw()
            assert await anext(pieces) == b"frame"
            world.routes.sleep(desktop.sandbox.id)
            await anyio.wait_all_tasks_blocked()
            await world.routes.wake(desktop.sandbox.id, "test")
            await anyio.wait_all_tasks_blocked()
            assert world.ledger.traffic(desktop.sandbox.id).open_connections == 1
    assert world.ledger.traffic(desktop.sandbox.id).last_byte_at is None


async def test_a_screen_is_no_page(desktop: Desktop) -> None:
    answer = await desktop.ask("GET", f"/desktop/rfb?link={desktop.link()}")
    assert (answer.status_code, answer.headers["upgrade"]) == (426, "websocket")
