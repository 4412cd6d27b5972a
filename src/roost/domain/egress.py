"""Where a sandbox may connect to, and what happens to it on the way.

The order is fixed: what lies in `NEVER` is closed whatever a policy says; then `allow` wins over `deny`, and `deny`
over `internet`. `verdict` is the rule for addresses in words that run; the node's firewall renders the same order for
the kernel. `passage` is the rule for connections that name the host they want: the node's gate asks it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import AddressValueError, IPv4Address, IPv4Network, NetmaskValueError, collapse_addresses

from roost.domain.errors import Invalid, Unsupported
from roost.domain.hosts import best_match, host_pattern, is_numeric, matches_any
from roost.domain.proxy import Proxy

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
MOST_RULES = 10
MOST_HEADERS = 20
LONGEST_HEADER_BYTES = 8192

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_PLACEHOLDER = re.compile(r"\$\{e2b\.[^}]*\}")
_FRAMING = frozenset(
    ("connection", "content-length", "expect", "host", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade")
)
"""Headers that say where a request goes and where it ends: a rule that set them would make another request of it."""


class Verdict(StrEnum):
    OPEN = "open"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Egress:
    """What a sandbox may reach.

    `allow` and `deny` hold IPv4 addresses and networks (`203.0.113.7`, `203.0.113.0/24`). `allow` may also hold names
    of hosts and wildcards when everything else is closed (`internet` is False). `dns`: who is asked for names instead
    of the node's own resolvers; nobody if it is empty. `rules`: headers that requests to a host are given. `proxy`: what
    everything by TCP goes through.
    """

    internet: bool = True
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    dns: tuple[str, ...] | None = None
    rules: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
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
        _check_rules(self.rules)

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


def verdict(egress: Egress, address: IPv4Address) -> Verdict:
    """Whether a connection from the sandbox to `address` is let through."""
    if is_never(address):
        return Verdict.CLOSED
    if _within(address, egress.allowed):
        return Verdict.OPEN
    if _within(address, egress.denied):
        return Verdict.CLOSED
    return Verdict.OPEN if egress.internet else Verdict.CLOSED


def passage(egress: Egress, name: str | None, destination: IPv4Address) -> Passage | None:
    """How a connection goes on that was meant for `destination` and says it wants the host `name`; None: not at all.

    A guest can say any name to any address. So what depends on the name (that it is allowed, that headers are added
    which may be secrets) leads to an address which the name has, never to the one that the guest chose.
    """
    headers = best_match(_patterns(egress), name) if name is not None else None
    if name is not None and matches_any(egress.hosts, name):
        return Passage(name, True, headers or {})
    if headers:
        return Passage(name, False, headers)
    return Passage(None, False, {}) if verdict(egress, destination) is Verdict.OPEN else None


def may_pass(egress: Egress, way: Passage, address: IPv4Address) -> bool:
    """Whether an address that the passage's name has may be connected to."""
    return not is_never(address) and (way.any_address or verdict(egress, address) is Verdict.OPEN)


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


def _patterns(egress: Egress) -> dict[str, Mapping[str, str]]:
    return {host_pattern("rules", host): headers for host, headers in egress.rules.items()}


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


def _check_rules(rules: Mapping[str, Mapping[str, str]]) -> None:
    if len(rules) > MOST_RULES:
        raise Invalid("egress_too_long", f"There are rules for {len(rules)} hosts; {MOST_RULES} is the most.", field="rules")
    for host, headers in rules.items():
        if is_numeric(host):
            message = f"The rule for {host[:100]!r} is for an address. Rules are for hosts by name: api.example.com."
            raise Invalid("egress_invalid", message, field="rules", entry=host[:100])
        host_pattern("rules", host)
        if len(headers) > MOST_HEADERS:
            message = f"The rule for {host} sets {len(headers)} headers; {MOST_HEADERS} is the most."
            raise Invalid("egress_too_long", message, field="rules", entry=host)
        for name, value in headers.items():
            _check_header(host, name, value)


def _check_header(host: str, name: str, value: str) -> None:
    if not _TOKEN.fullmatch(name) or name.lower() in _FRAMING or name.lower().startswith("proxy-"):
        message = f"The rule for {host} cannot set the header {name[:100]!r}: it is none, or it says where a request ends."
        raise Invalid("egress_invalid", message, field="rules", entry=host)
    if _PLACEHOLDER.search(value):
        message = f"The rule for {host} wants {_PLACEHOLDER.findall(value)[0][:100]}, but this Roost keeps no secrets yet."
        raise Unsupported("not_there", f"{message} Put the value itself there.", field="rules", entry=host)
    if not _VALUE.fullmatch(value) or len(value) > LONGEST_HEADER_BYTES or value != value.strip():
        message = f"The rule for {host} gives the header {name} a value that HTTP cannot carry: one line, at most 8192 bytes."
        raise Invalid("egress_invalid", message, field="rules", entry=host)


def _within(address: IPv4Address, networks: Iterable[IPv4Network]) -> bool:
    return any(address in network for network in networks)


OPEN = Egress()
