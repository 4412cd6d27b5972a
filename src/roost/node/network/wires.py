"""Slots' namespaces and links: made, readied, cleaned, taken away. Blocking, by netlink; `slots` decides when and for whom.

    guest namespace            router namespace                                   host
    eth0 169.254.7.2 ───────── lan 169.254.7.1 │ wan <router address> ─────────── <host link> <host address>
    (gVisor reads its frames)                  (firewall, NAT)

What enters a namespace does so on a thread that ends with the work (`apart`), so no thread of the server is ever left
in a namespace that is not the host's.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from ipaddress import IPv4Address
from pathlib import Path
from typing import TypeVar

from roost.domain.address import (
    GATEWAY_ADDRESS,
    GATEWAY_MAC,
    GUEST_ADDRESS,
    GUEST_MAC,
    GUEST_NETWORK,
    SLOT_PREFIX,
    SlotPlan,
    slot_index_named,
)
from roost.node.network import nftables
from roost.node.network.netlink import (
    NETFILTER,
    Netlink,
    NetlinkMessage,
    VethEnd,
    add_address,
    add_pair,
    delete_link,
    delete_local_rule,
    drop_arrivals,
    forget_connections,
    pass_arrivals,
    set_default_route,
    set_neighbour,
    set_up,
)

T = TypeVar("T")

NETNS_DIRECTORY = Path("/run/netns")
LARGEST_MTU_BYTES = 1500
LONG_SLEEP_S = 30 * 24 * 3600

_OWN_NETNS = "/proc/thread-self/ns/net"
_CLONE_NEWNET = 0x40000000
_MS_BIND, _MS_REC, _MS_SHARED, _MNT_DETACH = 4096, 16384, 1 << 20, 2
_LOOPBACK = 1
_ETH0, _LAN, _WAN = 100, 100, 101  # numbers of links: chosen here, nobody has to ask for them

# For links that are made from now on. The loopback keeps it: what listens on localhost listens on ::1 as often as not, and
# gVisor gives a guest the loopback addresses it finds here.
_QUIET = {"net/ipv6/conf/default/disable_ipv6": "1"}
_ROUTING = {
    "net/ipv4/ip_forward": "1",
    "net/ipv4/conf/all/send_redirects": "0",
    "net/ipv4/conf/default/send_redirects": "0",
    "net/ipv4/conf/all/accept_redirects": "0",
    # A sleeping guest acknowledges nothing, perhaps for days; its connections are to be known when it wakes.
    "net/netfilter/nf_conntrack_tcp_be_liberal": "1",
    "net/netfilter/nf_conntrack_tcp_timeout_established": str(LONG_SLEEP_S),
    "net/netfilter/nf_conntrack_tcp_timeout_max_retrans": str(LONG_SLEEP_S),
    "net/netfilter/nf_conntrack_tcp_timeout_unacknowledged": str(LONG_SLEEP_S),
}
# What is under way of a connection that the router has forgotten must not be taken for the beginning of one: it was a former
# sandbox's.
_NO_MIDDLES = {"net/netfilter/nf_conntrack_tcp_loose": "0"}

_libc = ctypes.CDLL(None, use_errno=True)


def apart(work: Callable[[], T]) -> T:
    """Runs `work` on a thread of its own and waits for it. The thread may change its network namespace: it ends with
    the work.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="roost-slot")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


def make(plan: SlotPlan, ruleset: str, mtu_bytes: int, tenancy: int) -> None:
    """Namespaces, links, addresses and the router's firewall of a slot. Nothing of it may exist before. Only on a
    thread of its own.

    A failure leaves parts behind: `remove` takes them away.
    """
    with _open(_OWN_NETNS) as host, Netlink() as host_netlink:
        _unshare(plan.guest_netns, _QUIET)
        with _open(_OWN_NETNS) as guest, Netlink() as guest_netlink:
            _unshare(plan.router_netns, {**_QUIET, **_ROUTING, **_NO_MIDDLES})
            with Netlink() as router_netlink:
                router_netlink.do(*_links(plan, host, guest, mtu_bytes))
            nftables.apply(ruleset, to=f"slot {plan.index}")
            guest_netlink.do(delete_local_rule(), set_up(_LOOPBACK), *_readied(_ETH0))
        _check(_libc.setns(host, _CLONE_NEWNET), "go back to the host's network namespace")
        # The host has IPv6 as its owner wants it; this link has none. Said before it is up, or it would announce itself.
        _set_sysctl(f"net/ipv6/conf/{plan.host_link}/disable_ipv6", "1")
        link, neighbour = socket.if_nametoindex(plan.host_link), (plan.router_address, plan.router_mac)
        host_netlink.do(*_joined(link, (plan.host_address, SLOT_PREFIX), neighbour))
    write_tenancy(plan, tenancy)


def ready(plan: SlotPlan) -> None:
    """The guest namespace has its address and route again: gVisor takes them away when it starts. May be repeated. Only
    on a thread of its own.
    """
    enter(plan.guest_netns)
    with Netlink() as netlink:
        netlink.do(*_readied(socket.if_nametoindex("eth0")))


def clean(plan: SlotPlan, ruleset: str | None) -> None:
    """A slot that a sandbox has left is as good as a new one once its tenancy is another: its router remembers no connection and
    the guest namespace is ready. With `ruleset` the router's firewall is replaced too. Only on a thread of its own, and only when
    nothing runs in the slot any more. Raises OSError, Fault; then the slot is not to be used again.
    """
    enter(plan.router_netns)
    for key, value in _NO_MIDDLES.items():  # a slot of an older Roost lacks it
        _set_sysctl(key, value)
    if ruleset is not None:
        nftables.apply(ruleset, to=f"slot {plan.index}")
    with Netlink(NETFILTER) as netlink:
        netlink.do(forget_connections())
    ready(plan)


def hold(plan: SlotPlan) -> None:
    """Nothing that is sent to the slot reaches its guest namespace, and nobody is told: who sent it sends it again. May be
    repeated. Only on a thread of its own."""
    _change(plan, drop_arrivals("wan"))


def let_in(plan: SlotPlan) -> None:
    """What `hold` did is over. May be repeated. Only on a thread of its own."""
    _change(plan, pass_arrivals("wan"))


def _change(plan: SlotPlan, message: NetlinkMessage) -> None:
    enter(plan.router_netns)
    with Netlink() as netlink:
        netlink.do(message)


def write_tenancy(plan: SlotPlan, tenancy: int) -> None:
    """Kept with the link itself, for a server that adopts it."""
    _tenancy_file(plan).write_text(f"{tenancy}\n")


def read_tenancy(plan: SlotPlan) -> int:
    """Zero for a slot of a Roost that knew of none."""
    try:
        return int(_tenancy_file(plan).read_text().strip() or 0)
    except (OSError, ValueError):
        return 0


def enter(netns: str) -> None:
    """The calling thread works in that namespace from now on. Only on a thread of its own."""
    with _open(str(NETNS_DIRECTORY / netns)) as descriptor:
        _check(_libc.setns(descriptor, _CLONE_NEWNET), f"enter the network namespace {netns}")


def remove(plan: SlotPlan) -> None:
    """Nothing of the slot is left. May be repeated, and called on a slot half made."""
    with Netlink() as netlink:
        netlink.do(delete_link(plan.host_link))
    for name in (plan.guest_netns, plan.router_netns):
        path = NETNS_DIRECTORY / name
        _libc.umount2(str(path).encode(), _MNT_DETACH)  # fails when it is not mounted, which is what we want
        path.unlink(missing_ok=True)


def uplink_mtu_bytes() -> int:
    """The largest packet that leaves the machine by its default route, or less: what slots should not exceed."""
    rows = [line.split() for line in Path("/proc/net/route").read_text().splitlines()[1:]]
    links = {row[0] for row in rows if len(row) > 7 and int(row[1], 16) == 0 and int(row[7], 16) == 0}
    sizes = [int(Path("/sys/class/net", link, "mtu").read_text()) for link in links]
    return min([*sizes, LARGEST_MTU_BYTES])


def is_whole(plan: SlotPlan) -> bool:
    """Whether both namespaces and the host's link of a slot are there."""
    filesystem = Path(_OWN_NETNS).stat().st_dev
    for name in (plan.guest_netns, plan.router_netns):
        try:
            if (NETNS_DIRECTORY / name).stat().st_dev != filesystem:
                return False
        except FileNotFoundError:
            return False
    return Path("/sys/class/net", plan.host_link).exists()


def traces(instance: str) -> set[int]:
    """The slots of this instance of which anything is left on the machine."""
    return {index for name in netns_names() + link_names() if (index := slot_index_named(instance, name)) is not None}


def netns_names() -> list[str]:
    try:
        return [path.name for path in NETNS_DIRECTORY.iterdir()]
    except FileNotFoundError:
        return []


def link_names() -> list[str]:
    return [path.name for path in Path("/sys/class/net").iterdir()]


def _unshare(name: str, settings: dict[str, str]) -> None:
    """A new network namespace under that name, with the calling thread inside."""
    path = NETNS_DIRECTORY / name
    path.touch(mode=0o444, exist_ok=False)
    _check(_libc.unshare(_CLONE_NEWNET), f"make the network namespace {name}")
    _check(
        _libc.mount(_OWN_NETNS.encode(), str(path).encode(), b"none", _MS_BIND, None),
        f"mount the network namespace {name}",
    )
    for key, value in settings.items():
        _set_sysctl(key, value)


def _links(plan: SlotPlan, host: int, guest: int, mtu_bytes: int) -> list[NetlinkMessage]:
    """The router's two links with their far ends, and what it needs to send by them."""
    return [
        add_pair(VethEnd("lan", GATEWAY_MAC, _LAN), VethEnd("eth0", GUEST_MAC, _ETH0, netns=guest), mtu_bytes),
        add_pair(VethEnd("wan", plan.router_mac, _WAN), VethEnd(plan.host_link, plan.host_mac, netns=host), mtu_bytes),
        set_up(_LOOPBACK),
        *_joined(_LAN, (GATEWAY_ADDRESS, GUEST_NETWORK.prefixlen), (GUEST_ADDRESS, GUEST_MAC)),
        *_joined(_WAN, (plan.router_address, SLOT_PREFIX), (plan.host_address, plan.host_mac)),
        set_default_route(_WAN, plan.host_address),
    ]


def _readied(eth0: int) -> list[NetlinkMessage]:
    """What gVisor finds there when it starts. The kernel itself delivers nothing in the guest namespace (`delete_local_rule`):
    while no gVisor is there it must not answer in its place. A single reset would end a connection that is only asleep.
    """
    return [
        *_joined(eth0, (GUEST_ADDRESS, GUEST_NETWORK.prefixlen), (GATEWAY_ADDRESS, GATEWAY_MAC)),
        set_default_route(eth0, GATEWAY_ADDRESS),
    ]


def _joined(link: int, own: tuple[IPv4Address, int], neighbour: tuple[IPv4Address, str]) -> list[NetlinkMessage]:
    """The link is up with this address, and knows its one neighbour for good."""
    return [add_address(link, *own), set_up(link), set_neighbour(link, *neighbour)]


def _tenancy_file(plan: SlotPlan) -> Path:
    return Path("/sys/class/net", plan.host_link, "ifalias")


def _set_sysctl(key: str, value: str) -> None:
    """In the network namespace of the calling thread. A kernel without IPv6 has no IPv6 to be switched off."""
    with suppress(FileNotFoundError), _open(f"/proc/sys/{key}", os.O_WRONLY) as descriptor:
        os.write(descriptor, value.encode())


def share_netns_directory() -> None:
    """As `ip netns` does, so that both see the same namespaces. Once, before the first slot is made.

    One at a time, by the lock that `ip netns` takes too: several would mount the directory one over the other.
    """
    NETNS_DIRECTORY.mkdir(mode=0o755, exist_ok=True)
    directory = str(NETNS_DIRECTORY).encode()
    with _open(str(NETNS_DIRECTORY)) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _libc.mount(b"", directory, b"none", _MS_SHARED | _MS_REC, None) == 0:
            return
        _check(_libc.mount(directory, directory, b"none", _MS_BIND | _MS_REC, None), f"mount {NETNS_DIRECTORY}")
        _check(_libc.mount(b"", directory, b"none", _MS_SHARED | _MS_REC, None), f"share {NETNS_DIRECTORY}")


@contextmanager
def _open(path: str, how: int = os.O_RDONLY) -> Iterator[int]:
    descriptor = os.open(path, how | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _check(result: int, what: str) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"could not {what}: {os.strerror(code)}")
