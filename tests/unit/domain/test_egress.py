from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.domain.egress import NEVER, OPEN, Egress, Verdict, parse_networks, verdict
from roost.domain.errors import Invalid

PUBLIC = IPv4Address("203.0.113.7")


@pytest.mark.parametrize(
    ("egress", "expected"),
    [
        (Egress(), Verdict.OPEN),
        (Egress(internet=False), Verdict.CLOSED),
        (Egress(deny=("203.0.113.0/24",)), Verdict.CLOSED),
        (Egress(deny=("192.0.2.0/24",)), Verdict.OPEN),
        (Egress(internet=False, allow=("203.0.113.7",)), Verdict.OPEN),
        (Egress(allow=("203.0.113.7",), deny=("0.0.0.0/0",)), Verdict.OPEN),
        (Egress(internet=False, allow=("203.0.113.8",)), Verdict.CLOSED),
    ],
)
def test_allow_wins_over_deny_and_deny_over_internet(egress: Egress, expected: Verdict) -> None:
    assert verdict(egress, PUBLIC) is expected


@pytest.mark.parametrize(
    "address",
    [
        "10.0.0.1",
        "100.100.100.200",
        "127.0.0.1",
        "168.63.129.16",
        "169.254.169.254",
        "172.31.255.255",
        "192.0.0.192",
        "192.168.1.1",
        "198.19.255.255",
        "224.0.0.251",
        "255.255.255.255",
        "0.0.0.0",
    ],
)
def test_private_addresses_are_closed_even_when_allowed(address: str) -> None:
    assert verdict(Egress(allow=(address, "0.0.0.0/0")), IPv4Address(address)) is Verdict.CLOSED


@given(st.ip_addresses(v=4))
def test_everything_not_global_is_closed_but_for_documentation_networks(address: IPv4Address) -> None:
    documentation = [IPv4Network(n) for n in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24")]
    if not address.is_global and not any(address in network for network in documentation):
        assert verdict(OPEN, address) is Verdict.CLOSED


def test_the_networks_that_are_never_reached_do_not_overlap() -> None:
    assert not [(a, b) for a in NEVER for b in NEVER if a is not b and a.overlaps(b)]


def test_names_resolve_only_for_those_who_reach_something() -> None:
    assert OPEN.names
    assert Egress(internet=False, allow=("203.0.113.7",)).names
    assert not Egress(internet=False).names


def test_lists_are_merged() -> None:
    assert parse_networks("allow", ("192.0.2.128/25", "192.0.2.0/25", "192.0.2.7")) == (IPv4Network("192.0.2.0/24"),)


@pytest.mark.parametrize("entry", ["", "example.org", "300.0.0.1", "10.0.0.0/33", "2001:db8::/32", "1.2.3.4/", "1.2.3.4; drop"])
def test_what_is_no_network_is_refused_by_name(entry: str) -> None:
    with pytest.raises(Invalid) as refused:
        Egress(deny=(entry,))
    assert refused.value.facts == {"field": "deny", "entry": entry}


def test_a_network_with_host_bits_is_refused_and_the_right_one_offered() -> None:
    with pytest.raises(Invalid, match=r"Write 203\.0\.113\.0/24"):
        Egress(allow=("203.0.113.7/24",))


def test_a_list_has_an_end() -> None:
    with pytest.raises(Invalid, match="1001 entries"):
        Egress(allow=tuple(f"203.{n // 256}.{n % 256}.1" for n in range(1001)))
