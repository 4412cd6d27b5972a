"""What a sandbox may reach and who may reach it, at `/v1`."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from roost.domain.egress import OPEN, Egress
from roost.domain.ids import SandboxId
from roost.domain.proxy import Proxy
from roost.domain.rules import MASK

from .house import House

pytestmark = pytest.mark.anyio

PLAIN = {
    "internet": True,
    "allow": [],
    "deny": [],
    "dns": None,
    "rules": {},
    "proxy": None,
    "public": True,
    "mask_host": None,
    "https_ports": [],
}


async def create(http: httpx.AsyncClient, **network: Any) -> dict[str, Any]:
    answer = await http.post("/v1/sandboxes", json={"name": "ada", **({"network": network} if network else {})})
    assert answer.status_code == 201, answer.text
    return answer.json()


async def change(http: httpx.AsyncClient, **network: Any) -> dict[str, Any]:
    answer = await http.patch("/v1/sandboxes/ada", json={"network": network})
    assert answer.status_code == 200, answer.text
    return answer.json()["network"]


def egress_of(house: House, made: dict[str, Any]) -> Egress:
    return house.node.guests[SandboxId(made["id"])].egress


async def test_a_plain_one_shows_that_everything_is_open(http: httpx.AsyncClient, house: House) -> None:
    made = await create(http)
    assert made["network"] == PLAIN
    assert egress_of(house, made) == OPEN


async def test_it_is_made_with_what_it_may_reach(http: httpx.AsyncClient, house: House) -> None:
    proxy = {"address": "http://proxy.example.com:3128", "username": "ada", "password": "hidden"}
    rules = {"api.example.com": {"X-Key": "value"}}
    made = await create(http, internet=False, allow=["api.example.com"], dns=["203.0.113.53"], rules=rules, proxy=proxy)
    shown = {"address": "http://proxy.example.com:3128", "username": "ada", "tls": False, "server_name": None}
    wanted = {"internet": False, "allow": ["api.example.com"], "dns": ["203.0.113.53"], "proxy": shown}
    wanted["rules"] = {"api.example.com": {"headers": {"X-Key": MASK}, "plain": False}}
    assert made["network"] == PLAIN | wanted
    assert egress_of(house, made) == Egress(
        internet=False,
        allow=("api.example.com",),
        dns=("203.0.113.53",),
        rules=rules,
        proxy=Proxy("http://proxy.example.com:3128", "ada", "hidden"),
    )


async def test_a_rule_says_whether_it_counts_in_plain_http(http: httpx.AsyncClient, house: House) -> None:
    plain = {"api.example.com": {"headers": {"X-Key": "value"}, "plain": True}}
    shown = {"api.example.com": {"headers": {"X-Key": MASK}, "plain": True}}
    made = await create(http, rules=plain)
    assert made["network"]["rules"] == shown
    assert egress_of(house, made) == Egress(rules={"api.example.com": {"X-Key": "value"}}, plain=("api.example.com",))
    assert (await change(http, rules=shown))["rules"] == shown, "as it is shown, so it is taken"
    assert egress_of(house, made).rules == {"api.example.com": {"X-Key": "value"}}, "the mask keeps what is there"
    changed = await change(http, rules={"api.example.com": {"X-Key": "other"}})
    assert changed["rules"] == {"api.example.com": {"headers": {"X-Key": MASK}, "plain": False}}
    assert egress_of(house, made).plain == ()


async def test_only_the_fields_that_are_mentioned_change(http: httpx.AsyncClient, house: House) -> None:
    made = await create(http, internet=False, allow=["203.0.113.7"])
    assert await change(http, deny=["203.0.113.0/24"]) == PLAIN | {
        "internet": False,
        "allow": ["203.0.113.7"],
        "deny": ["203.0.113.0/24"],
    }
    assert egress_of(house, made) == Egress(internet=False, allow=("203.0.113.7",), deny=("203.0.113.0/24",))
    assert await change(http, internet=True, allow=[], deny=[]) == PLAIN
    assert egress_of(house, made) == OPEN
    await http.post("/v1/sandboxes/ada/pause")
    assert (await change(http, internet=False))["internet"] is False
    await http.post("/v1/sandboxes/ada/resume")
    assert egress_of(house, made) == Egress(internet=False)


async def traffic_token(http: httpx.AsyncClient) -> str | None:
    return (await http.post("/v1/sandboxes/ada/token")).json()["traffic_token"]


async def test_closing_its_ports_gives_a_token_that_stays(http: httpx.AsyncClient, house: House) -> None:
    await create(http)
    closed = await change(http, public=False, https_ports=[8443])
    assert closed["https_ports"] == [8443]
    token = await traffic_token(http)
    assert token
    assert await change(http, mask_host="inside:${PORT}") == closed | {"mask_host": "inside:${PORT}"}
    assert await traffic_token(http) == token
    await change(http, public=True)
    assert await traffic_token(http) is None


@pytest.mark.parametrize(
    ("network", "code"),
    [
        ({"allow": ["api.example.com"]}, "egress_names_need_closed"),
        ({"proxy": {"address": "10.0.0.1:1080"}}, "egress_proxy_private"),
        ({"proxy": {"address": "nowhere"}}, "egress_proxy_invalid"),
        ({"dns": ["no address"]}, "egress_invalid"),
        ({"rules": {"api.example.com:443": {"X-Key": "value"}}}, "egress_invalid"),
        ({"rules": {"api.example.com": {"headers": {"X-Key": "value"}, "plane": True}}}, None),
        ({"https_ports": [0]}, None),
        ({"alow": []}, None),
    ],
)
async def test_what_cannot_be_is_refused_and_changes_nothing(
    http: httpx.AsyncClient, house: House, network: dict[str, Any], code: str | None
) -> None:
    made = await create(http)
    for answer in (
        await http.post("/v1/sandboxes", json={"network": network}),
        await http.patch("/v1/sandboxes/ada", json={"network": network}),
    ):
        assert answer.status_code == 400
        assert code in (None, answer.json()["error"]["code"])
    assert (await http.get("/v1/sandboxes/ada")).json()["network"] == PLAIN
    assert egress_of(house, made) == OPEN
