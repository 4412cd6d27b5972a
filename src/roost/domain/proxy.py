"""A proxy of the sandbox's owner, through which everything that the sandbox sends by TCP leaves the machine.

The address is `host:port` or `socks5://host:port` for SOCKS5, `http://host:port` for HTTP's CONNECT.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import AddressValueError, IPv4Address

from roost.domain.errors import Invalid
from roost.domain.hosts import LONGEST_NAME, host_name

LONGEST_CREDENTIAL_BYTES = 255  # as SOCKS5 counts them
LONGEST_CA_BYTES = 8192


class ProxyProtocol(StrEnum):
    """How a proxy is asked for a connection."""

    SOCKS5 = "socks5"
    CONNECT = "http"


@dataclass(frozen=True, slots=True)
class Proxy:
    """`username` and `password` go together. With `tls` the proxy is spoken to through TLS, and its certificate checked for
    `server_name` (unless set, the host of the address) against `ca_cert` (unless set, what this machine trusts)."""

    address: str
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    tls: bool = False
    server_name: str | None = None
    ca_cert: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        _parse(self.address)
        for what, value in (("username", self.username), ("password", self.password)):
            if value is not None and not 1 <= len(value.encode()) <= LONGEST_CREDENTIAL_BYTES:
                raise _invalid(f"The proxy's {what} has 1 to {LONGEST_CREDENTIAL_BYTES} bytes.")
        if self.password is not None and self.username is None:
            raise _invalid("The proxy has a password but no username. Give both, or neither.")
        if self.username is not None and self.protocol is ProxyProtocol.CONNECT and ":" in self.username:
            raise _invalid("The proxy's username has a colon in it, which HTTP cannot carry.")
        if (self.server_name is not None or self.ca_cert is not None) and not self.tls:
            raise _invalid("serverName and caCert are for a proxy that speaks TLS. Enable tls too, or leave them out.")
        if self.server_name is not None and (host_name(self.server_name) is None or len(self.server_name) > LONGEST_NAME):
            raise _invalid(f"{self.server_name[:260]!r} is no name that a proxy's certificate could have.")
        if self.ca_cert is not None and not _is_pem(self.ca_cert):
            raise _invalid(f"The proxy's caCert is not one or more PEM certificates of at most {LONGEST_CA_BYTES} bytes.")

    @property
    def protocol(self) -> ProxyProtocol:
        return _parse(self.address)[0]

    @property
    def host(self) -> str:
        """A name, or an IPv4 address."""
        return _parse(self.address)[1]

    @property
    def port(self) -> int:
        return _parse(self.address)[2]

    @property
    def ip(self) -> IPv4Address | None:
        """The host, if it is an address."""
        try:
            return IPv4Address(self.host)
        except AddressValueError:
            return None


def _parse(address: str) -> tuple[ProxyProtocol, str, int]:
    scheme, separator, rest = address.partition("://")
    protocol, authority = (
        (ProxyProtocol.SOCKS5, address) if not separator else (_SCHEMES.get(scheme.lower()), rest.removesuffix("/"))
    )
    host, _, port = authority.rpartition(":")
    number = int(port) if port.isascii() and port.isdigit() and len(port) <= 5 else 0
    if protocol is None or not 1 <= number <= 65535 or not _is_host(host):
        raise _invalid(
            f"{address[:260]!r} is no address of a proxy. Write host:port (SOCKS5), or http://host:port for a proxy that"
            " takes CONNECT; credentials and TLS have fields of their own."
        )
    return protocol, host.lower().removesuffix("."), number


def _is_host(host: str) -> bool:
    try:
        IPv4Address(host)
    except AddressValueError:
        return host_name(host) is not None
    return True


def _is_pem(text: str) -> bool:
    return "-----BEGIN CERTIFICATE-----" in text and len(text.encode()) <= LONGEST_CA_BYTES


def _invalid(message: str) -> Invalid:
    return Invalid("egress_proxy_invalid", message, field="egress_proxy")


_SCHEMES = {"socks5": ProxyProtocol.SOCKS5, "http": ProxyProtocol.CONNECT}
