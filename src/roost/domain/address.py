"""Who has which address and which name on a machine: arithmetic only.

The pool (198.18.0.0/15 unless set) is cut into /20s, one for each Roost on the machine, and a /20 into /30s, one for
each slot. The first /30 belongs to the node itself: its DNS forwarder listens there. A slot's /30 joins the host (first
address) to the slot's router namespace (second address). Inside, every sandbox has the same addresses: that is what
lets any memory image wake up in any slot.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

from roost.domain.errors import Exhausted, Invalid

POOL = IPv4Network("198.18.0.0/15")  # RFC 2544: for benchmarks, routed nowhere
RANGE_PREFIX = 20
SLOT_PREFIX = 30
SLOT_SIZE = 1 << (32 - SLOT_PREFIX)

GUEST_NETWORK = IPv4Network("169.254.7.0/30")
GATEWAY_ADDRESS = IPv4Address("169.254.7.1")
GUEST_ADDRESS = IPv4Address("169.254.7.2")
GATEWAY_MAC = "02:00:a9:fe:07:01"
GUEST_MAC = "02:00:a9:fe:07:02"

INSTANCE_NAME = r"[a-z0-9]{5}"
"""The pattern of an instance's name: see `check_instance`."""


@dataclass(frozen=True, slots=True)
class SlotPlan:
    """Every name and address of one slot. Two slots of a machine share none of them."""

    index: int
    guest_netns: str
    router_netns: str
    host_link: str
    host_address: IPv4Address
    router_address: IPv4Address

    @property
    def host_mac(self) -> str:
        return _mac(self.host_address)

    @property
    def router_mac(self) -> str:
        return _mac(self.router_address)


def check_instance(instance: str) -> str:
    """Returns the name if it is a legal instance name: five lowercase letters or digits.

    The length is fixed so that no instance's names are a prefix of another's: firewall rules match interfaces by
    prefix.
    """
    if not re.fullmatch(INSTANCE_NAME, instance):
        raise Invalid(
            "instance_name_invalid",
            f"The instance name {instance!r} is not five lowercase letters or digits. Choose one that is.",
            instance=instance,
        )
    return instance


def link_prefix(instance: str) -> str:
    """What the names of this instance's interfaces on the host begin with, and no other's."""
    return f"r{instance}w"


def dns_label(instance: str) -> str:
    """The label of the forwarder's address on the host's loopback; it also marks the range as taken."""
    return f"lo:r{instance}"


def capacity(network: IPv4Network) -> int:
    """How many slots a range holds."""
    return network.num_addresses // SLOT_SIZE - 1


def dns_address(network: IPv4Network) -> IPv4Address:
    """Where the node's DNS forwarder listens."""
    return network[1]


def plan_slot(instance: str, network: IPv4Network, index: int) -> SlotPlan:
    """The names and addresses of slot `index`, which counts from 1 to `capacity(network)`."""
    if not 1 <= index <= capacity(network):
        raise Invalid(
            "slot_out_of_range",
            f"There is no slot {index} in {network}: it holds the slots 1 to {capacity(network)}.",
            slot=index,
            network=str(network),
        )
    first = network[index * SLOT_SIZE]
    return SlotPlan(
        index=index,
        guest_netns=f"roost-{instance}-g{index}",
        router_netns=f"roost-{instance}-r{index}",
        host_link=f"{link_prefix(instance)}{index}",
        host_address=first + 1,
        router_address=first + 2,
    )


def slot_index_at(network: IPv4Network, address: IPv4Address) -> int | None:
    """The slot whose router has this address, or None if no slot's has."""
    if address not in network:
        return None
    index, host = divmod(int(address) - int(network.network_address), SLOT_SIZE)
    return index if index >= 1 and host == 2 else None


def slot_index_named(instance: str, name: str) -> int | None:
    """The slot that a network namespace or host interface of this name belongs to, or None if it is not this
    instance's.
    """
    match = re.fullmatch(rf"(?:roost-{instance}-[gr]|{link_prefix(instance)})([1-9][0-9]{{0,4}})", name)
    return int(match.group(1)) if match else None


def choose_range(
    instance: str, pool: IPv4Network, taken: Mapping[IPv4Network, str], occupied: Collection[IPv4Network]
) -> IPv4Network:
    """The range an instance is to use: the one it has, else the first free one after the place its name hashes to.

    `taken` says which instance holds which range; `occupied` is what the machine uses for anything else.
    """
    for network, holder in taken.items():
        if holder == instance:
            return network
    for network in _ranges_from_hash(instance, pool):
        if network not in taken and not any(network.overlaps(other) for other in occupied):
            return network
    raise Exhausted(
        "no_address_range",
        f"Every /{RANGE_PREFIX} of {pool} is in use on this machine."
        " Stop a Roost that is not needed (`roost down --all`), or give this one another network in its settings.",
        pool=str(pool),
    )


def _ranges_from_hash(instance: str, pool: IPv4Network) -> Iterator[IPv4Network]:
    if pool.prefixlen > RANGE_PREFIX:
        raise Invalid(
            "network_too_small",
            f"The network {pool} is too small: a Roost needs a /{RANGE_PREFIX} or larger. Set one that is.",
            network=str(pool),
        )
    count = 1 << (RANGE_PREFIX - pool.prefixlen)
    start = int.from_bytes(hashlib.sha256(instance.encode()).digest()[:8], "big") % count
    size = 1 << (32 - RANGE_PREFIX)
    for step in range(count):
        yield IPv4Network((pool[(start + step) % count * size], RANGE_PREFIX))


def _mac(address: IPv4Address) -> str:
    return ":".join(f"{byte:02x}" for byte in b"\x02\x00" + address.packed)
