from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network

import pytest

from roost.domain.address import plan_slot
from roost.domain.egress import NEVER, OPEN, Egress
from roost.domain.errors import Fault
from roost.domain.proxy import Proxy
from roost.node.network import firewall, nftables

RANGE = IPv4Network("198.18.32.0/20")
DESK = firewall.HostServices(IPv4Address("198.18.32.1"), 4753, 4780)


GATE = 40123


def rules(egress: Egress, chain: str = "egress") -> list[str]:
    prefix = f"add rule ip roost {chain} "
    lines = firewall.render_egress(DESK, egress, GATE if egress.gated else None).splitlines()
    assert lines[:2] == ["flush chain ip roost egress", "flush chain ip roost input"]
    return [line.removeprefix(prefix) for line in lines if line.startswith(prefix)]


NAMES = "ip daddr 198.18.32.1 meta l4proto { tcp, udp } th dport 4753 accept"
NEVER_RULE = "ip daddr @never goto refuse"


@pytest.mark.parametrize(
    ("egress", "expected"),
    [
        (OPEN, [NAMES, NEVER_RULE, "accept"]),
        (Egress(internet=False), [NAMES, NEVER_RULE, "goto refuse"]),  # the forwarder refuses, which is sooner believed
        (
            Egress(internet=False, allow=("203.0.113.7", "192.0.2.0/24")),
            [NAMES, NEVER_RULE, "ip daddr { 192.0.2.0/24, 203.0.113.7/32 } accept", "goto refuse"],
        ),
        (
            Egress(allow=("203.0.113.7",), deny=("203.0.113.0/24",)),
            [
                NAMES,
                NEVER_RULE,
                "ip daddr { 203.0.113.7/32 } accept",
                "ip daddr { 203.0.113.0/24 } goto refuse",
                "accept",
            ],
        ),
    ],
)
def test_egress_is_rendered_in_the_order_of_its_verdict(egress: Egress, expected: list[str]) -> None:
    assert rules(egress) == expected


TO_GATE = f"meta l4proto tcp redirect to :{GATE}"
ASIDE = ['iifname != "lan" return', "ip daddr 169.254.7.1 return", "ip daddr @never return"]


@pytest.mark.parametrize(
    ("egress", "straight", "detour"),
    [
        (
            Egress(internet=False, allow=("a.example", "203.0.113.7"), dns=("203.0.113.9",)),
            [NAMES, NEVER_RULE, "ip daddr { 203.0.113.7/32, 203.0.113.9/32 } accept", "goto refuse"],
            [*ASIDE, "ip daddr { 203.0.113.7/32, 203.0.113.9/32 } return", TO_GATE],
        ),
        (
            Egress(rules={"a.example": {"X": "y"}}),
            [NAMES, NEVER_RULE, "tcp dport { 80, 443 } goto refuse", "udp dport 443 goto refuse", "accept"],
            [*ASIDE, f"tcp dport {{ 80, 443 }} {TO_GATE}"],
        ),
        (
            Egress(proxy=Proxy("proxy.example:1080"), allow=("203.0.113.7",)),
            [NAMES, NEVER_RULE, "meta l4proto tcp goto refuse", "ip daddr { 203.0.113.7/32 } accept", "accept"],
            [*ASIDE, TO_GATE],
        ),
    ],
)
def test_what_has_to_be_looked_into_goes_to_the_gate(egress: Egress, straight: list[str], detour: list[str]) -> None:
    assert rules(egress) == straight
    assert rules(egress, "detour") == detour
    assert rules(egress, "input") == [
        f'iifname "lan" ip saddr 169.254.7.2 ct status dnat tcp dport {GATE} accept',
        'iifname "wan" ct state established,related accept',
    ]


def test_a_policy_without_a_gate_takes_the_detour_away() -> None:
    assert "delete chain ip roost detour" in firewall.render_egress(DESK, OPEN)
    assert not rules(OPEN, "detour") + rules(OPEN, "input")


def test_a_slots_ruleset_names_its_own_addresses_and_ends_with_its_egress() -> None:
    plan = plan_slot("abc12", RANGE, 3)
    ruleset = firewall.render_slot(plan, DESK, Egress(internet=False))
    assert f"ip daddr {plan.router_address} dnat to 169.254.7.2" in ruleset
    assert f"snat to {plan.router_address}" in ruleset
    assert ruleset.startswith("table ip roost\ndelete table ip roost\n"), "a slot that is used again loses what it had"
    assert ruleset.endswith(firewall.render_egress(DESK, Egress(internet=False)))


def test_the_host_table_names_no_slot_and_every_closed_network() -> None:
    ruleset = firewall.render_host("abc12", RANGE, DESK, {})
    assert '"rabc12w*"' in ruleset
    assert "rabc12w1" not in ruleset
    assert "zone" not in ruleset
    assert ruleset.startswith("table ip roost_abc12\ndelete table ip roost_abc12\ntable ip roost_abc12 {")
    assert all(str(network) in ruleset for network in NEVER)


def test_without_nft_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(Fault, match="Install the package nftables"):
        nftables.by_command("", "the host")
