"""What the first bytes of a connection say: that it is TLS or HTTP, and which host TLS asks for.

Pure, for bytes that a guest chose: every input has an answer, and nothing is raised. A ClientHello may come in any number
of pieces and TLS records.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from roost.domain.hosts import host_name

LARGEST_OPENING_BYTES = 64 << 10  # a ClientHello has some hundred, with post-quantum keys two thousand

_HANDSHAKE, _CLIENT_HELLO = 22, 1
_SERVER_NAME_EXTENSION, _HOST_NAME = 0, 0
_HTTP = re.compile(rb"[A-Z]{1,20} ")
_HTTP_BEGUN = re.compile(rb"[A-Z]{1,20}")
_HTTP2 = b"PRI * HTTP/2"


class Protocol(StrEnum):
    TLS = "tls"
    HTTP = "http"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Opening:
    kind: Protocol
    name: str | None = None  # the host that TLS asks for, in the form in which names are compared


class _Short(Exception):
    """The bytes end before what they promise."""


class _Broken(Exception):
    """It is no ClientHello."""


def read_opening(data: bytes) -> Opening | None:
    """None while more bytes could still tell."""
    if not data:
        return None
    if data[0] == _HANDSHAKE:
        return _read_hello(data)
    if _HTTP.match(data) and not _HTTP2.startswith(data[: len(_HTTP2)]):
        return Opening(Protocol.HTTP)
    is_begun = _HTTP_BEGUN.fullmatch(data) or (_HTTP2.startswith(data) and len(data) < len(_HTTP2))
    return None if is_begun else Opening(Protocol.OTHER)


def _read_hello(data: bytes) -> Opening | None:
    try:
        return Opening(Protocol.TLS, _server_name(_hello(data)))
    except _Short:
        return None if len(data) < LARGEST_OPENING_BYTES else Opening(Protocol.OTHER)
    except _Broken:
        return Opening(Protocol.OTHER)


def _hello(data: bytes) -> bytes:
    """The body of the ClientHello, put together from its records. Raises _Short, _Broken."""
    message = bytearray()
    at = 0
    while True:
        if message[:1] not in (b"", bytes([_CLIENT_HELLO])):
            raise _Broken
        if len(message) >= 4:
            length = int.from_bytes(message[1:4], "big")
            if length > LARGEST_OPENING_BYTES:
                raise _Broken
            if len(message) >= 4 + length:
                return bytes(message[4 : 4 + length])
        head = data[at : at + 5]
        if head[:1] not in (b"", bytes([_HANDSHAKE])) or head[1:2] not in (b"", b"\3"):
            raise _Broken
        if len(head) < 5:
            raise _Short
        length = int.from_bytes(head[3:5], "big")
        if not 0 < length <= 1 << 14:
            raise _Broken
        message += data[at + 5 : at + 5 + length]  # perhaps the record is not all there: then nothing is behind it
        at += 5 + length


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def is_done(self) -> bool:
        return self._at == len(self._data)

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def take(self, size: int) -> bytes:
        if self._at + size > len(self._data):
            raise _Broken
        self._at += size
        return self._data[self._at - size : self._at]

    def vector(self, size: int) -> bytes:
        """Bytes behind a length of `size` bytes."""
        return self.take(self.number(size))


def _server_name(hello: bytes) -> str | None:
    """Raises _Broken. Of two names the second could be the one that counts for somebody else: then it is none."""
    body = _Reader(hello)
    body.take(2 + 32)  # version, random
    body.vector(1)  # session
    body.vector(2)  # cipher suites
    body.vector(1)  # compression
    if body.is_done:
        return None
    extensions = _Reader(body.vector(2))
    names: list[bytes] = []
    while not extensions.is_done:
        kind, content = extensions.number(2), extensions.vector(2)
        if kind == _SERVER_NAME_EXTENSION:
            names += _host_names(content)
    return host_name(names[0].decode("ascii", "replace")) if len(names) == 1 else None


def _host_names(content: bytes) -> list[bytes]:
    entries = _Reader(_Reader(content).vector(2))
    names: list[bytes] = []
    while not entries.is_done:
        kind, name = entries.number(1), entries.vector(2)
        if kind == _HOST_NAME:
            names.append(name)
    return names
