from __future__ import annotations

import re

import anyio
import httpx
import pytest

from roost.domain.errors import EngineFailed, SnapshotDamaged
from roost.domain.ids import SandboxId

from .house import House

pytestmark = pytest.mark.anyio


async def create(http: httpx.AsyncClient, **body: object) -> dict:
    answer = await http.post("/v1/sandboxes", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def test_a_new_sandbox_runs_and_shows_all_its_fields(http: httpx.AsyncClient) -> None:
    made = await create(http, template="base", name="ada", metadata={"task": "7"}, env={"A": "1"}, idle_s=60)
    assert re.fullmatch(r"i[0-9a-z]{20}", made["id"])
    assert made["name"] == "ada"
    assert made["state"] == "running"
    assert made["template"] == "base"
    assert made["incarnation"] == 1
    assert made["metadata"] == {"task": "7"}
    assert made["created_at"] == "2023-11-14T22:13:20.000Z"
    assert made["expires_at"] is None
    assert made["size"] == {"cpus": 2.0, "memory_mb": 2048, "disk_mb": 10240, "pids": 4096}
    assert made["policy"]["idle_s"] == 60
    assert made["policy"]["on_timeout"] == "pause"
    assert made["url"] == f"http://{{port}}-{made['id']}.roost.localhost:4700"
    assert len(made.pop("access_token")) == 64 and made.pop("traffic_token") is None
    assert (await http.get("/v1/sandboxes/ada")).json() == made
    assert (await http.get(f"/v1/sandboxes/{made['id']}")).json() == made


async def test_no_body_makes_a_plain_sandbox(http: httpx.AsyncClient) -> None:
    answer = await http.post("/v1/sandboxes")
    assert answer.status_code == 201
    assert answer.json()["template"] == "base"


async def test_what_is_given_reaches_the_guest(house: House, http: httpx.AsyncClient) -> None:
    assert (await create(http, size=None))["size"] == (await create(http))["size"]
    made = await create(http, name="ada", env={"A": "1"}, size={"cpus": 1, "memory_mb": 512, "disk_mb": 1024, "pids": 9})
    identity = house.node.guests[SandboxId(made["id"])].identity
    assert identity.hostname == "ada"
    assert identity.env["A"] == "1"
    assert identity.access_token == made["access_token"]
    assert made["size"]["memory_mb"] == 512


async def test_the_same_idempotency_key_gets_the_same_sandbox(http: httpx.AsyncClient) -> None:
    keyed = {"Idempotency-Key": "once"}
    first = await http.post("/v1/sandboxes", json={"name": "ada"}, headers=keyed)
    again = await http.post("/v1/sandboxes", json={"name": "ada"}, headers=keyed)
    other = await http.post("/v1/sandboxes", json={"name": "bob"}, headers=keyed)
    assert first.json()["id"] == again.json()["id"]
    assert other.status_code == 409
    assert other.json()["error"]["code"] == "idempotency_request_mismatch"


async def test_pages_hold_every_sandbox_once(http: httpx.AsyncClient, house: House) -> None:
    made = []
    for _ in range(7):
        made.append((await create(http))["id"])
        house.clock.advance(1)
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = (await http.get("/v1/sandboxes", params={"limit": 3} | ({"cursor": cursor} if cursor else {}))).json()
        seen += [each["id"] for each in page["sandboxes"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == made[::-1]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("state=paused", ["ada"]),
        ("state=running&state=paused", ["bob", "ada"]),
        ("name=bo", ["bob"]),
        ("metadata=team=red", ["ada"]),
        ("metadata=team=red&metadata=rank=1", []),
        ("metadata=note=a=b", ["bob"]),
        ("template=base", ["bob", "ada"]),
        ("template=other", []),
    ],
)
async def test_lists_are_filtered(http: httpx.AsyncClient, house: House, query: str, expected: list[str]) -> None:
    await create(http, name="ada", metadata={"team": "red"})
    house.clock.advance(1)
    await create(http, name="bob", metadata={"note": "a=b"})
    await http.post("/v1/sandboxes/ada/pause")
    answer = await http.get(f"/v1/sandboxes?{query}")
    assert [each["name"] for each in answer.json()["sandboxes"]] == expected


async def test_only_what_is_mentioned_changes(http: httpx.AsyncClient) -> None:
    await create(http, name="ada", metadata={"a": "1"}, idle_s=60, wake_on_traffic=False)
    renamed = (await http.patch("/v1/sandboxes/ada", json={"name": "eve"})).json()
    assert (renamed["name"], renamed["metadata"], renamed["policy"]["idle_s"]) == ("eve", {"a": "1"}, 60)
    never = (await http.patch("/v1/sandboxes/eve", json={"idle_s": None, "metadata": {}})).json()
    assert never["policy"]["idle_s"] is None
    assert never["policy"]["wake_on_traffic"] is False
    assert never["metadata"] == {}
    assert never["name"] == "eve"


async def test_sleep_and_wake(http: httpx.AsyncClient) -> None:
    await create(http, name="ada")
    asleep = (await http.post("/v1/sandboxes/ada/pause")).json()
    assert asleep["state"] == "paused"
    assert asleep["snapshot"]
    awake = (await http.post("/v1/sandboxes/ada/resume", json={})).json()
    assert (awake["state"], awake["incarnation"], awake["cold"], awake["lost"]) == ("running", 2, False, [])


async def test_without_memory_waking_is_a_boot(http: httpx.AsyncClient) -> None:
    await create(http, name="ada")
    await http.post("/v1/sandboxes/ada/pause", json={"memory": False})
    awake = (await http.post("/v1/sandboxes/ada/resume")).json()
    assert awake["cold"] is True


async def test_a_damaged_memory_is_told_and_can_be_given_up(http: httpx.AsyncClient, house: House) -> None:
    made = await create(http, name="ada")
    await http.post("/v1/sandboxes/ada/pause")
    house.node.fail("resume", SnapshotDamaged("s1", "pages.img", "has another checksum"))
    refused = await http.post("/v1/sandboxes/ada/resume")
    assert refused.status_code == 409
    error = refused.json()["error"]
    assert (error["code"], error["file"]) == ("snapshot_damaged", "pages.img")
    assert "--cold" in error["message"]
    agreed = (await http.post("/v1/sandboxes/ada/resume", json={"cold": True})).json()
    assert (agreed["id"], agreed["cold"], agreed["lost"]) == (made["id"], True, ["sleepd"])


async def test_forks_run_beside_those_that_failed(http: httpx.AsyncClient, house: House) -> None:
    made = await create(http, name="ada")
    house.node.fail("create", EngineFailed("restore", "no luck"))
    answer = await http.post("/v1/sandboxes/ada/fork", json={"count": 3, "names": ["a1", "a2", "a3"]})
    assert answer.status_code == 201
    body = answer.json()
    assert len(body["sandboxes"]) == 2
    assert {each["parent"] for each in body["sandboxes"]} == {made["id"]}
    (failed,) = body["errors"]
    assert failed["code"] == "engine_failed"
    assert failed["index"] in (0, 1, 2)


async def test_snapshots_are_kept_found_used_and_deleted(http: httpx.AsyncClient) -> None:
    made = await create(http, name="ada")
    taken = await http.post("/v1/sandboxes/ada/snapshots", json={"name": "good"})
    assert taken.status_code == 201
    snapshot = taken.json()
    assert (snapshot["name"], snapshot["kind"], snapshot["sandbox"]) == ("good", "disk+memory", made["id"])
    listed = (await http.get("/v1/snapshots", params={"sandbox": "ada"})).json()["snapshots"]
    assert [each["id"] for each in listed] == [snapshot["id"]]
    assert (await create(http, template="good"))["state"] == "running"
    assert (await http.get(f"/v1/snapshots/{snapshot['id']}")).json() == snapshot
    assert (await http.delete(f"/v1/snapshots/{snapshot['id']}")).status_code == 204
    assert (await http.get(f"/v1/snapshots/{snapshot['id']}")).json()["error"]["code"] == "snapshot_not_found"


async def test_the_dead_stay_dead(http: httpx.AsyncClient) -> None:
    made = await create(http, name="ada")
    assert (await http.delete("/v1/sandboxes/ada")).status_code == 204
    by_id = f"/v1/sandboxes/{made['id']}"
    assert (await http.delete(by_id)).status_code == 204
    assert (await http.get(by_id)).json()["state"] == "dead"
    refused = await http.post(f"{by_id}/pause")
    assert refused.status_code == 410
    assert refused.json()["error"]["code"] == "sandbox_dead"


async def test_time_is_extended_and_held(http: httpx.AsyncClient) -> None:
    await create(http, name="ada", timeout_s=10)
    extended = (await http.post("/v1/sandboxes/ada/extend", json={"timeout_s": 100})).json()
    assert extended["expires_at"] == "2023-11-14T22:15:00.000Z"
    held = (await http.post("/v1/sandboxes/ada/hold", json={"seconds": 60, "reason": "a demo"})).json()
    assert held["hold"] == {"until": "2023-11-14T22:14:20.000Z", "reason": "a demo"}
    told = (await http.get("/v1/sandboxes/ada/activity")).json()
    assert told["awake"] is True
    assert {"hold", "deadline"} <= {reason["kind"] for reason in told["awake_because"]}
    assert (told["sleeps_at"], told["then"]) == ("2023-11-14T22:15:00.000Z", "pause")
    assert (await http.delete("/v1/sandboxes/ada/hold")).json()["hold"] is None


async def test_usage_is_told_for_a_time(http: httpx.AsyncClient, house: House) -> None:
    from roost.domain.node import Usage

    made = await create(http)
    samples = [Usage(at, at - 100, 1, 2, 3, 4) for at in (100.0, 105.0, 110.0)]
    await house.store.add_usage(SandboxId(made["id"]), samples)
    answer = await http.get(f"/v1/sandboxes/{made['id']}/metrics", params={"start": 101, "end": 110})
    assert [each["cpu_s"] for each in answer.json()["metrics"]] == [5, 10]


async def test_the_move_ends_though_its_caller_went_away(http: httpx.AsyncClient, house: House) -> None:
    await create(http, name="ada")
    gate = house.node.gate("pause")
    async with anyio.create_task_group() as group:
        group.start_soon(http.post, "/v1/sandboxes/ada/pause")
        await gate.reached.wait()
        group.cancel_scope.cancel()
    assert (await http.get("/v1/sandboxes/ada")).json()["state"] == "pausing"
    gate.open()
    asleep = await http.post("/v1/sandboxes/ada/pause")
    assert asleep.json()["state"] == "paused"


async def test_everything_sleeps_before_the_machine_goes_down(http: httpx.AsyncClient) -> None:
    ada = await create(http, name="ada")
    await create(http, name="bob")
    await http.post("/v1/sandboxes/bob/pause")
    assert (await http.post("/v1/node/sleep-all")).json() == {"sandboxes": [ada["id"]], "errors": []}
    assert (await http.get("/v1/sandboxes", params={"state": "running"})).json()["sandboxes"] == []
