from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.domain.egress import NEVER, OPEN, Egress, EgressVerdict, Passage, may_ask, may_pass, parse_networks, passage, verdict
from roost.domain.errors import Invalid, Unsupported
from roost.domain.proxy import Proxy, ProxyProtocol

PUBLIC = IPv4Address("203.0.113.7")


@pytest.mark.parametrize(
    ("egress", "expected"),
    [
        (Egress(), EgressVerdict.OPEN),
        (Egress(internet=False), EgressVerdict.CLOSED),
        (Egress(deny=("203.0.113.0/24",)), EgressVerdict.CLOSED),
        (Egress(deny=("192.0.2.0/24",)), EgressVerdict.OPEN),
        (Egress(internet=False, allow=("203.0.113.7",)), EgressVerdict.OPEN),
        (Egress(allow=("203.0.113.7",), deny=("0.0.0.0/0",)), EgressVerdict.OPEN),
        (Egress(internet=False, allow=("203.0.113.8",)), EgressVerdict.CLOSED),
    ],
)
def test_allow_wins_over_deny_and_deny_over_internet(egress: Egress, expected: EgressVerdict) -> None:
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
    assert verdict(Egress(allow=(address, "0.0.0.0/0")), IPv4Address(address)) is EgressVerdict.CLOSED


@given(st.ip_addresses(v=4))
def test_everything_not_global_is_closed_but_for_documentation_networks(address: IPv4Address) -> None:
    documentation = [IPv4Network(n) for n in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24")]
    if not address.is_global and not any(address in network for network in documentation):
        assert verdict(OPEN, address) is EgressVerdict.CLOSED


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


API, OTHER = "api.example.com", "other.example"
NAMED = Egress(internet=False, allow=(API, "*.wild.example", "192.0.2.0/24"))
SECRET = {"Authorization": "Bearer secret"}
LISTED = IPv4Address("192.0.2.7")


@pytest.mark.parametrize(
    ("egress", "name", "destination", "expected"),
    [
        (NAMED, API, PUBLIC, Passage(API, True, {})),
        (NAMED, "a.wild.example", PUBLIC, Passage("a.wild.example", True, {})),
        (NAMED, OTHER, PUBLIC, None),
        (NAMED, None, PUBLIC, None),
        (NAMED, OTHER, LISTED, Passage(None, False, {})),
        (NAMED, None, LISTED, Passage(None, False, {})),
        (Egress(rules={API: SECRET}), API, PUBLIC, Passage(API, False, SECRET)),
        (Egress(rules={API: SECRET}), OTHER, PUBLIC, Passage(None, False, {})),
        (Egress(rules={API: SECRET}), None, PUBLIC, Passage(None, False, {})),
        (Egress(internet=False, allow=(API,), rules={"*.example.com": SECRET}), API, PUBLIC, Passage(API, True, SECRET)),
        # A rule opens nothing: its host's own address must be open, which is seen when it is known.
        (Egress(internet=False, allow=("192.0.2.0/24",), rules={API: SECRET}), API, PUBLIC, Passage(API, False, SECRET)),
    ],
)
def test_a_connection_that_says_a_name_goes_where_the_name_leads(
    egress: Egress, name: str | None, destination: IPv4Address, expected: Passage | None
) -> None:
    assert passage(egress, name, destination, secure=True) == expected


PLAINLY = Egress(rules={API: SECRET, "*.wild.example": SECRET}, plain=(API,))


@pytest.mark.parametrize(
    ("egress", "name", "expected"),
    [
        (Egress(rules={API: SECRET}), API, Passage(None, False, {})),
        (Egress(internet=False, allow=(API,), rules={API: SECRET}), API, Passage(API, True, {})),
        (Egress(internet=False, rules={API: SECRET}), API, None),
        (PLAINLY, API, Passage(API, False, SECRET)),
        (PLAINLY, "a.wild.example", Passage(None, False, {})),
        # The rule that fits best says no: one that fits less does not say yes for it.
        (Egress(rules={API: SECRET, "*": SECRET}, plain=("*",)), API, Passage(None, False, {})),
    ],
)
def test_headers_go_out_by_plain_http_only_if_the_rule_says_so(egress: Egress, name: str, expected: Passage | None) -> None:
    assert passage(egress, name, PUBLIC, secure=False) == expected


@given(st.ip_addresses(v=4), st.booleans())
def test_no_name_leads_to_a_private_address(address: IPv4Address, any_address: bool) -> None:
    allowed = may_pass(OPEN, Passage(API, any_address, {}), address)
    assert allowed is (verdict(OPEN, address) is EgressVerdict.OPEN)


def test_only_the_names_that_are_allowed_may_be_asked_for() -> None:
    assert may_ask(NAMED, API) and may_ask(NAMED, "b.wild.example") and not may_ask(NAMED, OTHER)
    assert may_ask(OPEN, OTHER)
    assert may_ask(Egress(internet=False, allow=("192.0.2.0/24",)), OTHER)
    assert not may_ask(Egress(internet=False), OTHER)
    assert not may_ask(Egress(dns=()), OTHER)


def test_only_what_the_kernel_cannot_do_needs_a_gate() -> None:
    assert not any(
        egress.gated
        for egress in (OPEN, Egress(internet=False, allow=("192.0.2.1",)), Egress(dns=("192.0.2.53",), rules={API: {}}))
    )
    assert all(egress.gated for egress in (NAMED, Egress(rules={API: SECRET}), Egress(proxy=Proxy("proxy.example:1080"))))


@pytest.mark.parametrize(
    ("wanted", "word"),
    [
        ({"allow": (API,)}, "everything else is closed"),
        ({"internet": False, "allow": ("not a name",)}, "neither"),
        ({"dns": ("10.0.0.1",)}, "no sandbox reaches"),
        ({"dns": ("dns.example",)}, "not the IPv4 address"),
        ({"dns": tuple(f"192.0.2.{n}" for n in range(11))}, "10 is the most"),
        ({"rules": {f"h{n}.example": {} for n in range(11)}}, "10 is the most"),
        ({"rules": {API: {f"X-{n}": "" for n in range(21)}}}, "20 is the most"),
        ({"rules": {"192.0.2.1": {}}}, "by name"),
        ({"rules": {f"{API}:8443": {}}}, rf"'{API}:8443' names a port.*write {API}\."),
        ({"rules": {"192.0.2.1:443": {}}}, r"names a port"),
        ({"rules": {"2001:db8::1": {}}}, "by name"),
        ({"internet": False, "allow": (f"{API}:443",)}, rf"'{API}:443' in the allow list names a port.*write {API}\."),
        ({"deny": ("192.0.2.1:443",)}, "names a port"),
        ({"rules": {API: SECRET}, "plain": (OTHER,)}, "no rule for it"),
        ({"rules": {API: {"Transfer-Encoding": "chunked"}}}, "cannot set"),
        ({"rules": {API: {"Host": OTHER}}}, "cannot set"),
        ({"rules": {API: {"X Y": "a"}}}, "cannot set"),
        ({"rules": {API: {"X": "a\r\nY: b"}}}, "cannot carry"),
        ({"rules": {API: {"X": "\u20ac"}}}, "cannot carry"),
    ],
)
def test_what_cannot_be_is_refused_with_a_reason(wanted: dict[str, Any], word: str) -> None:
    with pytest.raises(Invalid, match=word):
        Egress(**wanted)


def test_secrets_are_not_there_yet() -> None:
    with pytest.raises(Unsupported, match="keeps no secrets"):
        Egress(rules={API: {"X": "Bearer ${e2b.secrets.key}"}})


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("proxy.example:1080", (ProxyProtocol.SOCKS5, "proxy.example", 1080)),
        ("socks5://203.0.113.7:1080/", (ProxyProtocol.SOCKS5, "203.0.113.7", 1080)),
        ("http://Proxy.Example:3128", (ProxyProtocol.CONNECT, "proxy.example", 3128)),
    ],
)
def test_a_proxys_address_says_how_it_is_asked(address: str, expected: tuple[ProxyProtocol, str, int]) -> None:
    proxy = Proxy(address)
    assert (proxy.protocol, proxy.host, proxy.port) == expected
    assert proxy.ip == (IPv4Address("203.0.113.7") if "203" in address else None)


@pytest.mark.parametrize(
    "wanted",
    [
        {"address": "proxy.example"},
        {"address": "proxy.example:0"},
        {"address": "proxy.example:65536"},
        {"address": "ftp://proxy.example:1"},
        {"address": "http://a:b@proxy.example:1"},
        {"address": "[::1]:1080"},
        {"address": "proxy.example:1", "password": "alone"},
        {"address": "proxy.example:1", "username": "x" * 256},
        {"address": "proxy.example:1", "server_name": "other.example"},
        {"address": "proxy.example:1", "tls": True, "ca_cert": "no PEM"},
    ],
)
def test_what_is_no_proxy_is_refused(wanted: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        Proxy(**wanted)


def test_a_proxys_password_is_not_shown() -> None:
    assert "hidden" not in repr(Egress(proxy=Proxy("proxy.example:1", "ada", "hidden")))
