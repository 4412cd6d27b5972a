"""The packet filters of a node, as nftables text. Pure; `nftables` loads it.

Two rulesets. **The host's**, one table for each instance: nothing from a slot reaches the host but DNS, its door and answers, no
slot reaches another, what goes out is masqueraded. It matches interfaces by prefix, so that the cost of a packet does not depend
on the number of slots. **A slot's**, in its router namespace: the way in (everything for the
slot's address goes to the guest), the way out, and the sandbox's egress policy in chains of its own that can be
swapped while packets flow. A policy that the kernel alone cannot carry out sends connections to the slot's gate
(`node.gate`), which listens in the same namespace.

Sandboxes use a slot one after the other, under the same address. Their **tenancies** keep them apart: a number that changes each
time, by which the host's connection table tells whose a connection is. What a former tenant had open is remembered until it
expires, so that nobody else can be given its place on the outside, and leads nowhere.

Refused connections are answered (reset, port unreachable) rather than dropped: a program inside fails at once and says
so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, collapse_addresses

from roost.domain.address import GATEWAY_ADDRESS, GUEST_ADDRESS, SlotPlan, link_prefix
from roost.domain.egress import NEVER, Egress

LARGEST_CONNECTION_COUNT = 8192  # of one sandbox, outwards: the host's connection table is shared by all
LARGEST_NAME_RATE = 300  # packets a second of one sandbox to the forwarder, which is one process for all of them
LARGEST_GUEST_API_COUNT = 32  # connections of one sandbox to the door
SLOT_TABLE = "roost"

_WEB = "{ 80, 443 }"
_FROM_GUEST = f'iifname "lan" ip saddr {GUEST_ADDRESS}'
_DETOUR = f"add chain ip {SLOT_TABLE} detour {{ type nat hook prerouting priority dstnat - 1; policy accept; }}"
_REFUSE = """\
        meta l4proto tcp counter reject with tcp reset
        counter reject with icmp port-unreachable"""


@dataclass(frozen=True, slots=True)
class HostServices:
    """Where the node serves its guests: DNS, and the door. At no other port of the host is anything for them."""

    address: IPv4Address
    dns_port: int
    guest_api_port: int


def host_table(instance: str) -> str:
    return f"roost_{instance}"


def render_host(instance: str, network: IPv4Network, services: HostServices, tenancies: Mapping[str, int]) -> str:
    """The host's table, replacing the one there may be in one step. `tenancies` is by link, of all slots there can be;
    without any, those who use a slot one after the other are not told apart."""
    table, slots = host_table(instance), f'"{link_prefix(instance)}*"'
    is_current = "oifname . ct original zone @tenants " if tenancies else ""
    return f"""\
table ip {table}
delete table ip {table}
table ip {table} {{
    set never {{
        type ipv4_addr
        flags interval
        elements = {{ {_listed(NEVER)} }}
    }}
{_tenants(tenancies, slots)}    chain refuse {{
{_REFUSE}
    }}
    chain from_slot {{
        ip saddr != {network} counter drop
        ct state established,related accept
        ip daddr {services.address} meta l4proto {{ tcp, udp }} th dport {services.dns_port} accept
        ip daddr {services.address} tcp dport {services.guest_api_port} accept
        fib daddr type != unicast goto refuse
        ip daddr @never goto refuse
    }}
    # Before anyone's destination NAT: a port published on the host is the host's, wherever it leads.
    chain arrivals {{
        type filter hook prerouting priority mangle
        policy accept
        iifname {slots} jump from_slot
    }}
    chain crossings {{
        type filter hook forward priority filter - 1
        policy accept
        iifname {slots} oifname {slots} goto refuse
        iifname {slots} ip daddr @never goto refuse
        iifname {slots} tcp flags syn tcp option maxseg size set rt mtu
        oifname {slots} {is_current}ct state established,related accept
        oifname {slots} ct state established,related goto refuse
        oifname {slots} counter drop
    }}
    chain departures {{
        type nat hook postrouting priority srcnat
        policy accept
        ip saddr {network} oifname != {slots} masquerade
    }}
}}
"""


def render_tenancies(instance: str, before: Mapping[str, int], after: Mapping[str, int]) -> str:
    """The tenancies of these links change, all in one step."""
    table = host_table(instance)
    return f"""\
delete element ip {table} tenancy {{ {_quoted(before)} }}
delete element ip {table} tenants {{ {_keyed(before, ".")} }}
add element ip {table} tenancy {{ {_keyed(after, ":")} }}
add element ip {table} tenants {{ {_keyed(after, ".")} }}
"""


def render_host_removal(instance: str) -> str:
    """Takes the host's table away, if there is one."""
    table = host_table(instance)
    return f"table ip {table}\ndelete table ip {table}\n"


def render_slot(plan: SlotPlan, services: HostServices, egress: Egress) -> str:
    """Everything in the router namespace of a slot, replacing what there may be in one step."""
    names = f"ip daddr {services.address} meta l4proto {{ tcp, udp }} th dport {services.dns_port}"
    return f"""\
table ip {SLOT_TABLE}
delete table ip {SLOT_TABLE}
table ip {SLOT_TABLE} {{
    set never {{
        type ipv4_addr
        flags interval
        elements = {{ {_listed(NEVER)} }}
    }}
    chain refuse {{
{_REFUSE}
    }}
    chain egress {{
    }}
    chain door {{
        ct state new ct count over {LARGEST_GUEST_API_COUNT} goto refuse
        accept
    }}
    chain from_guest {{
        ip saddr != {GUEST_ADDRESS} counter drop
        ct direction reply accept
        {names} limit rate over {LARGEST_NAME_RATE}/second burst {LARGEST_NAME_RATE} packets counter drop
        ip daddr {services.address} tcp dport {services.guest_api_port} goto door
        ct state new ct count over {LARGEST_CONNECTION_COUNT} goto refuse
        goto egress
    }}
    chain forward {{
        type filter hook forward priority filter
        policy drop
        ct state invalid counter drop
        iifname "lan" oifname "wan" goto from_guest
        iifname "wan" oifname "lan" ct state established,related accept
        iifname "wan" oifname "lan" ip saddr {plan.host_address} accept
    }}
    chain input {{
        type filter hook input priority filter
        policy drop
    }}
    chain prerouting {{
        type nat hook prerouting priority dstnat
        policy accept
        iifname "lan" ip daddr {GATEWAY_ADDRESS} udp dport 53 dnat to {services.address}:{services.dns_port}
        iifname "lan" ip daddr {GATEWAY_ADDRESS} tcp dport 53 dnat to {services.address}:{services.dns_port}
        iifname "lan" ip daddr {GATEWAY_ADDRESS} tcp dport 80 dnat to {services.address}:{services.guest_api_port}
        iifname "wan" ip daddr {plan.router_address} dnat to {GUEST_ADDRESS}
    }}
    chain postrouting {{
        type nat hook postrouting priority srcnat
        policy accept
        oifname "wan" snat to {plan.router_address}
    }}
}}
{render_egress(services, egress)}"""


def render_egress(services: HostServices, egress: Egress, gate_port: int | None = None) -> str:
    """The egress policy of a slot, replaced in one step. Its chain sees every packet of an outgoing connection, not the
    first alone, so that a policy that closes something closes it for connections that are open already.

    A policy that is `gated` needs the port of its gate: what has to be looked into is sent there. Other policies have
    no chain for it at all.
    """
    assert egress.gated == (gate_port is not None), "a gate is open if and only if the policy needs one"
    lines = [f"flush chain ip {SLOT_TABLE} egress", f"flush chain ip {SLOT_TABLE} input", _DETOUR]
    lines += [f"add rule ip {SLOT_TABLE} egress {rule}" for rule in _egress_rules(services, egress)]
    if gate_port is None:
        lines.append(f"delete chain ip {SLOT_TABLE} detour")
    else:
        lines.append(f"flush chain ip {SLOT_TABLE} detour")
        lines += [f"add rule ip {SLOT_TABLE} detour {rule}" for rule in _detour_rules(egress, gate_port)]
        lines.append(f"add rule ip {SLOT_TABLE} input {_FROM_GUEST} ct status dnat tcp dport {gate_port} accept")
        lines.append(f'add rule ip {SLOT_TABLE} input iifname "wan" ct state established,related accept')
    return "\n".join(lines) + "\n"


def _egress_rules(services: HostServices, egress: Egress) -> list[str]:
    """Names are always asked of the forwarder, which knows who may have which: programs take its refusal at once, where some
    wait out an address that does not answer."""
    rules = [
        f"ip daddr {services.address} meta l4proto {{ tcp, udp }} th dport {services.dns_port} accept",
        "ip daddr @never goto refuse",
    ]
    if egress.proxy is not None:
        rules.append("meta l4proto tcp goto refuse")  # what is left of connections that began without the proxy
    elif egress.adds_headers:
        rules.append(f"tcp dport {_WEB} goto refuse")  # and of those that began without the rules
        rules.append("udp dport 443 goto refuse")  # nobody can read HTTP/3 in passing: its clients come by TCP then
    if direct := _direct(egress):
        rules.append(f"ip daddr {{ {_listed(direct)} }} accept")
    if egress.denied:
        rules.append(f"ip daddr {{ {_listed(egress.denied)} }} goto refuse")
    rules.append("accept" if egress.internet else "goto refuse")
    return rules


def _detour_rules(egress: Egress, gate_port: int) -> list[str]:
    """What goes to the gate; the rest takes the straight way, where the egress chain refuses what is closed."""
    to_gate = f"meta l4proto tcp redirect to :{gate_port}"
    rules = [
        'iifname != "lan" return',
        f"ip daddr {GATEWAY_ADDRESS} return",
        "ip daddr @never return",
    ]
    if egress.proxy is not None:
        return [*rules, to_gate]
    if egress.adds_headers:
        rules.append(f"tcp dport {_WEB} {to_gate}")
    if direct := _direct(egress):
        rules.append(f"ip daddr {{ {_listed(direct)} }} return")
    if egress.hosts:
        rules.append(to_gate)
    return rules


def _direct(egress: Egress) -> tuple[IPv4Network, ...]:
    """What is reached whatever else is closed: what is allowed by address, and where only names are, who is asked for them."""
    servers = (IPv4Network(server) for server in egress.dns or ()) if egress.hosts else ()
    return tuple(collapse_addresses([*egress.allowed, *servers]))


def _tenants(tenancies: Mapping[str, int], slots: str) -> str:
    if not tenancies:
        return ""
    return f"""\
    map tenancy {{
        typeof iifname : ct zone
        elements = {{ {_keyed(tenancies, ":")} }}
    }}
    set tenants {{
        typeof oifname . ct original zone
        elements = {{ {_keyed(tenancies, ".")} }}
    }}
    # Before connections are looked up. One direction only: from the outside all are in one space, so that no two have one place.
    chain tell_tenants_apart {{
        type filter hook prerouting priority raw
        policy accept
        iifname {slots} ct original zone set iifname map @tenancy
    }}
"""


def _keyed(tenancies: Mapping[str, int], by: str) -> str:
    return ", ".join(f'"{link}" {by} {tenancy}' for link, tenancy in tenancies.items())


def _quoted(links: Iterable[str]) -> str:
    return ", ".join(f'"{link}"' for link in links)


def _listed(networks: Iterable[IPv4Network]) -> str:
    return ", ".join(str(network) for network in networks)
