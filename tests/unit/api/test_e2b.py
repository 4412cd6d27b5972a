"""E2B's door on fakes: what it makes of a request, and the shape of what it answers."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from roost.api.e2b.names import Name, from_ours, parse
from roost.api.e2b.rendering import SHOWN_AS
from roost.domain.egress import Egress
from roost.domain.errors import EngineFailed, NodeFull, SnapshotDamaged, TemplateNotFound
from roost.domain.ids import SandboxId, TeamId
from roost.domain.lifecycle import State
from roost.domain.proxy import Proxy
from roost.domain.rules import MASK
from roost.domain.sandbox import OnTimeout

from .house import House

pytestmark = pytest.mark.anyio

TEAM = TeamId("default")
CERTIFICATE = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


async def create(http: httpx.AsyncClient, **body: Any) -> dict[str, Any]:
    answer = await http.post("/v2/sandboxes", json={"templateID": "base", **body})
    assert answer.status_code == 201, answer.text
    return answer.json()


async def policy_of(house: House, id: str) -> Any:
    return (await house.services.sandboxes.know(SandboxId(id))).policy


async def expiry_of(house: House, id: str) -> float:
    at = (await house.services.sandboxes.know(SandboxId(id))).expires_at
    assert at is not None
    return at - house.clock.now()


async def test_the_answer_of_a_create_has_what_clients_need(http: httpx.AsyncClient, house: House) -> None:
    made = await create(http)
    [template] = (await http.get("/templates")).json()
    assert made["templateID"] == template["templateID"] and made["alias"] == "base"
    assert made["domain"] == "roost.localhost:4700"
    assert made["envdAccessToken"] and made["trafficAccessToken"] is None
    assert set(made) >= {"sandboxID", "clientID", "envdVersion"}


@pytest.mark.parametrize(
    ("body", "timeout_s", "on_timeout", "wakes", "keeps"),
    [
        ({}, 300, OnTimeout.KILL, False, True),
        ({"timeout": 40 * 24 * 3600}, 40 * 24 * 3600, OnTimeout.KILL, False, True),
        ({"autoPause": True}, 300, OnTimeout.PAUSE, False, True),
        ({"autoPause": True, "autoPauseMemory": False}, 300, OnTimeout.PAUSE, False, False),
        ({"autoPause": True, "autoResume": {"enabled": True}, "timeout": 900}, 900, OnTimeout.PAUSE, True, True),
    ],
)
async def test_a_lifecycle_becomes_a_policy(
    http: httpx.AsyncClient, house: House, body: dict[str, Any], timeout_s: float, on_timeout: OnTimeout, wakes: bool, keeps: bool
) -> None:
    made = await create(http, **body)
    policy = await policy_of(house, made["sandboxID"])
    assert (policy.timeout_s, policy.on_timeout) == (timeout_s, on_timeout)
    assert (policy.wake_on_traffic, policy.keep_memory) == (wakes, keeps)
    assert await expiry_of(house, made["sandboxID"]) == timeout_s


async def test_traffic_wakes_for_five_minutes_at_least(http: httpx.AsyncClient, house: House) -> None:
    made = await create(http, timeout=10, autoPause=True, autoResume={"enabled": True})
    assert await expiry_of(house, made["sandboxID"]) == 10
    assert (await policy_of(house, made["sandboxID"])).timeout_s == 300


async def test_the_first_version_has_a_shorter_default(http: httpx.AsyncClient, house: House) -> None:
    made = (await http.post("/sandboxes", json={"templateID": "base"})).json()
    assert await expiry_of(house, made["sandboxID"]) == 15


async def test_connect_never_shortens_and_wakes_for_as_long_as_told(http: httpx.AsyncClient, house: House) -> None:
    id = (await create(http))["sandboxID"]
    assert (await http.post(f"/v2/sandboxes/{id}/connect", json={"timeout": 5})).status_code == 200
    assert await expiry_of(house, id) == 300
    assert (await http.post(f"/v2/sandboxes/{id}/connect", json={"timeout": 500})).status_code == 200
    assert await expiry_of(house, id) == 500
    assert (await http.post(f"/sandboxes/{id}/pause")).status_code == 204
    assert (await http.post(f"/v2/sandboxes/{id}/connect", json={"timeout": 5})).status_code == 201
    assert await expiry_of(house, id) == 5


async def test_what_a_sandbox_may_reach_is_the_nodes_business(http: httpx.AsyncClient, house: House) -> None:
    id = SandboxId((await create(http, network={"denyOut": ["0.0.0.0/0"], "allowOut": ["203.0.113.7"]}))["sandboxID"])
    assert house.node.guests[id].egress == Egress(internet=False, allow=("203.0.113.7",))
    shown = (await http.get(f"/sandboxes/{id}")).json()
    assert shown["allowInternetAccess"] is False
    assert shown["network"] == {"allowPublicTraffic": True, "allowOut": ["203.0.113.7"], "denyOut": ["0.0.0.0/0"]}
    assert (await http.put(f"/sandboxes/{id}/network", json={"denyOut": ["203.0.113.0/24"]})).status_code == 204
    assert house.node.guests[id].egress == Egress(deny=("203.0.113.0/24",))
    [child] = (await http.post(f"/sandboxes/{id}/fork")).json()
    assert house.node.guests[child["sandbox"]["sandboxID"]].egress == Egress(deny=("203.0.113.0/24",))
    await http.post(f"/sandboxes/{id}/pause")
    assert (await http.put(f"/sandboxes/{id}/network", json={"allow_internet_access": False})).status_code == 204
    await http.post(f"/v2/sandboxes/{id}/connect")
    assert house.node.guests[id].egress == Egress(internet=False)


async def test_a_rule_counts_for_https_unless_it_says_otherwise(http: httpx.AsyncClient, house: House) -> None:
    rule = {"transform": {"headers": {"X-Key": "value"}}}
    network = {"rules": {"api.example.com": [rule], "plain.example.com": [{**rule, "plain": True}]}}
    id = SandboxId((await create(http, network=network))["sandboxID"])
    assert house.node.guests[id].egress.plain == ("plain.example.com",)
    masked = {"transform": {"headers": {"X-Key": MASK}}}
    shown = {"api.example.com": [masked], "plain.example.com": [{**masked, "plain": True}]}
    assert (await http.get(f"/sandboxes/{id}")).json()["network"]["rules"] == shown


async def test_rules_by_name_headers_proxies_and_dns_are_taken_and_shown(http: httpx.AsyncClient, house: House) -> None:
    network = {
        "allowOut": ["api.example.com", "*.example.org"],
        "denyOut": ["0.0.0.0/0"],
        "dnsServers": ["203.0.113.53"],
        "rules": {"api.example.com": [{"transform": {"headers": {"X-Key": "value"}}}]},
        "egressProxy": {
            "address": "proxy.example.com:1080",
            "username": "ada",
            "password": "hidden",
            "tls": {"enabled": True, "serverName": "proxy.internal", "caCert": CERTIFICATE},
        },
    }
    id = SandboxId((await create(http, network=network))["sandboxID"])
    assert house.node.guests[id].egress == Egress(
        internet=False,
        allow=("api.example.com", "*.example.org"),
        dns=("203.0.113.53",),
        rules={"api.example.com": {"X-Key": "value"}},
        proxy=Proxy("proxy.example.com:1080", "ada", "hidden", tls=True, server_name="proxy.internal", ca_cert=CERTIFICATE),
    )
    answer = await http.get(f"/sandboxes/{id}")
    assert "hidden" not in answer.text and "CERTIFICATE" not in answer.text
    shown = {"address": "proxy.example.com:1080", "username": "ada", "tls": {"enabled": True, "serverName": "proxy.internal"}}
    rules = {"api.example.com": [{"transform": {"headers": {"X-Key": MASK}}}]}
    assert answer.json()["network"] == {"allowPublicTraffic": True, **network, "egressProxy": shown, "rules": rules}
    assert (await http.put(f"/sandboxes/{id}/network", json={"dnsServers": []})).status_code == 204
    assert house.node.guests[id].egress == Egress(dns=())
    assert (await http.get(f"/sandboxes/{id}")).json()["network"] == {"allowPublicTraffic": True, "dnsServers": []}


@pytest.mark.parametrize(
    ("network", "status"),
    [
        ({"allowOut": ["api.example.com"]}, 400),
        ({"denyOut": ["api.example.com"]}, 400),
        ({"rules": {"api.example.com": [{}, {}]}}, 400),
        ({"rules": {"api.example.com": [{"transform": {"headers": {"X": "${e2b.secrets.key}"}}}]}}, 501),
        ({"egressProxy": {}}, 400),
        ({"egressProxy": {"address": "192.168.0.1:1080"}}, 400),
        ({"dnsServers": ["192.168.0.1"]}, 400),
    ],
)
async def test_what_a_network_cannot_be_is_said(http: httpx.AsyncClient, network: dict[str, Any], status: int) -> None:
    for answer in (
        await http.post("/v2/sandboxes", json={"templateID": "base", "network": network}),
        await http.put(f"/sandboxes/{(await create(http))['sandboxID']}/network", json=network),
    ):
        assert (answer.status_code, answer.json()["code"]) == (status, status)


async def test_errors_have_their_status_in_the_body(http: httpx.AsyncClient, house: House) -> None:
    for point, error, status, word in (
        ("create", NodeFull("memory", "1", "0"), 503, "sandbox_capacity_unavailable"),
        ("create", EngineFailed("boot", "no"), 500, "engine_failed"),
    ):
        house.node.fail(point, error)
        answer = await http.post("/v2/sandboxes", json={"templateID": "base"})
        body = answer.json()
        assert (answer.status_code, body["code"], body["error_code"]) == (status, status, word)
        assert set(body) == {"code", "message", "error_code"}


async def test_memory_that_cannot_be_used_is_said_in_the_clients_words(http: httpx.AsyncClient, house: House) -> None:
    id = (await create(http))["sandboxID"]
    await http.post(f"/sandboxes/{id}/pause")
    house.node.fail("resume", SnapshotDamaged("s1", "memory", "has another hash"))
    answer = await http.post(f"/v2/sandboxes/{id}/connect")
    assert (answer.status_code, answer.json()["error_code"]) == (409, "sandbox_snapshot_guest_agent_unresponsive")
    assert (await http.post(f"/v2/sandboxes/{id}/connect", json={"memory": False})).status_code == 201


async def test_a_fork_that_fails_in_part_says_which(http: httpx.AsyncClient, house: House) -> None:
    id = (await create(http))["sandboxID"]
    house.node.fail("create", EngineFailed("restore", "no"))
    children = (await http.post(f"/sandboxes/{id}/fork", json={"count": 3})).json()
    assert sorted("error" if "error" in child else "sandbox" for child in children) == ["error", "sandbox", "sandbox"]
    [failed] = [child["error"] for child in children if "error" in child]
    assert failed["code"] == 500


async def test_sleeps_are_not_listed_as_snapshots(http: httpx.AsyncClient) -> None:
    id = (await create(http))["sandboxID"]
    kept = (await http.post(f"/sandboxes/{id}/snapshots", json={"name": "mine"})).json()
    await http.post(f"/sandboxes/{id}/pause")
    assert (await http.get("/snapshots")).json() == [kept]
    assert (await http.get("/snapshots", params={"sandboxID": "nobody"})).json() == []


async def test_a_dead_sandbox_under_an_idempotency_key_is_a_conflict(http: httpx.AsyncClient) -> None:
    headers = {"Idempotency-Key": "once"}
    made = (await http.post("/v2/sandboxes", json={"templateID": "base"}, headers=headers)).json()
    await http.delete(f"/sandboxes/{made['sandboxID']}")
    answer = await http.post("/v2/sandboxes", json={"templateID": "base"}, headers=headers)
    assert (answer.status_code, answer.json()["error_code"]) == (409, "idempotency_outcome_unknown")


async def test_paths_of_our_own_keep_our_own_shape(http: httpx.AsyncClient) -> None:
    assert "error" in (await http.get("/v1/nothing")).json()
    assert "error" in (await http.get("/nothing")).json()
    assert (await http.get("/sandboxes/i/nothing")).json()["code"] == 404
    large = await http.post("/v1/sandboxes", content=b"x" * 2_000_000)
    assert (large.status_code, large.json()["error"]["code"]) == (413, "too_large")
    large = await http.post("/v2/sandboxes", content=b"x" * 2_000_000)
    assert (large.status_code, large.json()["code"]) == (413, 413)


def test_every_living_state_is_shown() -> None:
    assert set(State) - set(SHOWN_AS) == {State.KILLING, State.DEAD}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("base", Name("base")),
        (" Base:Default ", Name("base")),
        ("default/base", Name("base")),
        ("default/snap:v1.0", Name("snap", "v1.0")),
    ],
)
def test_names(text: str, name: Name) -> None:
    assert parse(text, TEAM) == name
    assert from_ours(name.ours) == name
    assert parse(name.full(TEAM), TEAM) == name


def test_other_teams_names_are_not_found() -> None:
    with pytest.raises(TemplateNotFound):
        parse("other/base", TEAM)
