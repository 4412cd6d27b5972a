"""The kernel's links, addresses and connection table, by netlink: messages as bytes, many in one call. Blocking.

Building a message is pure; a `Netlink` sends what it is given into the network namespace that it was opened in, wherever the
calling thread is meanwhile. Only what slots need is here.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address
from types import TracebackType
from typing import Final

ROUTE, NETFILTER = 0, 12  # protocols
MAIN_TABLE, LOCAL_TABLE = 254, 255

_REQUEST, _ACK, _DUMP = 0x1, 0x4, 0x300
_REPLACE, _EXCLUSIVE, _CREATE = 0x100, 0x200, 0x400
_ERROR, _DONE = 2, 3
_NEW_LINK, _DELETE_LINK, _NEW_ADDRESS, _DELETE_ADDRESS, _GET_ADDRESS = 16, 17, 20, 21, 22
_NEW_ROUTE, _NEW_NEIGHBOUR, _NEW_RULE, _DELETE_RULE = 24, 28, 32, 33
_DELETE_CONNECTIONS = 1 << 8 | 2  # of the subsystem that tracks connections
_NESTED = 0x8000
_UP = 1
_STATIC_ROUTE, _UNICAST, _TO_TABLE, _BLACKHOLE = 4, 1, 1, 6
_BEFORE_ALL = 1  # priority of a rule; the kernel's own begin at 0, for addresses of its own
_PERMANENT = 0x80  # of a neighbour: never asked for, never forgotten
_HEADER: Final = struct.Struct("=IHHII")
_ATTRIBUTE: Final = struct.Struct("=HH")
_LINK: Final = struct.Struct("=BxHiII")
_ADDRESS: Final = struct.Struct("=BBBBi")
_BUFFER_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class NetlinkMessage:
    """One request. `what` is for the error; errors in `harmless` mean that it was so already."""

    kind: int
    flags: int
    body: bytes
    what: str
    harmless: Collection[int] = ()


@dataclass(frozen=True, slots=True)
class VethEnd:
    """One end of a pair. `index` zero: the kernel chooses. `netns` is a descriptor; None: that of the socket."""

    name: str
    mac: str
    index: int = 0
    netns: int | None = None


@dataclass(frozen=True, slots=True)
class Assigned:
    """An address of the machine."""

    address: IPv4Address
    prefix: int
    label: str


class Netlink:
    """A socket in the network namespace of the thread that opens it. Raises OSError with what the kernel says."""

    def __init__(self, protocol: int = ROUTE) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, protocol)
        try:
            self._socket.bind((0, 0))
        except BaseException:
            self._socket.close()
            raise
        self._number = 0

    def __enter__(self) -> Netlink:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._socket.close()

    def do(self, *messages: NetlinkMessage) -> None:
        """All are carried out, in order. One that fails does not keep the rest from being tried; the first failure is raised."""
        sent = {self._number + place: message for place, message in enumerate(messages, 1)}
        self._number += len(messages)
        self._socket.sendall(b"".join(_encode(message, number, message.flags | _ACK) for number, message in sent.items()))
        failures: list[OSError] = []
        while sent:
            for kind, number, body in self._receive():
                message = sent.pop(number, None) if kind == _ERROR else None
                if message is None:
                    continue
                code = -struct.unpack_from("=i", body)[0]
                if code and code not in message.harmless:
                    failures.append(OSError(code, f"could not {message.what}: {os.strerror(code)}"))
        if failures:
            raise failures[0]

    def addresses(self) -> list[Assigned]:
        """Every IPv4 address in the namespace."""
        self._number += 1
        asked = NetlinkMessage(_GET_ADDRESS, _DUMP, _ADDRESS.pack(socket.AF_INET, 0, 0, 0, 0), "list addresses")
        self._socket.sendall(_encode(asked, self._number, asked.flags))
        found: list[Assigned] = []
        while True:
            for kind, _, body in self._receive():
                if kind == _DONE:
                    return found
                if kind == _ERROR:
                    code = -struct.unpack_from("=i", body)[0]
                    raise OSError(code, f"could not list addresses: {os.strerror(code)}")
                attributes = dict(_attributes(body[_ADDRESS.size :]))
                label = attributes.get(3, b"").rstrip(b"\0").decode()
                found.append(Assigned(IPv4Address(attributes[1]), body[1], label))

    def _receive(self) -> Iterator[tuple[int, int, bytes]]:
        """Kind, number and body of what comes in one datagram."""
        data = self._socket.recv(_BUFFER_BYTES)
        at = 0
        while at + _HEADER.size <= len(data):
            length, kind, _, number, _ = _HEADER.unpack_from(data, at)
            yield kind, number, data[at + _HEADER.size : at + length]
            at += (length + 3) & ~3


def add_pair(near: VethEnd, far: VethEnd, mtu_bytes: int) -> NetlinkMessage:
    """Two links, each the other's peer."""
    peer = _link_body(far, mtu_bytes)
    pair = _nested(18, _text(1, "veth") + _nested(2, _nested(1, peer)))
    return NetlinkMessage(
        _NEW_LINK, _CREATE | _EXCLUSIVE, _link_body(near, mtu_bytes) + pair, f"make the links {near.name} and {far.name}"
    )


def delete_link(name: str) -> NetlinkMessage:
    body = _LINK.pack(socket.AF_UNSPEC, 0, 0, 0, 0) + _text(3, name)
    return NetlinkMessage(_DELETE_LINK, 0, body, f"delete the link {name}", (errno.ENODEV,))


def set_up(index: int) -> NetlinkMessage:
    return NetlinkMessage(_NEW_LINK, 0, _LINK.pack(socket.AF_UNSPEC, 0, index, _UP, _UP), f"set link {index} up")


def add_address(index: int, address: IPv4Address, prefix: int, label: str = "") -> NetlinkMessage:
    """As good if the link has it already."""
    body = _ADDRESS.pack(socket.AF_INET, prefix, 0, 0, index) + _bytes(2, address.packed) + _bytes(1, address.packed)
    body += _text(3, label) if label else b""
    return NetlinkMessage(_NEW_ADDRESS, _CREATE | _EXCLUSIVE, body, f"add the address {address}", (errno.EEXIST,))


def delete_address(index: int, address: IPv4Address, prefix: int) -> NetlinkMessage:
    body = _ADDRESS.pack(socket.AF_INET, prefix, 0, 0, index) + _bytes(2, address.packed)
    return NetlinkMessage(_DELETE_ADDRESS, 0, body, f"delete the address {address}", (errno.EADDRNOTAVAIL,))


def set_neighbour(index: int, address: IPv4Address, mac: str) -> NetlinkMessage:
    """Known for good: nobody has to answer for packets to be sent."""
    body = struct.pack("=BxxxiHBB", socket.AF_INET, index, _PERMANENT, 0, 0) + _bytes(1, address.packed) + _bytes(2, _mac(mac))
    return NetlinkMessage(_NEW_NEIGHBOUR, _CREATE | _REPLACE, body, f"set the neighbour {address}")


def set_default_route(index: int, gateway: IPv4Address) -> NetlinkMessage:
    head = struct.pack("=BBBBBBBBI", socket.AF_INET, 0, 0, 0, MAIN_TABLE, _STATIC_ROUTE, 0, _UNICAST, 0)
    body = head + _bytes(4, struct.pack("=i", index)) + _bytes(5, gateway.packed)
    return NetlinkMessage(_NEW_ROUTE, _CREATE | _REPLACE, body, f"set the default route by {gateway}")


def delete_local_rule() -> NetlinkMessage:
    """The rule that has the kernel deliver what is for an address of its own. As good if it is gone already."""
    head = struct.pack("=BBBBBBBBI", socket.AF_INET, 0, 0, 0, LOCAL_TABLE, 0, 0, _TO_TABLE, 0)
    body = head + _bytes(6, struct.pack("=I", 0)) + _bytes(15, struct.pack("=I", LOCAL_TABLE))
    return NetlinkMessage(_DELETE_RULE, 0, body, "delete the rule for local addresses", (errno.ENOENT,))


def drop_arrivals(link: str) -> NetlinkMessage:
    """What arrives by that link leads nowhere, and nobody is told. As good if it did already."""
    return NetlinkMessage(_NEW_RULE, _CREATE | _EXCLUSIVE, _drop_rule(link), f"drop what arrives by {link}", (errno.EEXIST,))


def pass_arrivals(link: str) -> NetlinkMessage:
    """What `drop_arrivals` did is over. As good if it was."""
    return NetlinkMessage(_DELETE_RULE, 0, _drop_rule(link), f"let in what arrives by {link}", (errno.ENOENT,))


def _drop_rule(link: str) -> bytes:
    head = struct.pack("=BBBBBBBBI", socket.AF_INET, 0, 0, 0, 0, 0, 0, _BLACKHOLE, 0)
    return head + _text(3, link) + _bytes(6, struct.pack("=I", _BEFORE_ALL))


def forget_connections() -> NetlinkMessage:
    """The namespace remembers no connection any more. By a `NETFILTER` socket."""
    return NetlinkMessage(_DELETE_CONNECTIONS, 0, struct.pack("=BBH", socket.AF_UNSPEC, 0, 0), "forget connections")


def _encode(message: NetlinkMessage, number: int, flags: int) -> bytes:
    head = _HEADER.pack(_HEADER.size + len(message.body), message.kind, _REQUEST | flags, number, 0)
    return _padded(head + message.body)


def _link_body(link: VethEnd, mtu_bytes: int) -> bytes:
    body = _LINK.pack(socket.AF_UNSPEC, 0, link.index, 0, 0) + _text(3, link.name) + _bytes(1, _mac(link.mac))
    body += _bytes(4, struct.pack("=I", mtu_bytes))
    return body + (_bytes(28, struct.pack("=i", link.netns)) if link.netns is not None else b"")


def _attributes(body: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + _ATTRIBUTE.size <= len(body):
        length, kind = _ATTRIBUTE.unpack_from(body, at)
        yield kind & ~_NESTED, body[at + _ATTRIBUTE.size : at + length]
        at += (length + 3) & ~3


def _bytes(kind: int, value: bytes) -> bytes:
    return _padded(_ATTRIBUTE.pack(_ATTRIBUTE.size + len(value), kind) + value)


def _text(kind: int, value: str) -> bytes:
    return _bytes(kind, value.encode() + b"\0")


def _nested(kind: int, value: bytes) -> bytes:
    return _bytes(kind | _NESTED, value)


def _mac(text: str) -> bytes:
    return bytes.fromhex(text.replace(":", ""))


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
