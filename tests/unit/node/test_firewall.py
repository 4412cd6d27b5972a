from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network

import pytest

from roost.domain.address import plan_slot
from roost.domain.egress import NEVER, OPEN, Egress
from roost.domain.errors import Fault
from roost.node import firewall

RANGE = IPv4Network("198.18.32.0/20")
DNS = (IPv4Address("198.18.32.1"), 4753)


def rules(egress: Egress) -> list[str]:
    first, *rest = firewall.render_egress(DNS, egress).splitlines()
    assert first == "flush chain ip roost egress"
    prefix = "add rule ip roost egress "
    assert all(line.startswith(prefix) for line in rest)
    return [line.removeprefix(prefix) for line in rest]


NAMES = "ip daddr 198.18.32.1 meta l4proto { tcp, udp } th dport 4753 accept"
NEVER_RULE = "ip daddr @never goto refuse"


@pytest.mark.parametrize(
    ("egress", "expected"),
    [
        (OPEN, [NAMES, NEVER_RULE, "accept"]),
        (Egress(internet=False), [NEVER_RULE, "goto refuse"]),
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


def test_a_slots_ruleset_names_its_own_addresses_and_ends_with_its_egress() -> None:
    plan = plan_slot("abc12", RANGE, 3)
    ruleset = firewall.render_slot(plan, DNS, Egress(internet=False))
    assert f"ip daddr {plan.router_address} dnat to 169.254.7.2" in ruleset
    assert f"snat to {plan.router_address}" in ruleset
    assert ruleset.endswith(firewall.render_egress(DNS, Egress(internet=False)))


def test_the_host_table_names_no_slot_and_every_closed_network() -> None:
    ruleset = firewall.render_host("abc12", RANGE, DNS)
    assert '"rabc12w*"' in ruleset
    assert "rabc12w1" not in ruleset
    assert ruleset.startswith("table ip roost_abc12\ndelete table ip roost_abc12\ntable ip roost_abc12 {")
    assert all(str(network) in ruleset for network in NEVER)


def test_without_nft_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(Fault, match="Install the package nftables"):
        firewall.apply("", to="the host")
