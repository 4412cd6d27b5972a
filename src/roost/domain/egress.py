"""Where a sandbox may connect to.

The order is fixed: what lies in `NEVER` is closed whatever a policy says; then `allow` wins over `deny`, and `deny`
over `internet`. `verdict` is the rule in words that run; the node's firewall renders the same order for the kernel.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import AddressValueError, IPv4Address, IPv4Network, NetmaskValueError, collapse_addresses

from roost.domain.errors import Invalid

NEVER: tuple[IPv4Network, ...] = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this host
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT; metadata of some clouds
        "127.0.0.0/8",
        "168.63.129.16/32",  # Azure's platform service, at a public address
        "169.254.0.0/16",  # link-local; metadata of most clouds
        "172.16.0.0/12",
        "192.0.0.0/24",  # protocol assignments; metadata of some clouds
        "192.168.0.0/16",
        "198.18.0.0/15",  # the slots of every Roost
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
)
"""Networks no sandbox ever reaches: the host's, its neighbours', other sandboxes'."""

LARGEST_LIST = 1000


class Verdict(StrEnum):
    OPEN = "open"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Egress:
    """What a sandbox may reach. `allow` and `deny` are IPv4 addresses or networks: `203.0.113.7`, `203.0.113.0/24`."""

    internet: bool = True
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        parse_networks("allow", self.allow)
        parse_networks("deny", self.deny)

    @property
    def allowed(self) -> tuple[IPv4Network, ...]:
        """`allow` without overlaps, in order."""
        return parse_networks("allow", self.allow)

    @property
    def denied(self) -> tuple[IPv4Network, ...]:
        """`deny` without overlaps, in order."""
        return parse_networks("deny", self.deny)

    @property
    def names(self) -> bool:
        """Whether names resolve. A sandbox that may reach nothing may not ask for names either: they can carry data
        out.
        """
        return self.internet or bool(self.allow)


def verdict(egress: Egress, address: IPv4Address) -> Verdict:
    """Whether a connection from the sandbox to `address` is let through."""
    if _within(address, NEVER):
        return Verdict.CLOSED
    if _within(address, egress.allowed):
        return Verdict.OPEN
    if _within(address, egress.denied):
        return Verdict.CLOSED
    return Verdict.OPEN if egress.internet else Verdict.CLOSED


def parse_networks(field: str, entries: Iterable[str]) -> tuple[IPv4Network, ...]:
    """The networks that `entries` name, merged and sorted. Raises Invalid, naming the field and the first entry that is
    none.
    """
    networks: list[IPv4Network] = []
    for entry in entries:
        try:
            networks.append(IPv4Network(entry))
        except (AddressValueError, NetmaskValueError) as error:
            raise Invalid(
                "egress_invalid",
                f"{entry!r} in the {field} list is not an IPv4 address or network. Write 203.0.113.7 or 203.0.113.0/24.",
                field=field,
                entry=entry,
            ) from error
        except ValueError as error:
            raise Invalid(
                "egress_invalid",
                f"{entry!r} in the {field} list has bits set to the right of its prefix."
                f" Write {IPv4Network(entry, strict=False)} for the network.",
                field=field,
                entry=entry,
            ) from error
    if len(networks) > LARGEST_LIST:
        raise Invalid(
            "egress_too_long",
            f"The {field} list has {len(networks)} entries; at most {LARGEST_LIST} are possible."
            " Merge some into larger networks.",
            field=field,
            entries=len(networks),
        )
    return tuple(collapse_addresses(networks))


def _within(address: IPv4Address, networks: Iterable[IPv4Network]) -> bool:
    return any(address in network for network in networks)


OPEN = Egress()
