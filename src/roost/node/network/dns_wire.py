"""DNS messages: read and written, no further than the node has to. Pure; whatever bytes come, nothing is raised."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from ipaddress import IPv4Address

HEADER_BYTES = 12
ADDRESS, SERVICE, HTTPS = 1, 64, 65  # types of questions
SERVER_FAILED, NO_SUCH_NAME, NOT_IMPLEMENTED, REFUSED = 2, 3, 4, 5

_RESPONSE, _TRUNCATED, _RECURSION_AVAILABLE = 0x8000, 0x0200, 0x0080
_OPCODE, _RECURSION_DESIRED = 0x7800, 0x0100
_AUTHENTIC, _CHECKING_DISABLED = 0x0020, 0x0010
_CODE = 0x000F
_INTERNET = 1
_OPT = 41
_NO_DATA = frozenset((_OPT, *range(249, 255)))  # keys, signatures, zone transfers: they say something to a server
_DNSSEC_OK = 0x8000  # in the second half of what would be OPT's time to live
_SMALLEST_PAYLOAD_BYTES, _LARGEST_PAYLOAD_BYTES = 512, 4096
_MOST_EXTRAS = 4
_MOST_RECORDS = 256


@dataclass(frozen=True, slots=True)
class DnsQuery:
    """One question, and all that is passed on of how it was asked."""

    flags: int  # recursion desired, authentic data, checking disabled
    name: str  # lowercase, without the last dot; a dot within a label is written `\\.`
    kind: int
    is_internet: bool  # of the class IN
    question: bytes
    payload_bytes: int | None  # how long an answer by UDP may be; None if it is not said (no EDNS)
    wants_dnssec: bool

    @property
    def asks_for_data(self) -> bool:
        """Whether it asks for records of a name on the internet, as programs do."""
        return self.is_internet and self.kind not in _NO_DATA


@dataclass(frozen=True, slots=True)
class Found:
    """The addresses in an answer, and for how long they are good."""

    addresses: tuple[IPv4Address, ...]
    ttl_s: int


def read_query(message: bytes) -> DnsQuery | None:
    """None unless it is one well-formed question, with nothing before or behind it but additional records."""
    name = question_name(message)
    if name is None or not is_query(message) or is_other_operation(message):
        return None
    flags, _, answers_, authorities, extras = struct.unpack_from(">HHHHH", message, 2)
    if answers_ or authorities or extras > _MOST_EXTRAS:
        return None
    asked = question(message)
    options: list[tuple[int, int]] = []
    at = HEADER_BYTES + len(asked)
    try:
        for _ in range(extras):
            is_root, at = message[at] == 0, _after_name(message, at)
            kind, payload, time_to_live, length = struct.unpack_from(">HHIH", message, at)
            at += 10 + length
            if kind == _OPT and is_root:
                options.append((payload, time_to_live))
    except (struct.error, IndexError):
        return None
    if at != len(message) or len(options) > 1:
        return None
    payload, time_to_live = options[0] if options else (None, 0)
    kind, network = struct.unpack(">HH", asked[-4:])
    kept = flags & (_RECURSION_DESIRED | _AUTHENTIC | _CHECKING_DISABLED)
    return DnsQuery(kept, name, kind, network == _INTERNET, asked, payload, bool(time_to_live & _DNSSEC_OK))


def asked_again(query: DnsQuery, identity: bytes) -> bytes:
    """The same question in our own words: whatever else the asker said (options of EDNS, signatures) stays behind."""
    has_options = query.payload_bytes is not None
    message = identity + struct.pack(">HHHHH", query.flags, 1, 0, 0, 1 if has_options else 0) + query.question
    if query.payload_bytes is None:
        return message
    payload = min(max(query.payload_bytes, _SMALLEST_PAYLOAD_BYTES), _LARGEST_PAYLOAD_BYTES)
    return message + b"\0" + struct.pack(">HHIH", _OPT, payload, _DNSSEC_OK if query.wants_dnssec else 0, 0)


def is_other_operation(message: bytes) -> bool:
    """Whether it is no question at all: UPDATE, NOTIFY and the like. Of messages that have a header."""
    return bool(struct.unpack_from(">H", message, 2)[0] & _OPCODE)


def question_name(message: bytes) -> str | None:
    """The name a query asks for, lowercase, without the last dot; None if it is not one well-formed question."""
    if len(message) < HEADER_BYTES or struct.unpack_from(">H", message, 4)[0] != 1:
        return None
    labels: list[str] = []
    at = HEADER_BYTES
    while at < len(message):
        length = message[at]
        if length == 0:
            return ".".join(labels) if at + 5 <= len(message) and at - HEADER_BYTES < 255 else None
        if length > 63 or at + 1 + length > len(message):
            return None
        label = message[at + 1 : at + 1 + length].decode("ascii", "backslashreplace").lower()
        labels.append(label.replace(".", "\\."))
        at += 1 + length
    return None


def question(message: bytes) -> bytes:
    """The bytes of the one question of a well-formed message."""
    at = HEADER_BYTES
    while message[at]:
        at += 1 + message[at]
    return message[HEADER_BYTES : at + 5]


def failure(query: bytes, code: int) -> bytes:
    """The answer that says no: same id and question, nothing else. With code 0 it says that there is no such record."""
    flags = struct.unpack_from(">H", query, 2)[0]
    flags = _RESPONSE | (flags & (_OPCODE | _RECURSION_DESIRED)) | _RECURSION_AVAILABLE | code
    asked = question(query) if question_name(query) is not None else b""
    return query[:2] + struct.pack(">HHHHH", flags, 1 if asked else 0, 0, 0, 0) + asked


def query_for(name: str, identity: bytes) -> bytes:
    """Asks for the IPv4 addresses of a name that is well-formed."""
    labels = b"".join(bytes([len(label)]) + label.encode("ascii") for label in name.split("."))
    head = identity + struct.pack(">HHHHH", _RECURSION_DESIRED, 1, 0, 0, 0)
    return head + labels + b"\0" + struct.pack(">HH", ADDRESS, _INTERNET)


def is_query(message: bytes) -> bool:
    return len(message) >= HEADER_BYTES and not struct.unpack_from(">H", message, 2)[0] & _RESPONSE


def is_truncated(answer: bytes) -> bool:
    return bool(struct.unpack_from(">H", answer, 2)[0] & _TRUNCATED)


def is_helpful(answer: bytes) -> bool:
    """Whether the resolver knows, even if it knows that there is nothing. One that fails or refuses does not."""
    return struct.unpack_from(">H", answer, 2)[0] & _CODE not in (SERVER_FAILED, REFUSED)


def answers(asked: bytes, answer: bytes) -> bool:
    """Whether this is the answer to what was asked: same id, and the same question if it repeats one."""
    if len(answer) < HEADER_BYTES or answer[:2] != asked[:2] or is_query(answer):
        return False
    repeated = struct.unpack_from(">H", answer, 4)[0]
    return repeated == 0 or (question_name(answer) == question_name(asked) and question(answer)[-4:] == question(asked)[-4:])


def addresses_in(answer: bytes) -> Found:
    """The IPv4 addresses that an answer gives, aliases followed by whoever answered; none if it makes no sense."""
    found: list[IPv4Address] = []
    ttl_s: int | None = None
    try:
        questions, records = struct.unpack_from(">HH", answer, 4)
        at = HEADER_BYTES
        for _ in range(min(questions, 1)):
            at = _after_name(answer, at) + 4
        for _ in range(min(records, _MOST_RECORDS)):
            at = _after_name(answer, at)
            kind, kind_of_network, lasts_s, length = struct.unpack_from(">HHIH", answer, at)
            at += 10
            ttl_s = lasts_s if ttl_s is None else min(ttl_s, lasts_s)
            if (kind, kind_of_network, length) == (ADDRESS, _INTERNET, 4) and at + 4 <= len(answer):
                found.append(IPv4Address(answer[at : at + 4]))
            at += length
    except (struct.error, IndexError):
        return Found((), 0)
    return Found(tuple(dict.fromkeys(found)), ttl_s or 0)


def _after_name(message: bytes, at: int) -> int:
    """Where the name that begins there ends. Raises IndexError beyond the message."""
    while length := message[at]:
        if length & 0xC0:
            return at + 2
        at += 1 + length
    return at + 1
