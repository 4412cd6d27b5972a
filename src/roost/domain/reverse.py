"""Which reverse names (`7.0.0.10.in-addr.arpa`) are of addresses that mean something in somebody's own network only.

The machine's resolvers may know the names of its neighbours: a sandbox that asks for them would map a network that it must
not reach.
"""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network

from roost.domain.egress import NEVER

_IPV4_ZONE, _IPV6_ZONE = ("in-addr", "arpa"), ("ip6", "arpa")
_PRIVATE_IPV6 = tuple(
    IPv6Network(network)
    for network in (
        "::/8",  # unspecified, loopback, IPv4 in other clothes
        "64:ff9b::/96",  # IPv4 behind NAT64
        "64:ff9b:1::/48",
        "fc00::/7",
        "fe80::/9",  # link-local, site-local
        "ff00::/8",  # multicast
    )
)


def is_private_reverse(name: str) -> bool:
    """Of a name in lowercase without the last dot: whether it is at or below the reverse name of a private network."""
    *labels, second, top = name.split(".") if "." in name else ("", name)
    if (second, top) == _IPV4_ZONE:
        octets = _leading(labels, base=10, below=256, most=4)
        return bool(octets) and _ipv4(octets)
    if (second, top) == _IPV6_ZONE:
        nibbles = _leading(labels, base=16, below=16, most=32)
        return bool(nibbles) and _ipv6(nibbles)
    return False


def _leading(labels: list[str], *, base: int, below: int, most: int) -> list[int]:
    """The first parts of the address: the last labels, up to one that is no part of an address."""
    parts: list[int] = []
    for label in reversed(labels[-most:]):
        try:
            part = int(label, base)
        except ValueError:
            break
        if not 0 <= part < below:
            break
        parts.append(part)
    return parts


def _ipv4(octets: list[int]) -> bool:
    network = IPv4Network((bytes(octets + [0] * (4 - len(octets))), 8 * len(octets)))
    return any(network.subnet_of(closed) for closed in NEVER)


def _ipv6(nibbles: list[int]) -> bool:
    value = int("".join(f"{nibble:x}" for nibble in nibbles).ljust(32, "0"), 16)
    network = IPv6Network((value, 4 * len(nibbles)))
    return any(network.subnet_of(closed) for closed in _PRIVATE_IPV6)
