"""Walks through `/v1`, on both stores: what the API promises must not depend on who keeps the records."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from roost.domain.errors import EngineFailed

from ..unit.api.house import AnyStore, House, open_house

pytestmark = pytest.mark.anyio


@pytest.fixture
async def house(store: AnyStore) -> AsyncIterator[House]:
    async with open_house(store=store) as house:
        yield house


@pytest.fixture
async def http(house: House) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(house.app)
    async with httpx.AsyncClient(transport=transport, base_url="http://roost", headers=house.headers) as client:
        yield client


async def test_a_life(http: httpx.AsyncClient) -> None:
    made = (await http.post("/v1/sandboxes", json={"name": "ada", "metadata": {"a": "1"}, "timeout_s": 60})).json()
    assert made["expires_at"] > made["created_at"]
    assert (await http.post("/v1/sandboxes/ada/pause")).json()["state"] == "paused"
    kept = (await http.post("/v1/sandboxes/ada/snapshots", json={"name": "good"})).json()
    refused = await http.delete(f"/v1/snapshots/{kept['id']}")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "snapshot_in_use")
    forked = (await http.post("/v1/sandboxes/ada/fork", json={"count": 2})).json()
    assert [child["state"] for child in forked["sandboxes"]] == ["running", "running"]
    assert (await http.post("/v1/sandboxes/ada/resume")).json()["incarnation"] == 2
    assert (await http.delete("/v1/sandboxes/ada")).status_code == 204
    assert (await http.get(f"/v1/sandboxes/{made['id']}")).json()["state"] == "dead"
    assert (await http.post("/v1/sandboxes", json={"name": "ada", "template": "good"})).status_code == 201
    kinds = [event["kind"] for event in (await http.get("/v1/events", params={"sandbox": made["id"]})).json()["events"]]
    assert kinds[0] == "sandbox.created"
    assert kinds[-1] == "sandbox.died"


async def test_pages_are_stable_while_sandboxes_come_and_go(http: httpx.AsyncClient, house: House) -> None:
    made = []
    for number in range(6):
        answer = await http.post("/v1/sandboxes", json={"metadata": {"odd": str(number % 2)}})
        made.append(answer.json()["id"])
        house.clock.advance(1)
    first = (await http.get("/v1/sandboxes", params={"limit": 2})).json()
    await http.delete(f"/v1/sandboxes/{made[4]}")
    await http.post("/v1/sandboxes")
    second = (await http.get("/v1/sandboxes", params={"limit": 2, "cursor": first["next_cursor"]})).json()
    assert [each["id"] for each in first["sandboxes"]] == [made[5], made[4]]
    assert [each["id"] for each in second["sandboxes"]] == [made[3], made[2]]
    odd = (await http.get("/v1/sandboxes", params={"metadata": "odd=1"})).json()["sandboxes"]
    assert [each["id"] for each in odd] == [made[5], made[3], made[1]]
    other = await http.get("/v1/sandboxes", params={"limit": 2, "cursor": first["next_cursor"], "template": "base"})
    assert other.status_code == 400


async def test_a_create_that_fails_leaves_nothing_and_can_be_asked_again(http: httpx.AsyncClient, house: House) -> None:
    house.node.fail("create", EngineFailed("restore", "no luck"))
    keyed = {"Idempotency-Key": "once"}
    failed = await http.post("/v1/sandboxes", json={"name": "ada"}, headers=keyed)
    assert (failed.status_code, failed.json()["error"]["code"]) == (500, "engine_failed")
    assert (await http.get("/v1/sandboxes")).json()["sandboxes"] == []
    again = await http.post("/v1/sandboxes", json={"name": "ada"}, headers=keyed)
    assert (again.status_code, again.json()["state"]) == (201, "running")
