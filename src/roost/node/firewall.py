"""The packet filters of a node, as nftables text, and the one call that makes them so.

Two rulesets. **The host's**, one table for each instance: nothing from a slot reaches the host but DNS and answers, no
slot reaches another, what goes out is masqueraded. It matches interfaces by prefix, so that neither its size nor the
cost of a packet depends on the number of slots. **A slot's**, in its router namespace: the way in (everything for the
slot's address goes to the guest), the way out, and the sandbox's egress policy in a chain of its own that can be
swapped while packets flow.

Refused connections are answered (reset, port unreachable) rather than dropped: a program inside fails at once and says
so.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network

from roost.domain.address import GATEWAY_ADDRESS, GUEST_ADDRESS, SlotPlan, link_prefix
from roost.domain.egress import NEVER, Egress
from roost.domain.errors import Fault

LARGEST_CONNECTION_COUNT = 8192  # of one sandbox, outwards: the host's connection table is shared by all
LARGEST_NAME_RATE = 300  # packets a second of one sandbox to the forwarder, which is one process for all of them
SLOT_TABLE = "roost"

_REFUSE = """\
        meta l4proto tcp counter reject with tcp reset
        counter reject with icmp port-unreachable"""


def host_table(instance: str) -> str:
    return f"roost_{instance}"


def render_host(instance: str, network: IPv4Network, dns: tuple[IPv4Address, int]) -> str:
    """The host's table, replacing the one there may be in one step. `dns` is where the forwarder listens."""
    table, slots = host_table(instance), f'"{link_prefix(instance)}*"'
    address, port = dns
    return f"""\
table ip {table}
delete table ip {table}
table ip {table} {{
    set never {{
        type ipv4_addr
        flags interval
        elements = {{ {_listed(NEVER)} }}
    }}
    chain refuse {{
{_REFUSE}
    }}
    chain from_slot {{
        ip saddr != {network} counter drop
        ct state established,related accept
        ip daddr {address} meta l4proto {{ tcp, udp }} th dport {port} accept
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
        oifname {slots} ct state established,related accept
        oifname {slots} counter drop
    }}
    chain departures {{
        type nat hook postrouting priority srcnat
        policy accept
        ip saddr {network} oifname != {slots} masquerade
    }}
}}
"""


def render_host_removal(instance: str) -> str:
    """Takes the host's table away, if there is one."""
    table = host_table(instance)
    return f"table ip {table}\ndelete table ip {table}\n"


def render_slot(plan: SlotPlan, dns: tuple[IPv4Address, int], egress: Egress) -> str:
    """Everything in the router namespace of a new slot."""
    address, port = dns
    return f"""\
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
    chain from_guest {{
        ip saddr != {GUEST_ADDRESS} counter drop
        ct direction reply accept
        ip daddr {address} limit rate over {LARGEST_NAME_RATE}/second burst {LARGEST_NAME_RATE} packets counter drop
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
        iifname "lan" ip daddr {GATEWAY_ADDRESS} udp dport 53 dnat to {address}:{port}
        iifname "lan" ip daddr {GATEWAY_ADDRESS} tcp dport 53 dnat to {address}:{port}
        iifname "wan" ip daddr {plan.router_address} dnat to {GUEST_ADDRESS}
    }}
    chain postrouting {{
        type nat hook postrouting priority srcnat
        policy accept
        oifname "wan" snat to {plan.router_address}
    }}
}}
{render_egress(dns, egress)}"""


def render_egress(dns: tuple[IPv4Address, int], egress: Egress) -> str:
    """The egress chain of a slot, replaced in one step. It sees every packet of an outgoing connection, not the first
    alone, so that a policy that closes something closes it for connections that are open already.
    """
    address, port = dns
    rules: list[str] = []
    if egress.names:
        rules.append(f"ip daddr {address} meta l4proto {{ tcp, udp }} th dport {port} accept")
    rules.append("ip daddr @never goto refuse")
    if egress.allowed:
        rules.append(f"ip daddr {{ {_listed(egress.allowed)} }} accept")
    if egress.denied:
        rules.append(f"ip daddr {{ {_listed(egress.denied)} }} goto refuse")
    rules.append("accept" if egress.internet else "goto refuse")
    added = "".join(f"add rule ip {SLOT_TABLE} egress {rule}\n" for rule in rules)
    return f"flush chain ip {SLOT_TABLE} egress\n{added}"


def apply(ruleset: str, *, to: str) -> None:
    """Loads a ruleset into the network namespace of the calling thread: all of it or nothing. Blocks for some
    milliseconds.

    `to` says whose it is, for the error.
    """
    try:
        done = subprocess.run(["nft", "-f", "-"], input=ruleset, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise Fault("firewall_missing", "The command nft is not on this machine. Install the package nftables.", to=to) from error
    if done.returncode != 0:
        said = done.stderr.strip() or f"nft exited with {done.returncode}"
        raise Fault("firewall_refused", f"The kernel refused the firewall of {to}: {said}", to=to, detail=said)


def _listed(networks: Iterable[IPv4Network]) -> str:
    return ", ".join(str(network) for network in networks)
