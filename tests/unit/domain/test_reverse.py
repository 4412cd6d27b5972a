from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.domain.egress import is_never
from roost.domain.reverse import is_private_reverse


@given(st.ip_addresses(v=4))
def test_the_reverse_name_of_every_address_that_no_sandbox_reaches_is_private(address: IPv4Address) -> None:
    assert is_private_reverse(address.reverse_pointer) is is_never(address)


@pytest.mark.parametrize(
    "address", ["::1", "::", "::ffff:10.0.0.1", "64:ff9b::a00:1", "fd00::1", "fe80::1", "fec0::1", "ff02::1", "fc12::"]
)
def test_private_addresses_of_the_other_kind(address: str) -> None:
    assert is_private_reverse(IPv6Address(address).reverse_pointer)


@pytest.mark.parametrize(
    ("name", "is_private"),
    [
        ("10.in-addr.arpa", True),
        ("x.10.in-addr.arpa", True),
        ("0/26.1.168.192.in-addr.arpa", True),
        ("_tcp.10.in-addr.arpa", True),
        ("16.172.in-addr.arpa", True),
        ("172.in-addr.arpa", False),  # some of it is
        ("x.172.in-addr.arpa", False),
        ("32.172.in-addr.arpa", False),
        ("1.2.3.4.10.in-addr.arpa", True),
        ("8.8.8.8.in-addr.arpa", False),
        ("in-addr.arpa", False),
        ("ip6.arpa", False),
        ("d.f.ip6.arpa", True),
        ("f.ip6.arpa", False),
        ("8.b.d.0.1.0.0.2.ip6.arpa", False),
        ("10.in-addr.arpa.example", False),
        ("10.in-addr\\.arpa", False),
        ("arpa", False),
        ("", False),
    ],
)
def test_names_at_and_below_private_networks(name: str, is_private: bool) -> None:
    assert is_private_reverse(name) is is_private


@given(st.text(max_size=40), st.sampled_from([".in-addr.arpa", ".ip6.arpa", ""]))
def test_any_name_has_an_answer(text: str, zone: str) -> None:
    assert is_private_reverse(text + zone) in (True, False)
