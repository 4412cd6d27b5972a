"""Which Roost on this machine uses which address range: one file for each range, with the name of its instance inside.

Taken and given back under a lock that all of them share. A range is marked on the machine itself too, by the
forwarder's address on the loopback interface, in the same breath: a file without a mark or a namespace is what is left
of an instance that is gone. Blocking; runs in threads.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

from roost.domain.address import RANGE_PREFIX, choose_range, dns_address, dns_label
from roost.node.network import wires
from roost.node.network.netlink import Netlink, add_address, delete_address

_LOOPBACK_INDEX = 1
_OWN_LABEL = re.compile(r"(?:lo:r([a-z0-9]{5})|r([a-z0-9]{5})w[0-9]+)")
_OWN_NETNS = re.compile(r"roost-([a-z0-9]{5})-[gr][0-9]+")


def take(instance: str, pool: IPv4Network, directory: Path) -> IPv4Network:
    """The range of this instance from now on: the one it has already, even if the pool was changed meanwhile, else a
    free one.
    """
    with _locked(directory), Netlink() as netlink:
        marked: dict[IPv4Network, str] = {}
        occupied: list[IPv4Network] = []
        for assigned in netlink.addresses():
            network = IPv4Network((assigned.address, assigned.prefix), strict=False)
            match = _OWN_LABEL.fullmatch(assigned.label)
            if match:
                marked[network.supernet(new_prefix=RANGE_PREFIX)] = match.group(1) or match.group(2)
            else:
                occupied.append(network)
        named = {match.group(1) for name in wires.netns_names() if (match := _OWN_NETNS.fullmatch(name))}
        taken = _leases(directory, alive={*marked.values(), *named, instance}) | marked
        network = choose_range(instance, pool, taken, occupied)
        _lease(directory, network).write_text(f"{instance}\n")
        netlink.do(add_address(_LOOPBACK_INDEX, dns_address(network), 32, dns_label(instance)))
        return network


def give_back(instance: str, network: IPv4Network, directory: Path) -> None:
    """The range is free. May be repeated."""
    with _locked(directory), Netlink() as netlink:
        netlink.do(delete_address(_LOOPBACK_INDEX, dns_address(network), 32))
        lease = _lease(directory, network)
        with suppress(FileNotFoundError):
            if lease.read_text().strip() == instance:
                lease.unlink()


def _leases(directory: Path, *, alive: set[str]) -> dict[IPv4Network, str]:
    """The ranges taken, by the files. Those of instances of which nothing is left are thrown away."""
    leases: dict[IPv4Network, str] = {}
    for path in directory.iterdir():
        address, _, prefix = path.name.partition("_")
        try:
            network = IPv4Network((IPv4Address(address), int(prefix)))
        except ValueError:
            continue  # the lock, or a stranger's file
        holder = path.read_text().strip()
        if holder in alive:
            leases[network] = holder
        else:
            path.unlink()
    return leases


def _lease(directory: Path, network: IPv4Network) -> Path:
    return directory / f"{network.network_address}_{network.prefixlen}"


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    directory.mkdir(mode=0o755, parents=True, exist_ok=True)
    descriptor = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
