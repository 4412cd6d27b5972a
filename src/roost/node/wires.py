"""One slot's namespaces and links: made, readied, taken away. Blocking, by netlink; `slots` decides when and for whom.

    guest namespace            router namespace                                   host
    eth0 169.254.7.2 ───────── lan 169.254.7.1 │ wan <router address> ─────────── <host link> <host address>
    (gVisor reads its frames)                  (firewall, NAT)

What enters a namespace does so on a thread that ends with the work (`apart`), so no thread of the server is ever left
in a namespace that is not the host's.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

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
from roost.node import firewall

T = TypeVar("T")

NETNS_DIRECTORY = Path("/run/netns")
LARGEST_MTU_BYTES = 1500
LONG_SLEEP_S = 30 * 24 * 3600

_OWN_NETNS = "/proc/thread-self/ns/net"
_CLONE_NEWNET = 0x40000000
_MS_BIND, _MS_REC, _MS_SHARED, _MNT_DETACH = 4096, 16384, 1 << 20, 2
_PERMANENT = 0x80  # of a neighbour entry: never asked for, never forgotten
_LOCAL_TABLE, _MAIN_TABLE = 255, 254
_LOOPBACK_INDEX = 1

_QUIET = {
    "net/ipv6/conf/all/disable_ipv6": "1",
    "net/ipv6/conf/default/disable_ipv6": "1",
}
# What listens on localhost, listens on ::1 as often as not: gVisor gives a guest the loopback addresses it finds here.
_OWN_LOOPBACK = {"net/ipv6/conf/lo/disable_ipv6": "0"}
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


def make(plan: SlotPlan, ruleset: str, mtu_bytes: int) -> None:
    """Namespaces, links, addresses and the router's firewall of a slot. Nothing of it may exist before. Only on a
    thread of its own.

    A failure leaves parts behind: `remove` takes them away.
    """
    with _open(_OWN_NETNS) as host, IPRoute() as host_netlink:
        _unshare(plan.guest_netns, {**_QUIET, **_OWN_LOOPBACK})
        with _open(_OWN_NETNS) as guest, IPRoute() as guest_netlink:
            _unshare(plan.router_netns, {**_QUIET, **_ROUTING})
            with IPRoute() as router_netlink:
                _make_links(plan, router_netlink, (host, guest), mtu_bytes)
            firewall.apply(ruleset, to=f"slot {plan.index}")
            _silence_kernel(guest_netlink)
            guest_netlink.link("set", index=_LOOPBACK_INDEX, state="up")
            _ready_guest(guest_netlink)
        _check(_libc.setns(host, _CLONE_NEWNET), "go back to the host's network namespace")
        _join_host(plan, host_netlink)


def ready(plan: SlotPlan) -> None:
    """The guest namespace has its address and route again: gVisor takes them away when it starts. May be repeated. Only
    on a thread of its own.
    """
    enter(plan.guest_netns)
    with IPRoute() as netlink:
        _ready_guest(netlink)


def enter(netns: str) -> None:
    """The calling thread works in that namespace from now on. Only on a thread of its own."""
    with _open(str(NETNS_DIRECTORY / netns)) as descriptor:
        _check(_libc.setns(descriptor, _CLONE_NEWNET), f"enter the network namespace {netns}")


def remove(plan: SlotPlan) -> None:
    """Nothing of the slot is left. May be repeated, and called on a slot half made."""
    with IPRoute() as netlink, _ignoring(errno.ENODEV):
        netlink.link("del", index=_index(netlink, plan.host_link))
    for name in (plan.guest_netns, plan.router_netns):
        path = NETNS_DIRECTORY / name
        _libc.umount2(str(path).encode(), _MNT_DETACH)  # fails when it is not mounted, which is what we want
        path.unlink(missing_ok=True)


def uplink_mtu_bytes() -> int:
    """The largest packet that leaves the machine by its default route, or less: what slots should not exceed."""
    with IPRoute() as netlink:
        routes = netlink.get_default_routes(family=socket.AF_INET, table=_MAIN_TABLE)
        links = {route.get("oif") for route in routes} - {None}
        return min((_mtu_bytes(netlink, link) for link in links), default=LARGEST_MTU_BYTES)


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


def _make_links(plan: SlotPlan, router: Any, outer: tuple[int, int], mtu_bytes: int) -> None:
    host, guest = outer
    _add_veth(router, ("lan", GATEWAY_MAC), ("eth0", GUEST_MAC, guest), mtu_bytes)
    _add_veth(router, ("wan", plan.router_mac), (plan.host_link, plan.host_mac, host), mtu_bytes)
    lan, wan = _index(router, "lan"), _index(router, "wan")
    router.link("set", index=_LOOPBACK_INDEX, state="up")
    _address(router, lan, (str(GATEWAY_ADDRESS), GUEST_NETWORK.prefixlen), (str(GUEST_ADDRESS), GUEST_MAC))
    _address(router, wan, (str(plan.router_address), SLOT_PREFIX), (str(plan.host_address), plan.host_mac))
    router.route("add", dst="0.0.0.0/0", gateway=str(plan.host_address), oif=wan)


def _join_host(plan: SlotPlan, host: Any) -> None:
    # The host has IPv6 as its owner wants it; this link has none. Said before it is up, or it would announce itself.
    _set_sysctl(f"net/ipv6/conf/{plan.host_link}/disable_ipv6", "1")
    link = _index(host, plan.host_link)
    _address(host, link, (str(plan.host_address), SLOT_PREFIX), (str(plan.router_address), plan.router_mac))


def _ready_guest(guest: Any) -> None:
    eth0 = _index(guest, "eth0")
    _address(guest, eth0, (str(GUEST_ADDRESS), GUEST_NETWORK.prefixlen), (str(GATEWAY_ADDRESS), GATEWAY_MAC))
    guest.route("replace", dst="0.0.0.0/0", gateway=str(GATEWAY_ADDRESS), oif=eth0)


def _silence_kernel(guest: Any) -> None:
    """The kernel delivers nothing in the guest namespace: gVisor takes its frames from the link, below. While no gVisor
    is there, the kernel must not answer in its place: a single reset would end a connection that is only asleep.
    """
    guest.rule("del", priority=0, table=_LOCAL_TABLE)


def _add_veth(netlink: Any, near: tuple[str, str], far: tuple[str, str, int], mtu_bytes: int) -> None:
    netlink.link(
        "add",
        kind="veth",
        ifname=near[0],
        address=near[1],
        mtu=mtu_bytes,
        peer={"ifname": far[0], "address": far[1], "mtu": mtu_bytes, "net_ns_fd": far[2]},
    )


def _address(netlink: Any, link: int, own: tuple[str, int], neighbour: tuple[str, str]) -> None:
    """The link is up with this address, and knows its one neighbour for good: nobody has to answer for packets to be
    sent.
    """
    netlink.addr("replace", index=link, address=own[0], prefixlen=own[1])
    netlink.link("set", index=link, state="up")
    netlink.neigh("replace", ifindex=link, dst=neighbour[0], lladdr=neighbour[1], state=_PERMANENT)


def _index(netlink: Any, name: str) -> int:
    return netlink.link("get", ifname=name)[0]["index"]


def _mtu_bytes(netlink: Any, link: int) -> int:
    return min(netlink.link("get", index=link)[0].get("mtu"), LARGEST_MTU_BYTES)


def _set_sysctl(key: str, value: str) -> None:
    """In the network namespace of the calling thread. A kernel without IPv6 has no IPv6 to be switched off."""
    with suppress(FileNotFoundError):
        Path("/proc/sys", key).write_text(value)


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
def _open(path: str) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _ignoring(code: int) -> Iterator[None]:
    try:
        yield
    except NetlinkError as error:
        if error.code != code:
            raise


def _check(result: int, what: str) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"could not {what}: {os.strerror(code)}")
