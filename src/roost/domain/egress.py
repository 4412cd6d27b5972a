"""Where a sandbox may connect to, and what happens to it on the way.

The order is fixed: what lies in `NEVER` is closed whatever a policy says; then `allow` wins over `deny`, and `deny`
over `internet`. `verdict` is the rule for addresses in words that run; the node's firewall renders the same order for
the kernel. `passage` is the rule for connections that name the host they want: the node's gate asks it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import AddressValueError, IPv4Address, IPv4Network, NetmaskValueError, collapse_addresses

from roost.domain.errors import Invalid
from roost.domain.hosts import best_match, host_pattern, is_numeric, matches_any, without_port
from roost.domain.proxy import Proxy
from roost.domain.rules import check_rules

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
MOST_DNS_SERVERS = 10


class EgressVerdict(StrEnum):
    OPEN = "open"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Egress:
    """What a sandbox may reach.

    `allow` and `deny` hold IPv4 addresses and networks (`203.0.113.7`, `203.0.113.0/24`). `allow` may also hold names
    of hosts and wildcards when everything else is closed (`internet` is False). `dns`: who is asked for names instead
    of the node's own resolvers; nobody if it is empty. `rules`: headers that requests to a host are given, by https; by
    plain http too for the hosts of `plain`. `proxy`: what everything by TCP goes through.
    """

    internet: bool = True
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    dns: tuple[str, ...] | None = None
    rules: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    plain: tuple[str, ...] = ()
    proxy: Proxy | None = None

    def __post_init__(self) -> None:
        parse_networks("allow", (entry for entry in self.allow if is_numeric(entry)))
        parse_networks("deny", self.deny)
        _check_length("allow", self.allow)
        if self.hosts and self.internet:
            raise Invalid(
                "egress_names_need_closed",
                f"{self.hosts[0]!r} can only be allowed by name when everything else is closed."
                " Close it too: `internet` false, or 0.0.0.0/0 in denyOut.",
                field="allow",
            )
        _check_dns(self.dns or ())
        check_rules(self.rules, self.plain)

    @property
    def allowed(self) -> tuple[IPv4Network, ...]:
        """The networks of `allow` without overlaps, in order."""
        return parse_networks("allow", (entry for entry in self.allow if is_numeric(entry)))

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names and wildcards of `allow`, in the form in which names are compared."""
        return tuple(host_pattern("allow", entry) for entry in self.allow if not is_numeric(entry))

    @property
    def denied(self) -> tuple[IPv4Network, ...]:
        """`deny` without overlaps, in order."""
        return parse_networks("deny", self.deny)

    @property
    def names(self) -> bool:
        """Whether names resolve. A sandbox that may reach nothing may not ask for names either: they can carry data
        out.
        """
        return self.dns != () and (self.internet or bool(self.allow))

    @property
    def limits_names(self) -> bool:
        """Whether some names may be asked for and others not, or none."""
        return bool(self.hosts) or not self.names

    @property
    def gated(self) -> bool:
        """Whether connections must be looked into, which the firewall cannot do."""
        return bool(self.hosts) or self.adds_headers or self.proxy is not None

    @property
    def adds_headers(self) -> bool:
        """Whether requests to some host are changed; a rule may say nothing."""
        return any(self.rules.values())


@dataclass(frozen=True, slots=True)
class Passage:
    """How a connection that is let through goes on."""

    name: str | None  # to an address that this name has now; None: to the address it was meant for
    any_address: bool  # the name is allowed, wherever it leads; else its address must be open itself
    headers: Mapping[str, str]  # what its requests are given; none: its bytes are passed on as they are


def verdict(egress: Egress, address: IPv4Address) -> EgressVerdict:
    """Whether a connection from the sandbox to `address` is let through."""
    if is_never(address):
        return EgressVerdict.CLOSED
    if _within(address, egress.allowed):
        return EgressVerdict.OPEN
    if _within(address, egress.denied):
        return EgressVerdict.CLOSED
    return EgressVerdict.OPEN if egress.internet else EgressVerdict.CLOSED


def passage(egress: Egress, name: str | None, destination: IPv4Address, *, secure: bool) -> Passage | None:
    """How a connection goes on that was meant for `destination` and says it wants the host `name`; None: not at all.
    `secure`: it is by TLS. One that is not is given headers only where the rule says so: they may be secrets.

    A guest can say any name to any address. So what depends on the name (that it is allowed, that headers are added
    which may be secrets) leads to an address which the name has, never to the one that the guest chose.
    """
    headers = _headers_for(egress, name, secure) if name is not None else {}
    if name is not None and matches_any(egress.hosts, name):
        return Passage(name, True, headers)
    if headers:
        return Passage(name, False, headers)
    return Passage(None, False, {}) if verdict(egress, destination) is EgressVerdict.OPEN else None


def may_pass(egress: Egress, way: Passage, address: IPv4Address) -> bool:
    """Whether an address that the passage's name has may be connected to."""
    return not is_never(address) and (way.any_address or verdict(egress, address) is EgressVerdict.OPEN)


def may_ask(egress: Egress, name: str) -> bool:
    """Whether the sandbox is told what the name stands for. Where only some names are allowed, only those: a question
    can carry data out."""
    if not egress.names:
        return False
    return egress.internet or not egress.hosts or matches_any(egress.hosts, name)


def is_never(address: IPv4Address) -> bool:
    return _within(address, NEVER)


def parse_networks(field: str, entries: Iterable[str]) -> tuple[IPv4Network, ...]:
    """The networks that `entries` name, merged and sorted. Raises Invalid, naming the field and the first entry that is
    none.
    """
    networks: list[IPv4Network] = []
    for entry in entries:
        if (alone := without_port(entry)) is not None:
            message = (
                f"{entry[:260]!r} in the {field} list names a port. The list is of hosts, whatever the port: write {alone[:253]}."
            )
            raise Invalid("egress_invalid", message, field=field, entry=entry)
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
    _check_length(field, networks)
    return tuple(collapse_addresses(networks))


def _headers_for(egress: Egress, name: str, secure: bool) -> Mapping[str, str]:
    """By the one rule that fits best: a wider one never steps in for it."""
    host = best_match({host_pattern("rules", host): host for host in egress.rules}, name)
    return egress.rules[host] if host is not None and (secure or host in egress.plain) else {}


def _check_length(field: str, entries: tuple[object, ...] | list[IPv4Network]) -> None:
    if len(entries) > LARGEST_LIST:
        raise Invalid(
            "egress_too_long",
            f"The {field} list has {len(entries)} entries; at most {LARGEST_LIST} are possible. Merge some into larger networks.",
            field=field,
            entries=len(entries),
        )


def _check_dns(servers: tuple[str, ...]) -> None:
    if len(servers) > MOST_DNS_SERVERS:
        raise Invalid("egress_too_long", f"There are {len(servers)} DNS servers; {MOST_DNS_SERVERS} is the most.", field="dns")
    for server in servers:
        try:
            closed = is_never(IPv4Address(server))
        except AddressValueError as error:
            message = f"{server[:100]!r} is not the IPv4 address of a DNS server. Write 203.0.113.53."
            raise Invalid("egress_invalid", message, field="dns", entry=server[:100]) from error
        if closed:
            message = f"The DNS server {server} lies in a network that no sandbox reaches. Name a public one, or none."
            raise Invalid("egress_invalid", message, field="dns", entry=server)


def _within(address: IPv4Address, networks: Iterable[IPv4Network]) -> bool:
    return any(address in network for network in networks)


OPEN = Egress()
