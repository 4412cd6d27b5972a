"""Requests and answers as they pass a gate: which are refused, and what each side is told of the other's headers.

Pure. What concerns one connection only (`Connection` and what it names, framing, `Upgrade`) ends at the gate, which speaks
for itself on the other side (RFC 9110, 7.6.1). Where a request is given secrets, its answer must be one that can be searched
for them: it is asked for without compression.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import urlsplit

import h11

from roost.domain.hosts import host_name
from roost.node.network.gate.scrub import Scrubber

Header = tuple[bytes, bytes]
Message = h11.Request | h11.Response | h11.InformationalResponse
Answer = TypeVar("Answer", h11.Response, h11.InformationalResponse)

_ONE_HOP = frozenset(
    (
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"transfer-encoding",
        b"upgrade",
    )
)
_STAY = frozenset((b"host", b"content-length"))  # whatever `Connection` says: a message is none without them
_TELLTALE_METHODS = frozenset((b"TRACE", b"TRACK"))  # answered with the request as it came in
_NO_BODY = frozenset((204, 304))


def requested_host(request: h11.Request) -> str | None:
    """The host that a request wants; None if it says none, or two."""
    hosts = [value for name, value in request.headers if name == b"host"]
    if len(hosts) != 1 or request.method == b"CONNECT":
        return None
    name = _without_port(hosts[0].decode("ascii", "replace"))
    target = request.target.decode("ascii", "replace")
    if not target.startswith(("/", "*")):
        try:
            named = urlsplit(target).hostname
        except ValueError:
            return None
        if named is None or host_name(named) != name:
            return None
    return name


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a message is not passed on, in words for the guest."""

    status: int
    why: str


def refusal(request: h11.Request, added: Iterable[str]) -> Refusal | None:
    """None if it is passed on. `added`: the names of headers that it is given."""
    names = [name for name, _ in request.headers]
    if b"transfer-encoding" in names and (b"content-length" in names or request.http_version < b"1.1"):
        return Refusal(400, "it says in two ways where its body ends")
    if request.method.upper() in _TELLTALE_METHODS:
        return Refusal(405, f"the method {request.method.decode('ascii')} is closed to sandboxes")
    if not request.target.startswith(b"/") and not _is_clean_target(request):
        return Refusal(400, "its target must be a path, or an address without user or password")
    named = _named_by_connection(request) & {name.lower().encode() for name in added}
    if named:
        return Refusal(400, f"its Connection header names {min(named).decode('ascii')}, which a rule sets")
    return None


def passed_request(request: h11.Request, added: Mapping[str, str], *, searched: bool) -> h11.Request:
    """As the host gets it: with these headers in the place of its own of the same names. `searched`: the answer will be."""
    replaced = {name.lower().encode() for name in added}
    dropped = replaced | ({b"accept-encoding", b"sec-websocket-extensions"} if searched else set())
    headers = [(raw, value) for raw, value in _end_to_end(request) if raw.lower() not in dropped]
    headers += [(name.encode(), value.encode("latin-1")) for name, value in added.items()]
    if searched and b"accept-encoding" not in replaced:
        headers.append((b"Accept-Encoding", b"identity"))
    if b"transfer-encoding" in dict(request.headers):
        headers.append((b"Transfer-Encoding", b"chunked"))
    headers += _upgrade(request)
    return h11.Request(method=request.method, target=_origin_form(request.target), headers=headers)


def passed_answer(answer: Answer, scrubber: Scrubber) -> Answer:
    """As the guest gets it, in HTTP/1.1: how each side ends its messages is between it and the gate."""
    headers = passed_headers(_end_to_end(answer), scrubber)
    if answer.status_code == 101:
        headers += _upgrade(answer)
    return type(answer)(status_code=answer.status_code, headers=headers, reason=scrubber.scrub(bytes(answer.reason)))


def passed_headers(headers: Iterable[Header], scrubber: Scrubber) -> list[Header]:
    """Also those behind a body."""
    return [
        (scrubber.scrub(name), value if name.lower() == b"content-length" else scrubber.scrub(value)) for name, value in headers
    ]


def unusable(answer: h11.Response, method: bytes, *, searched: bool) -> Refusal | None:
    """None if it is passed on."""
    names = [name for name, _ in answer.headers]
    if b"transfer-encoding" in names and b"content-length" in names:
        return Refusal(502, "its host says in two ways where the answer ends")
    codings = [word.strip() for name, value in answer.headers if name == b"content-encoding" for word in value.split(b",")]
    coded = [word for word in codings if word.lower() not in (b"", b"identity")]
    if searched and coded and method != b"HEAD" and answer.status_code not in _NO_BODY:
        said = coded[0][:40].decode("ascii", "replace")
        return Refusal(502, f"its host answered in {said}, unasked, which cannot be searched for the secret that a rule gave it")
    return None


def _is_clean_target(request: h11.Request) -> bool:
    target = request.target.decode("ascii", "replace")
    if target == "*":
        return request.method == b"OPTIONS"
    return target.lower().startswith(("http://", "https://")) and "@" not in urlsplit(target).netloc


def _origin_form(target: bytes) -> bytes:
    if target.startswith((b"/", b"*")):
        return target
    parts = urlsplit(target)
    return (parts.path or b"/") + (b"?" + parts.query if parts.query else b"")


def _end_to_end(message: Message) -> list[Header]:
    dropped = _ONE_HOP | (_named_by_connection(message) - _STAY)
    return [(raw, value) for raw, value in message.headers.raw_items() if raw.lower() not in dropped]


def _named_by_connection(message: Message) -> frozenset[bytes]:
    values = (value for name, value in message.headers if name in (b"connection", b"proxy-connection"))
    return frozenset(word.strip().lower() for value in values for word in value.split(b","))


def _upgrade(message: Message) -> list[Header]:
    """What a request asks to become, or an answer says it is now, but for another HTTP: there requests could not be looked at."""
    wanted = b", ".join(value for name, value in message.headers if name == b"upgrade")
    protocols = [word.strip() for word in wanted.split(b",")]
    kept = [word for word in protocols if word and not word.lower().startswith((b"h2", b"http", b"tls"))]
    if not kept or b"upgrade" not in _named_by_connection(message):
        return []
    return [(b"Connection", b"Upgrade"), (b"Upgrade", b", ".join(kept))]


def _without_port(authority: str) -> str | None:
    host, colon, port = authority.partition(":")
    return host_name(host) if not colon or port.isdigit() else None
