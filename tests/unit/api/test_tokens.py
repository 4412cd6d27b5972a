"""Tokens and values of headers: given to whoever makes a sandbox or asks for them by name, in no other answer."""

from __future__ import annotations

from typing import Any

import anyio
import httpx
import pytest

from roost.domain.ids import SandboxId
from roost.domain.rules import MASK
from roost.domain.sandbox import Sandbox

from .house import House

pytestmark = pytest.mark.anyio

SECRET = "Bearer of the upstream key"
RULES = {"api.example.com": {"Authorization": SECRET, "X-Plain": "also"}}
PRIVATE = {
    "public": False,
    "rules": RULES,
    "proxy": {"address": "203.0.113.9:1080", "username": "u", "password": "pass of proxy"},
}


async def make(http: httpx.AsyncClient, **body: Any) -> dict[str, Any]:
    answer = await http.post("/v1/sandboxes", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def record(house: House, id: str) -> Sandbox:
    async with house.store.reading() as reader:
        found = await reader.get(Sandbox, id)
    assert found is not None
    return found


async def key(http: httpx.AsyncClient) -> dict[str, str]:
    return {"Authorization": f"Bearer {(await http.post('/v1/keys', json={'name': 'other'})).json()['secret']}"}


async def test_whoever_makes_one_is_given_its_tokens(http: httpx.AsyncClient, house: House) -> None:
    made = await make(http, name="ada", network=PRIVATE)
    known = await record(house, made["id"])
    assert (made["access_token"], made["traffic_token"]) == (known.access_token, known.ingress.token)
    [child] = (await http.post("/v1/sandboxes/ada/fork", json={})).json()["sandboxes"]
    assert child["access_token"] == (await record(house, child["id"])).access_token != made["access_token"]
    assert child["traffic_token"] not in (None, made["traffic_token"])
    await http.delete("/v1/sandboxes/ada")
    back = (await http.post("/v1/sandboxes/ada/undelete")).json()
    assert back["access_token"] == (await record(house, back["id"])).access_token


async def test_no_other_answer_has_tokens_or_values(http: httpx.AsyncClient, house: House) -> None:
    made = await make(http, name="ada", network=PRIVATE)
    (await http.post("/v1/sandboxes/ada/snapshots", json={"name": "kept"})).raise_for_status()
    answers: list[tuple[str, str]] = []
    for method, path, body in (
        ("GET", "/v1/sandboxes", None),
        ("GET", "/v1/sandboxes/ada", None),
        ("PATCH", "/v1/sandboxes/ada", {"metadata": {"a": "1"}}),
        ("PATCH", "/v1/sandboxes/ada", {"network": {"internet": False, "allow": ["203.0.113.7"]}}),
        ("POST", "/v1/sandboxes/ada/pause", {}),
        ("POST", "/v1/sandboxes/ada/resume", {}),
        ("POST", "/v1/sandboxes/ada/hold", {"seconds": 60}),
        ("DELETE", "/v1/sandboxes/ada/hold", None),
        ("POST", "/v1/sandboxes/ada/extend", {"timeout_s": 60}),
        ("POST", "/v1/sandboxes/ada/rollback", {"snapshot": "kept"}),
        ("GET", "/v1/sandboxes/ada/activity", None),
        ("GET", "/v1/fleet", None),
        ("GET", "/v1/events", None),
        ("GET", "/v1/snapshots", None),
        ("GET", "/sandboxes", None),
        ("GET", "/v2/sandboxes", None),
        ("GET", f"/sandboxes/{made['id']}", None),
        ("GET", f"/sandboxes/{made['id']}/logs", None),
        ("POST", "/v1/node/sleep-all", None),
        ("GET", "/v1/sandboxes?state=paused", None),
    ):
        answer = await http.request(method, path, json=body)
        assert answer.status_code in (200, 201), (path, answer.text)
        answers.append((path, answer.text))
    for path, text in answers:
        for secret in (made["access_token"], made["traffic_token"], SECRET, "pass of proxy"):
            assert secret not in text, path


async def test_the_live_stream_has_neither(http: httpx.AsyncClient, house: House) -> None:
    """What it sends is rendered as the lists are; here it is followed."""
    made = await make(http, name="ada", network=PRIVATE)
    heard = bytearray()
    done = anyio.Event()

    async def receive() -> dict[str, str]:
        await done.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        heard.extend(message.get("body", b""))
        if b"event: sandbox\n" in heard:
            done.set()

    query = b"after=0"
    headers = [(name.lower().encode(), value.encode()) for name, value in house.headers.items()]
    scope = {
        "type": "http", "method": "GET", "path": "/v1/live", "raw_path": b"/v1/live", "query_string": query, "headers": headers,
        "scheme": "http", "server": ("roost", 80), "client": ("1.2.3.4", 5), "root_path": "", "http_version": "1.1",
    }  # fmt: skip
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(house.app, scope, receive, send)
            await anyio.wait_all_tasks_blocked()
            await http.patch("/v1/sandboxes/ada", json={"metadata": {"a": "1"}})
    assert made["id"].encode() in heard
    for secret in (made["access_token"], made["traffic_token"], SECRET, "pass of proxy"):
        assert secret.encode() not in heard


async def test_one_call_gives_them_and_it_is_known_to_whom(http: httpx.AsyncClient, house: House) -> None:
    made = await make(http, name="ada")
    other = await key(http)
    before = await record(house, made["id"])
    for _ in range(2):
        given = (await http.post("/v1/sandboxes/ada/token", headers=other)).json()
        assert (given["id"], given["access_token"]) == (made["id"], made["access_token"])
    known = await record(house, made["id"])
    assert len(known.token_holders or ()) == 2 and known.revision == before.revision + 1
    assert (await http.post(f"/v1/sandboxes/i{'0' * 20}/token")).status_code == 404
    await http.delete("/v1/sandboxes/ada")
    assert (await http.post(f"/v1/sandboxes/{made['id']}/token")).status_code == 410


async def test_e2bs_connect_gives_them_and_notes_it(http: httpx.AsyncClient, house: House) -> None:
    made = (await http.post("/v2/sandboxes", json={"templateID": "base", "network": {"allowPublicTraffic": False}})).json()
    other = await key(http)
    connected = (await http.post(f"/v2/sandboxes/{made['sandboxID']}/connect", json={}, headers=other)).json()
    for name in ("envdAccessToken", "trafficAccessToken"):
        assert connected[name] and connected[name] == made[name]
    assert len((await record(house, made["sandboxID"])).token_holders or ()) == 2


async def test_a_value_is_masked_and_the_mask_keeps_it(http: httpx.AsyncClient, house: House) -> None:
    made = await make(http, name="ada", network={"rules": RULES})
    shown = (await http.get("/v1/sandboxes/ada")).json()["network"]["rules"]
    masked = {"headers": {"Authorization": MASK, "X-Plain": MASK}, "plain": False}
    assert shown == {"api.example.com": masked} == made["network"]["rules"]
    shown["api.example.com"]["headers"]["X-Plain"] = "changed"
    shown["other.example.com"] = {"X": "y"}
    answer = await http.patch("/v1/sandboxes/ada", json={"network": {"rules": shown}})
    assert answer.status_code == 200, answer.text
    wanted = {"api.example.com": {"Authorization": SECRET, "X-Plain": "changed"}, "other.example.com": {"X": "y"}}
    assert (await record(house, made["id"])).egress.rules == wanted
    assert house.node.guests[SandboxId(made["id"])].egress.rules == wanted
    detail = (await http.get(f"/sandboxes/{made['id']}")).json()["network"]["rules"]
    assert detail["other.example.com"] == [{"transform": {"headers": {"X": MASK}}}]


@pytest.mark.parametrize("rules", [{"api.example.com": {"New": MASK}}, {"other.example.com": {"Authorization": MASK}}])
async def test_a_mask_of_nothing_is_refused(http: httpx.AsyncClient, rules: dict[str, Any]) -> None:
    await make(http, name="ada", network={"rules": RULES})
    answer = await http.patch("/v1/sandboxes/ada", json={"network": {"rules": rules}})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "mask_of_nothing")
    assert (await http.post("/v1/sandboxes", json={"network": {"rules": rules}})).status_code == 400
    e2b = {"templateID": "base", "network": {"rules": {host: [{"transform": {"headers": h}}] for host, h in rules.items()}}}
    assert (await http.post("/v2/sandboxes", json=e2b)).status_code == 400
