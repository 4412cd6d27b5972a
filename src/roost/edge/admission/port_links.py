"""Links to a port: how a browser, which can send no token, comes into a sandbox whose ports are not public. Pure.

The link has its token in the query. Opening it once exchanges the token for a cookie of that one host name, and so of one port of
one sandbox; from then on the cookie lets requests and WebSockets in, for as long as the link lives. Neither the parameter nor the
cookie is shown to the program inside: it could give them away.

A browser sends a cookie whoever makes it ask, and the pages of all sandboxes are one site to it, which SameSite does not keep
apart. So a cookie alone opens nothing: the browser must also say that a page of the same sandbox asks, or the person. It does so
(`Sec-Fetch-Site`) over https and to names below `localhost`. Elsewhere a link opens no page, and says why.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace

from roost.contracts.routes import Route
from roost.domain.link import Link, link_digest
from roost.edge import pages
from roost.edge.admission.links import LinkState, link_state, value_in, without
from roost.edge.admission.resolve import Target
from roost.edge.http.head import Field, RequestHead
from roost.edge.pages import ErrorAnswer

PARAMETER = b"roost_link"
COOKIE = b"roost_link"
SECURE_COOKIE = b"__Host-roost_link"  # no other host of the domain can set a cookie of this name
_COOKIES = frozenset((COOKIE, SECURE_COOKIE))
_ONCE = frozenset((b"GET", b"HEAD"))
_BEFORE_SANDBOX = re.compile(rb"(?:https?://)?[0-9]{1,5}-")


@dataclass(frozen=True, slots=True)
class PortRequest:
    """A request at a port, with what it says about links set apart from what the program inside is to see."""

    head: RequestHead  # without them
    given: str | None  # the token in its query
    kept: tuple[str, ...]  # those in its cookies


def read_request(head: RequestHead, target: Target) -> PortRequest:
    """By its own host name only: a cookie of any other host would be sent to more than this port."""
    kept, head = _take_cookies(head)
    given = value_in(head, PARAMETER) if target.by_name else None
    if given is None:
        return PortRequest(head, None, kept if target.by_name else ())
    return PortRequest(without(head, PARAMETER), given.decode("latin-1"), kept)


def open_by_query(route: Route, request: PortRequest, target: Target, now: float, *, is_secure: bool) -> Link | ErrorAnswer:
    """The link that a request brings in its query lets it in, or is exchanged for the cookie first. Other methods than GET cannot
    be asked to come again without loss, and a WebSocket not at all: they pass at once, as programs do, which keep no cookies."""
    token = request.given or ""
    link = _good(route, target.port, (token,), now)
    if link is None:
        return pages.link_ended(request.head)
    if request.head.method not in _ONCE or request.head.upgrade is not None:
        return link
    if not _says_who_asks(request.head):
        return pages.link_needs_https(request.head, target.port) if pages.wants_page(request.head) else link
    return pages.exchanged(_same_host(request.head.target), _cookie(link, token, now, is_secure=is_secure))


def open_by_cookie(route: Route, request: PortRequest, target: Target, now: float) -> Link | ErrorAnswer | None:
    """The link that let this browser in before, or why it does no longer; None when there never was one."""
    if not request.kept:
        return None
    link = _good(route, target.port, request.kept, now)
    if link is None:
        return pages.link_ended(request.head)
    if is_own(request.head):
        return link
    if not _says_who_asks(request.head) and request.head.get(b"origin") is None:
        return pages.link_needs_https(request.head, target.port)
    return pages.foreign_page(target.sandbox, target.port)


def is_own(head: RequestHead) -> bool:
    """Whether the browser says that a page of this very sandbox sends this, or the person does. To navigate here is open to all:
    nobody but the person gets to see the answer."""
    origin = head.get(b"origin")
    if origin is not None:
        ours = _sandbox_of(head.host or b"")
        return ours is not None and _sandbox_of(origin) == ours
    if head.get(b"sec-fetch-site") in (b"none", b"same-origin"):
        return True
    return (head.get(b"sec-fetch-mode"), head.get(b"sec-fetch-dest")) == (b"navigate", b"document")


def _says_who_asks(head: RequestHead) -> bool:
    return head.get(b"sec-fetch-site") is not None


def _good(route: Route, port: int, tokens: tuple[str, ...], now: float) -> Link | None:
    """There may be several cookies of one name: a page of another sandbox can set one for the whole domain, and must not be able
    to lock anybody out by it. So any good one will do."""
    for token in tokens:
        digest = link_digest(token)
        if link_state(route, digest, now, port) is LinkState.GOOD:
            return route.links[digest]
    return None


def _cookie(link: Link, token: str, now: float, *, is_secure: bool) -> bytes:
    """Of this host alone, since it names no domain."""
    seconds = max(1, math.ceil(link.expires_at - now))
    attributes = b"; Path=/; Max-Age=%d; HttpOnly; SameSite=Lax" % seconds
    if is_secure:
        return SECURE_COOKIE + b"=" + token.encode("latin-1") + attributes + b"; Secure"
    return COOKIE + b"=" + token.encode("latin-1") + attributes


def _same_host(target: bytes) -> bytes:
    """A Location that leads to this target here. `//elsewhere` would lead elsewhere, and browsers read `\\` as `/`."""
    return b"/." + target if target[1:2] in (b"/", b"\\") else target


def _take_cookies(head: RequestHead) -> tuple[tuple[str, ...], RequestHead]:
    """The tokens in a request's cookies, and the request without them. Other cookies stay as they were spelled."""
    tokens: list[str] = []
    fields: list[Field] = []
    for field in head.fields:
        lower, value, _ = field
        if lower != b"cookie" or COOKIE not in value:
            fields.append(field)
            continue
        others: list[bytes] = []
        for pair in value.split(b";"):
            name, _, content = pair.partition(b"=")
            if name.strip(b" \t") in _COOKIES:
                tokens.append(content.strip(b" \t").decode("latin-1"))
            else:
                others.append(pair)
        rest = b";".join(others).strip(b" \t")
        if rest:
            fields.append((lower, rest, b"Cookie: " + rest))
    return tuple(tokens), replace(head, fields=fields) if tokens else head


def _sandbox_of(place: bytes) -> bytes | None:
    """A host or an origin without the number of its port: what all ports of a sandbox have in common. None: no sandbox's."""
    before = _BEFORE_SANDBOX.match(place)
    return place[before.end() :].lower() if before is not None else None
