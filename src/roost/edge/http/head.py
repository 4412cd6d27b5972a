"""Heads of requests and answers: read strictly, passed on with what belongs to one hop taken out.

Strict, because two readers that see different requests in the same bytes are a way in. Requests are refused whenever their
length could be read in two ways; answers of sandboxes likewise, except that bare line feeds are forgiven there, since the head
is written anew.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from roost.domain.errors import Invalid, Unavailable
from roost.edge.http.body import Body, ChunkedBody, NoBody, OpenBody, SizedBody

Field = tuple[bytes, bytes, bytes]  # name in lower case, value, the line as it came

_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_TEXT = rb"[\t\x20-\x7e\x80-\xff]*"
_REQUEST_LINE = re.compile(rb"(" + _TOKEN + rb") ([\x21-\x7e\x80-\xff]+) HTTP/1\.([01])")
_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9]{2})(?: (" + _TEXT + rb"))?")
# No optional space before the value: it would make a mismatch cost the square of the line's length.
_FIELD = re.compile(rb"(" + _TOKEN + rb"):(" + _TEXT + rb")")
_LENGTH = re.compile(rb"[0-9]{1,18}")
_ABSOLUTE = re.compile(rb"https?://([^/?#]*)([^#]*)(?:#.*)?", re.IGNORECASE | re.DOTALL)
RESPONSE_HEAD_END = re.compile(rb"\r?\n\r?\n")

_HOP_BY_HOP = frozenset(
    (b"connection", b"keep-alive", b"proxy-connection", b"proxy-authenticate", b"proxy-authorization", b"te", b"upgrade")
)
# Never dropped because a Connection header names them: the length of a request would change on its way.
_PROTECTED = frozenset((b"host", b"content-length", b"transfer-encoding"))
# Never passed on from a sandbox: browsers clear cookies by the site, and all sandboxes of a domain are one, Mission Control too.
_SITE_WIDE = frozenset((b"clear-site-data",))
_FORWARDED = frozenset((b"x-forwarded-for", b"x-forwarded-proto", b"x-forwarded-host"))


@dataclass(frozen=True, slots=True)
class Framing:
    """What a head says about the message's length and about its connection."""

    length: int | None
    chunked: bool
    connection: frozenset[bytes]  # the options of the Connection header
    upgrade: bytes | None


@dataclass(frozen=True, slots=True)
class RequestHead:
    method: bytes
    target: bytes  # origin-form, or `*`
    minor: int  # of HTTP/1.x
    fields: list[Field]
    host: bytes | None
    framing: Framing

    @property
    def keep_alive(self) -> bool:
        return self.minor == 1 and b"close" not in self.framing.connection

    @property
    def upgrade(self) -> bytes | None:
        return self.framing.upgrade

    def get(self, name: bytes) -> bytes | None:
        """The field of this (lower-case) name, if there is exactly one; two of a kind raise Invalid."""
        found = None
        for lower, value, _ in self.fields:
            if lower == name:
                if found is not None and found != value:
                    raise _malformed(f"it has two different {name.decode()} headers")
                found = value
        return found

    def body(self) -> Body:
        if self.framing.chunked:
            return ChunkedBody()
        return SizedBody(self.framing.length) if self.framing.length else NoBody()

    def render(self, *, keep_upgrade: bool) -> bytes:
        """As it came, for the API behind the same connection; without its upgrade unless that is wanted."""
        dropped = () if keep_upgrade or self.framing.upgrade is None else (b"upgrade", b"connection", b"http2-settings")
        lines = [b"%b %b HTTP/1.%d" % (self.method, self.target, self.minor)]
        lines += [line for lower, _, line in self.fields if lower not in dropped]
        if dropped and not self.keep_alive:
            lines.append(b"Connection: close")
        lines.append(b"\r\n")
        return b"\r\n".join(lines)


@dataclass(frozen=True, slots=True)
class ResponseHead:
    status: int
    reason: bytes
    minor: int
    fields: list[Field]
    framing: Framing

    @property
    def is_final(self) -> bool:
        """No other head follows it: it is not an interim one."""
        return self.status >= 200 or self.status == 101

    @property
    def keep_alive(self) -> bool:
        if self.minor == 0:
            return b"keep-alive" in self.framing.connection
        return b"close" not in self.framing.connection

    def body(self, method: bytes) -> Body:
        """The body that follows this head when it answers a request with this method."""
        if method == b"HEAD" or self.status in (204, 304):
            return NoBody()
        if self.framing.chunked:
            return ChunkedBody()
        if self.framing.length is None:
            return OpenBody()
        return SizedBody(self.framing.length) if self.framing.length else NoBody()


@dataclass(frozen=True, slots=True)
class Peer:
    """The client at the other end of a connection, as far as sandboxes are told."""

    address: bytes
    scheme: bytes

    @property
    def is_local(self) -> bool:
        return self.address.removeprefix(b"::ffff:").startswith(b"127.") or self.address in (b"::1", b"")


def is_secure(head: RequestHead, peer: Peer) -> bool:
    """Whether the client speaks TLS, to us or to a proxy on this machine that says so."""
    stated = [value for lower, value, _ in head.fields if lower == b"x-forwarded-proto"] if peer.is_local else []
    return (b", ".join(stated) or peer.scheme).lower() == b"https"


def parse_request(raw: bytes) -> RequestHead:
    """`raw` ends with the empty line. Raises Invalid."""
    lines = raw[:-4].split(b"\r\n")
    match = _REQUEST_LINE.fullmatch(lines[0])
    if match is None:
        raise _malformed("its first line is not a method, a target and HTTP/1.1")
    method, target, minor = match.group(1), match.group(2), int(match.group(3))
    fields = _fields(lines[1:])
    framing = _framing(fields, minor)
    hosts = [value for lower, value, _ in fields if lower == b"host"]
    if len(hosts) > 1 or (minor == 1 and not hosts):
        raise _malformed("it needs exactly one Host header")
    host = hosts[0] if hosts else None
    if method != b"CONNECT" and not target.startswith(b"/") and not (target == b"*" and method == b"OPTIONS"):
        target = _origin_form(target, host)
    return RequestHead(method, target, minor, fields, host, framing)


def parse_response(raw: bytes) -> ResponseHead:
    """`raw` ends with the empty line. Raises Unavailable: it is the sandbox that speaks wrongly."""
    lines = [line.removesuffix(b"\r") for line in raw.rstrip(b"\r\n").split(b"\n")]
    match = _STATUS_LINE.fullmatch(lines[0])
    if match is None:
        raise Unavailable("bad_answer", "The HTTP message cannot be read: it does not begin with an HTTP/1.1 status line.")
    try:
        fields = _fields(lines[1:])
        framing = _framing(fields, int(match.group(1)))
    except Invalid as error:
        raise Unavailable("bad_answer", error.message) from error
    return ResponseHead(int(match.group(2)), match.group(3) or b"", int(match.group(1)), fields, framing)


def render_request(head: RequestHead, peer: Peer, upgrade: bytes | None, mask_host: bytes | None = None) -> bytes:
    """The head as the sandbox gets it; with `mask_host` for its Host, if there is one."""
    lines = [b"%b %b HTTP/1.%d" % (head.method, head.target, head.minor)]
    forwarded: dict[bytes, bytes] = {}
    drop = _dropped(head.framing)
    length_seen = False
    for lower, value, line in head.fields:
        if lower in _FORWARDED:
            forwarded[lower] = forwarded[lower] + b", " + value if lower in forwarded else value
        elif lower == b"content-length" and length_seen:
            continue
        elif lower == b"host" and mask_host is not None:
            lines.append(b"Host: " + mask_host)
        elif lower not in drop:
            length_seen = length_seen or lower == b"content-length"
            lines.append(line)
    # What a proxy on this machine (one that ends TLS, say) states is believed; what a stranger states is not.
    if not peer.is_local:
        forwarded.clear()
    chain = forwarded.get(b"x-forwarded-for")
    lines.append(b"X-Forwarded-For: " + (chain + b", " + peer.address if chain else peer.address))
    lines.append(b"X-Forwarded-Proto: " + forwarded.get(b"x-forwarded-proto", peer.scheme))
    # A service that sees the real Host needs no other; E2B's services get this one with a masked Host alone.
    host = forwarded.get(b"x-forwarded-host", head.host if mask_host is not None else None)
    if host is not None:
        lines.append(b"X-Forwarded-Host: " + host)
    if upgrade is not None:
        lines += [b"Connection: Upgrade", b"Upgrade: " + upgrade]
    lines.append(b"\r\n")
    return b"\r\n".join(lines)


def render_for_api(head: RequestHead, peer: Peer, upgrade: bytes | None) -> bytes:
    """The head as the API gets it: whoever reads it there believes what it says of the client, so that is said here alone."""
    lines = [b"%b %b HTTP/1.%d" % (head.method, head.target, head.minor)]
    drop = _dropped(head.framing)
    address, scheme = peer.address, peer.scheme
    for lower, value, line in head.fields:
        if lower in _FORWARDED:
            # A proxy on this machine added the last address itself; those before it anybody may have sent.
            if peer.is_local and lower == b"x-forwarded-for":
                address = value.rpartition(b",")[2].strip()
            elif peer.is_local and lower == b"x-forwarded-proto" and value in (b"http", b"https"):
                scheme = value
        elif lower not in drop:
            lines.append(line)
    lines += [b"X-Forwarded-For: " + address, b"X-Forwarded-Proto: " + scheme]
    if upgrade is not None:
        lines += [b"Connection: Upgrade", b"Upgrade: " + upgrade]
    lines.append(b"\r\n")
    return b"\r\n".join(lines)


def render_response(head: ResponseHead, *, close: bool, upgrade: bytes | None = None, is_ours: bool = False) -> bytes:
    """The head as the client gets it. `close`: the connection ends with this answer. `is_ours`: it is the API's, not a
    sandbox's."""
    lines = [b"HTTP/1.1 %d %b" % (head.status, head.reason)]
    drop = _dropped(head.framing)
    length_seen = False
    for lower, _, line in head.fields:
        if lower in drop or (lower in _SITE_WIDE and not is_ours) or (lower == b"content-length" and length_seen):
            continue
        length_seen = length_seen or lower == b"content-length"
        lines.append(line)
    if upgrade is not None:
        lines += [b"Connection: Upgrade", b"Upgrade: " + upgrade]
    elif close:
        lines.append(b"Connection: close")
    lines.append(b"\r\n")
    return b"\r\n".join(lines)


def _dropped(framing: Framing) -> frozenset[bytes]:
    if not framing.connection:
        return _HOP_BY_HOP
    return _HOP_BY_HOP | (framing.connection - _PROTECTED)


def _fields(lines: list[bytes]) -> list[Field]:
    fields: list[Field] = []
    for line in lines:
        match = _FIELD.fullmatch(line)
        if match is None:
            raise _malformed("one of its header lines is not a name, a colon and a value")
        fields.append((match.group(1).lower(), match.group(2).strip(b" \t"), line))
    return fields


def _framing(fields: list[Field], minor: int) -> Framing:
    length: int | None = None
    codings: list[bytes] = []
    connection: list[bytes] = []
    upgrade: bytes | None = None
    for lower, value, _ in fields:
        if lower == b"content-length":
            if _LENGTH.fullmatch(value) is None or (length is not None and length != int(value)):
                raise _malformed("its Content-Length is not one number")
            length = int(value)
        elif lower == b"transfer-encoding":
            codings.append(value.lower())
        elif lower == b"connection":
            connection += [option.strip().lower() for option in value.split(b",")]
        elif lower == b"upgrade":
            upgrade = value
    if codings and (length is not None or minor == 0 or codings != [b"chunked"]):
        raise _malformed(
            "its length can be read in two ways (Transfer-Encoding other than a lone `chunked`, or with a Content-Length)"
        )
    return Framing(
        length=length,
        chunked=bool(codings),
        connection=frozenset(connection),
        upgrade=upgrade if b"upgrade" in connection and minor == 1 else None,
    )


def _origin_form(target: bytes, host: bytes | None) -> bytes:
    match = _ABSOLUTE.fullmatch(target)
    if match is None:
        raise _malformed("its target is neither a path nor a URL")
    authority, rest = match.group(1), match.group(2)
    if host is None or authority.lower() != host.lower():
        raise _malformed("its target names another host than its Host header")
    return rest if rest.startswith(b"/") else b"/" + rest


def _malformed(what: str) -> Invalid:
    return Invalid("malformed_request", f"The HTTP message cannot be read: {what}.")
