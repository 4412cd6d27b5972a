"""What no SDK shows: older versions of the API, encoded paths, chunked bodies, and how bad input is refused."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.e2b.conftest import end
from tests.real.server import Server

pytestmark = pytest.mark.anyio

NOBODY = "i" + "0" * 20


@pytest.fixture
async def made(http: httpx.AsyncClient, server: Server) -> AsyncIterator[dict[str, Any]]:
    answer = await http.post("/sandboxes", json={"templateID": "base", "timeout": 300, "secure": True})
    assert answer.status_code == 201
    yield answer.json()
    end(server, answer.json()["sandboxID"])


def refused(answer: httpx.Response, status: int) -> dict[str, Any]:
    """As E2B's clients parse it: JSON, with the status in it."""
    body = answer.json()
    assert (answer.status_code, body["code"]) == (status, status), body
    assert isinstance(body["message"], str) and body["message"]
    return body


async def test_the_first_version_is_served_too(http: httpx.AsyncClient, made: dict[str, Any]) -> None:
    path = f"/sandboxes/{made['sandboxID']}"
    assert made["envdAccessToken"] and made["envdVersion"] == "0.6.13" and made["clientID"]
    assert (await http.post(f"{path}/connect", json={"timeout": 20})).status_code == 200
    assert (await http.post(f"{path}/refreshes", json={"duration": 20})).status_code == 204
    assert (await http.post(f"{path}/refreshes")).status_code == 204
    refused(await http.post(f"{path}/resume", json={"timeout": 20}), 409)
    assert (await http.post(f"{path}/pause")).status_code == 204
    refused(await http.post(f"{path}/pause"), 409)
    refused(await http.post(f"{path}/timeout", json={"timeout": 20}), 404)
    assert [each["sandboxID"] for each in (await http.get("/sandboxes")).json()].count(made["sandboxID"]) == 0
    shown = (await http.get(path)).json()
    assert (shown["state"], shown["pauseMode"]) == ("paused", "full")
    again = await http.post(f"{path}/resume", json={"timeout": 300, "autoPause": True})
    assert (again.status_code, again.json()["envdAccessToken"]) == (201, made["envdAccessToken"])
    assert (await http.get(path)).json()["lifecycle"]["onTimeout"] == "pause"
    assert [each["sandboxID"] for each in (await http.get("/sandboxes")).json()].count(made["sandboxID"]) == 1


async def test_a_sandbox_has_a_log_of_json_lines(http: httpx.AsyncClient, made: dict[str, Any]) -> None:
    log = (await http.get(f"/sandboxes/{made['sandboxID']}/logs")).json()
    lines = [json.loads(each["line"]) for each in log["logs"]]
    assert [each["message"] for each in lines] == [each["message"] for each in log["logEntries"]]
    assert lines[0]["message"] == "sandbox.created" and lines[0]["level"] == "info"
    newest = (await http.get(f"/v2/sandboxes/{made['sandboxID']}/logs", params={"direction": "backward", "limit": 1})).json()
    assert newest["logs"][0] == log["logEntries"][-1]
    assert (await http.get(f"/sandboxes/{made['sandboxID']}/logs", params={"start": 10**13})).json()["logs"] == []


async def test_names_are_one_segment_of_the_path(http: httpx.AsyncClient, made: dict[str, Any]) -> None:
    name = f"snap-{uuid.uuid4().hex[:8]}"
    taken = (await http.post(f"/sandboxes/{made['sandboxID']}/snapshots", json={"name": f"{name}:v1"})).json()
    assert taken == {"snapshotID": f"default/{name}:v1", "names": [f"default/{name}:v1"]}
    encoded = f"default%2F{name}%3Av1"
    assert (await http.get(f"/templates/aliases/{encoded}")).status_code == 200
    assert (await http.get(f"/templates/{encoded}/tags")).json()[0]["tag"] == "v1"
    refused(await http.get(f"/templates/aliases/other%2F{name}%3Av1"), 404)
    assert (await http.delete(f"/templates/{encoded}")).status_code == 204
    refused(await http.delete(f"/templates/{encoded}"), 404)


async def test_bodies_may_come_in_chunks(http: httpx.AsyncClient, made: dict[str, Any]) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for part in (b'{"time', b'out": 5', b"00}"):
            yield part

    headers = {"Content-Type": "application/json"}
    answer = await http.post(f"/sandboxes/{made['sandboxID']}/timeout", content=chunks(), headers=headers)
    assert answer.status_code == 204


async def test_nobody_gets_in_without_a_key(server: Server) -> None:
    async with httpx.AsyncClient(base_url=server.url, timeout=60) as http:
        assert (await http.get("/health")).status_code == 204
        for method, path in (("GET", "/v2/sandboxes"), ("POST", "/v2/sandboxes"), ("GET", "/volumes"), ("GET", "/teams")):
            refused(await http.request(method, path), 401)
            refused(await http.request(method, path, headers={"X-API-KEY": "e2b_" + "0" * 40}), 401)


async def test_what_is_nobodys_is_not_found(http: httpx.AsyncClient) -> None:
    path = f"/sandboxes/{NOBODY}"
    for method, tail in (("GET", ""), ("DELETE", ""), ("POST", "/pause"), ("POST", "/fork"), ("GET", "/metrics")):
        refused(await http.request(method, path + tail), 404)
    refused(await http.put(f"{path}/network", json={}), 404)
    refused(await http.post(f"/v2{path}/connect", json={}), 404)


BAD_CREATES: list[Any] = [
    {},
    [],
    "text",
    {"templateID": 5},
    {"templateID": ""},
    {"templateID": "base", "timeout": 0},
    {"templateID": "base", "timeout": "5"},
    {"templateID": "base", "timeout": 1e300},
    {"templateID": "base", "autoPauseMemory": False},
    {"templateID": "base", "autoPause": True, "autoPauseMemory": False, "autoResume": {"enabled": True}},
    {"templateID": "base", "metadata": {"a": 1}},
    {"templateID": "base", "metadata": {"a": "x" * 5000}},
    {"templateID": "base", "envVars": {"A=B": "c"}},
    {"templateID": "base", "network": {"denyOut": ["example.com"]}},
    {"templateID": "base", "network": {"allowOut": ["1.2.3.4/99"]}},
    {"templateID": "base\ud800"},
]


@pytest.mark.parametrize("body", BAD_CREATES, ids=range(len(BAD_CREATES)))
async def test_bad_input_is_the_callers(http: httpx.AsyncClient, body: Any) -> None:
    content = json.dumps(body).encode()
    answer = await http.post("/v2/sandboxes", content=content, headers={"Content-Type": "application/json"})
    refused(answer, 404 if body == {"templateID": ""} else 400)


async def test_other_bad_input(http: httpx.AsyncClient, made: dict[str, Any]) -> None:
    path = f"/sandboxes/{made['sandboxID']}"
    refused(await http.post("/v2/sandboxes", content=b"{", headers={"Content-Type": "application/json"}), 400)
    refused(await http.post("/v2/sandboxes", content=b"x" * 2_000_000, headers={"Content-Type": "application/json"}), 413)
    for query in ({"limit": "0"}, {"limit": "101"}, {"limit": "x"}, {"nextToken": "x"}, {"state": "dead"}, {"startedAfter": "x"}):
        refused(await http.get("/v2/sandboxes", params=query), 400)
    refused(await http.post(f"{path}/timeout", json={}), 400)
    refused(await http.post(f"{path}/fork", json={"count": 21}), 400)
    refused(await http.post(f"{path}/snapshots", json={"name": "No Such Name!"}), 400)
    refused(await http.get(f"{path}/metrics", params={"start": "10", "end": "5"}), 400)
    refused(await http.get("/templates/..%2F..%2Fetc"), 404)
    refused(await http.get("/sandboxes/none/such/path"), 404)
    refused(await http.request("PATCH", path), 405)
    refused(await http.post("/v2/sandboxes", json={"templateID": "base"}, headers={"Idempotency-Key": "a b"}), 400)


async def test_what_is_not_there_yet_says_so(http: httpx.AsyncClient) -> None:
    for method, path in (
        ("POST", "/templates"),
        ("POST", "/v2/templates"),
        ("PATCH", "/v2/templates/base"),
        ("GET", "/volumes"),
        ("POST", "/volumes"),
        ("GET", "/secrets"),
        ("DELETE", "/secrets/a%2Fb"),
        ("GET", "/events/webhooks"),
    ):
        refused(await http.request(method, path), 501)
    refused(await http.post("/v2/sandboxes", json={"templateID": "base", "volumeMounts": [{"name": "v", "path": "/v"}]}), 501)


async def test_teams_and_keys(http: httpx.AsyncClient, server: Server) -> None:
    assert (await http.get("/teams")).json() == [
        {"teamID": "default", "name": "default", "apiKey": server.key, "isDefault": True}
    ]
    created = (await http.post("/api-keys", json={"name": "another"})).json()
    async with httpx.AsyncClient(base_url=server.url, headers={"X-API-KEY": created["key"]}, timeout=60) as other:
        assert (await other.get("/v2/sandboxes")).status_code == 200
        assert created["key"].endswith(created["mask"]["maskedValueSuffix"])
        assert created["id"] in [each["id"] for each in (await http.get("/api-keys")).json()]
        assert (await http.delete(f"/api-keys/{created['id']}")).status_code == 204
        refused(await other.get("/v2/sandboxes"), 401)
    refused(await http.delete(f"/api-keys/{created['id']}"), 404)
