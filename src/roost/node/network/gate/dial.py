"""Connections from a gate outwards: to an address that may be reached, by itself or through the owner's proxy.

Sockets are made in the slot's router namespace: the host's firewall sees what they send as the sandbox's own traffic,
and keeps closed what is closed to it, whatever is decided here.
"""

from __future__ import annotations

import base64
import socket
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address

import anyio
from anyio import to_thread
from anyio.abc import ByteStream
from anyio.streams.buffered import BufferedByteReceiveStream
from anyio.streams.tls import TLSStream

from roost.domain.egress import Egress, Passage, is_never, may_pass
from roost.domain.proxy import Proxy, ProxyProtocol
from roost.node.network import wires
from roost.node.network.gate.wire import Primed, Wire, connect
from roost.node.network.names import Names

CONNECT_WITHIN_S = 15.0
MOST_TRIED = 4  # addresses of a name
SOCKETS_AT_ONCE = 8
_LONGEST_HEAD_BYTES = 16 << 10


class HostUnreachable(Exception):
    """Nobody could be connected to. The text says who and why, for the log and for a guest that speaks HTTP."""


@dataclass(frozen=True, slots=True)
class Destination:
    """What the guest connected to."""

    address: IPv4Address
    port: int


class Dialer:
    """Of one slot, with one policy."""

    def __init__(self, *, netns: str, egress: Egress, names: Names, private_proxies: bool) -> None:
        self._netns = netns
        self._egress = egress
        self._names = names
        self._private_proxies = private_proxies
        self._making = anyio.CapacityLimiter(SOCKETS_AT_ONCE)
        self._trust: ssl.SSLContext | None = None
        self._proxy_trust: ssl.SSLContext | None = None

    async def dial(self, way: Passage, meant: Destination) -> ByteStream:
        """Raises HostUnreachable."""
        try:
            with anyio.fail_after(CONNECT_WITHIN_S):
                addresses = await self._addresses(way, meant.address)
                if self._egress.proxy is not None:
                    return await self._through(self._egress.proxy, addresses[0], meant.port)
                return await self._first_of(addresses, meant.port)
        except TimeoutError as error:
            raise HostUnreachable(f"{way.name or meant.address} port {meant.port} did not answer in time") from error

    async def secure(self, stream: ByteStream, name: str) -> ByteStream:
        """TLS to the host of that name, whose certificate this machine trusts. Raises HostUnreachable."""
        if self._trust is None:
            self._trust = await to_thread.run_sync(_context, None)
            self._trust.set_alpn_protocols(["http/1.1"])
        return await _secured(stream, self._trust, name)

    async def _addresses(self, way: Passage, meant: IPv4Address) -> Sequence[IPv4Address]:
        if way.name is None:
            return (meant,)
        known = await self._names.addresses(way.name, self._egress)
        usable = [address for address in known if may_pass(self._egress, way, address)]
        if not usable:
            why = "no name server knows its address" if not known else "all its addresses are closed to sandboxes"
            raise HostUnreachable(f"{way.name} cannot be reached: {why}")
        # The one that the guest chose, if the name has it: it may have had a reason.
        return sorted(usable, key=lambda address: address != meant)[:MOST_TRIED]

    async def _first_of(self, addresses: Sequence[IPv4Address], port: int, *, from_host: bool = False) -> Wire:
        failure = ""
        for address in addresses:
            sock = _socket() if from_host else await self._socket_of_slot()
            try:
                with anyio.fail_after(CONNECT_WITHIN_S / len(addresses)):
                    await connect(sock, (str(address), port))
                return Wire(sock)
            except (OSError, TimeoutError) as error:
                sock.close()
                failure = f"{address} port {port}: {error.strerror or 'no answer'}"
            except BaseException:
                sock.close()
                raise
        raise HostUnreachable(f"could not connect to {failure}")

    async def _socket_of_slot(self) -> socket.socket:
        def make() -> socket.socket:
            wires.enter(self._netns)
            return _socket()

        try:
            return await to_thread.run_sync(lambda: wires.apart(make), limiter=self._making)
        except OSError as error:
            raise HostUnreachable(f"the network of the slot is gone: {error.strerror}") from error

    async def _through(self, proxy: Proxy, address: IPv4Address, port: int) -> ByteStream:
        """A connection to the address that the proxy made. If it does not, there is none."""
        addresses = (proxy.ip,) if proxy.ip is not None else await self._names.addresses(proxy.host, None)
        public = [each for each in addresses if not is_never(each)]
        private = [each for each in addresses if is_never(each)] if self._private_proxies else []
        if not public and not private:
            raise HostUnreachable(f"the proxy {proxy.host} has no address that may be used")
        stream: ByteStream = await self._first_of((public or private)[:MOST_TRIED], proxy.port, from_host=not public)
        try:
            if proxy.tls:
                if self._proxy_trust is None:
                    self._proxy_trust = await to_thread.run_sync(_context, proxy.ca_cert)
                stream = await _secured(stream, self._proxy_trust, proxy.server_name or proxy.host)
            ask = _ask_socks if proxy.protocol is ProxyProtocol.SOCKS5 else _ask_connect
            return await ask(stream, proxy, (address, port))
        except (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError, anyio.DelimiterNotFound) as error:
            await anyio.aclose_forcefully(stream)
            raise HostUnreachable(f"the proxy {proxy.host} closed the connection") from error
        except BaseException:
            await anyio.aclose_forcefully(stream)
            raise


async def _ask_socks(stream: ByteStream, proxy: Proxy, target: tuple[IPv4Address, int]) -> ByteStream:
    """RFC 1928, with the address and never the name: which one it is has been decided."""
    reader = BufferedByteReceiveStream(stream)
    method = 2 if proxy.username is not None else 0
    await stream.send(bytes([5, 1, method]))
    version, chosen = await reader.receive_exactly(2)
    if version != 5 or chosen != method:
        raise HostUnreachable(f"the proxy {proxy.host} {'wants other credentials' if version == 5 else 'does not speak SOCKS5'}")
    if proxy.username is not None:
        user, password = proxy.username.encode(), (proxy.password or "").encode()
        await stream.send(bytes([1, len(user)]) + user + bytes([len(password)]) + password)
        if (await reader.receive_exactly(2))[1] != 0:
            raise HostUnreachable(f"the proxy {proxy.host} did not accept the credentials")
    address, port = target
    await stream.send(b"\5\1\0\1" + address.packed + port.to_bytes(2, "big"))
    _, code, _, kind = await reader.receive_exactly(4)
    if code != 0:
        raise HostUnreachable(f"the proxy {proxy.host} could not connect to {address} port {port} (SOCKS5 says {code})")
    length = (await reader.receive_exactly(1))[0] if kind == 3 else {1: 4, 4: 16}.get(kind, 0)
    await reader.receive_exactly(length + 2)
    return Primed(stream, reader.buffer)


async def _ask_connect(stream: ByteStream, proxy: Proxy, target: tuple[IPv4Address, int]) -> ByteStream:
    authority = f"{target[0]}:{target[1]}"
    lines = [f"CONNECT {authority} HTTP/1.1", f"Host: {authority}"]
    if proxy.username is not None:
        secret = base64.b64encode(f"{proxy.username}:{proxy.password or ''}".encode()).decode()
        lines.append(f"Proxy-Authorization: Basic {secret}")
    await stream.send("\r\n".join(lines).encode() + b"\r\n\r\n")
    reader = BufferedByteReceiveStream(stream)
    head = await reader.receive_until(b"\r\n\r\n", _LONGEST_HEAD_BYTES)
    status = head.split(b"\r\n", 1)[0].split(b" ")
    if not status[0].startswith(b"HTTP/1.") or len(status) < 2 or not status[1].startswith(b"2"):
        said = head.split(b"\r\n", 1)[0][:80].decode("ascii", "replace")
        raise HostUnreachable(f"the proxy {proxy.host} did not connect to {authority}: {said}")
    return Primed(stream, reader.buffer)


async def _secured(stream: ByteStream, context: ssl.SSLContext, name: str) -> TLSStream:
    try:
        return await TLSStream.wrap(stream, server_side=False, hostname=name, ssl_context=context, standard_compatible=False)
    except ssl.SSLCertVerificationError as error:
        raise HostUnreachable(f"the certificate of {name} is not trusted here: {error.verify_message}") from error
    except (ssl.SSLError, anyio.BrokenResourceError, anyio.EndOfStream, OSError) as error:
        raise HostUnreachable(f"{name} does not speak TLS as it should: {error}") from error


def _context(trusted: str | None) -> ssl.SSLContext:
    """Blocks for some milliseconds. Raises HostUnreachable."""
    try:
        context = ssl.create_default_context(cadata=trusted)
    except ssl.SSLError as error:
        raise HostUnreachable(f"the proxy's caCert cannot be read: {error}") from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _socket() -> socket.socket:
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
