"""What keys of each scope are answered."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from .house import House

pytestmark = pytest.mark.anyio

NOBODY = "i" + "0" * 20


async def key(http: httpx.AsyncClient, scope: str) -> dict[str, str]:
    made = (await http.post("/v1/keys", json={"name": scope, "scope": scope})).json()
    assert made["scope"] == scope
    return {"Authorization": f"Bearer {made['secret']}"}


async def make(http: httpx.AsyncClient, **body: Any) -> str:
    return (await http.post("/v1/sandboxes", json=body)).json()["id"]


@pytest.mark.parametrize("scope", ["full", "read-only"])
async def test_the_machine_is_the_operators(http: httpx.AsyncClient, scope: str) -> None:
    headers = await key(http, scope)
    for method, path in (("GET", "/v1/node"), ("POST", "/v1/node/sleep-all")):
        answer = await http.request(method, path, headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "scope_too_small")
    version = (await http.get("/v1/version", headers=headers)).json()
    assert version["domain"] and version["home"] is None and version["pid"] is None
    assert (await http.get("/v1/version")).json()["home"] == "/home/of/tests"


async def test_a_key_for_one_sandbox_knows_no_other(http: httpx.AsyncClient) -> None:
    mine, other = await make(http, name="mine"), await make(http, name="other")
    headers = await key(http, f"sandbox:{mine}")
    for ref in (mine, "mine"):
        assert (await http.get(f"/v1/sandboxes/{ref}", headers=headers)).json()["id"] == mine
    assert (await http.post("/v1/sandboxes/mine/pause", headers=headers)).json()["state"] == "paused"
    assert (await http.post(f"/v2/sandboxes/{mine}/connect", headers=headers, json={})).status_code == 201
    unknown = await http.get(f"/v1/sandboxes/{NOBODY}", headers=headers)
    for ref in (other, "other"):
        answer = await http.get(f"/v1/sandboxes/{ref}", headers=headers)
        assert (answer.status_code, answer.text.replace(ref, NOBODY)) == (404, unknown.text)
        assert (await http.post(f"/v1/sandboxes/{ref}/pause", headers=headers)).status_code == 404
    for method, path in (
        ("POST", "/v1/sandboxes"), ("POST", "/v1/sandboxes/mine/fork"), ("POST", "/v1/sandboxes/mine/undelete"),
        ("GET", "/v1/keys"), ("GET", "/v1/node"),
    ):  # fmt: skip
        assert (await http.request(method, path, headers=headers, json={})).status_code == 403, (method, path)
    assert (await http.get("/v1/sandboxes/other")).json()["state"] == "running"


async def test_an_agents_key_does_not_answer_what_the_agent_asks(http: httpx.AsyncClient) -> None:
    mine = await make(http)
    headers = await key(http, f"sandbox:{mine}")
    asked = (
        await http.post(f"/v1/sandboxes/{mine}/questions", headers=headers, json={"text": "May I?", "kind": "approval"})
    ).json()
    answer = await http.post(f"/v1/questions/{asked['id']}/answer", headers=headers, json={"choice": "approve"})
    assert answer.status_code == 403
    assert (await http.get(f"/v1/questions/{asked['id']}")).json()["state"] == "open"


async def test_nobody_is_given_more_than_the_giver_has(http: httpx.AsyncClient, house: House) -> None:
    headers = await key(http, "full")
    refused = await http.post("/v1/keys", json={"name": "more", "scope": "operator"}, headers=headers)
    assert (refused.status_code, refused.json()["error"]["scope"]) == (403, "full")
    assert (await http.post("/v1/keys", json={"name": "x", "scope": "root"}, headers=headers)).status_code == 400
    assert (await http.post("/v1/keys", json={"name": "x", "scope": f"sandbox:{NOBODY}"}, headers=headers)).status_code == 404
    [operator] = [each for each in (await http.get("/v1/keys")).json()["keys"] if each["scope"] == "operator"]
    assert (await http.delete(f"/v1/keys/{operator['id']}", headers=headers)).status_code == 403
    last = await http.delete(f"/v1/keys/{operator['id']}")
    assert (last.status_code, last.json()["error"]["code"]) == (409, "last_operator_key")
    assert (await http.get("/v1/session")).json()["key"]["scope"] == "operator"
    assert house.key
