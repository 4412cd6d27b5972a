"""Sandboxes on a host name that is not their own. Pure.

At the API's address E2B's clients reach sandboxes too: by the headers `E2b-Sandbox-Id` and `E2b-Sandbox-Port`, or by a signed
file URL. To a browser that address is Mission Control's origin, and whatever a sandbox answers there is hostile: its root can
replace the agent, so no header of an answer is believed. Three rules:

- A browser that wants a page, a script, a worker or a picture is refused. Programs, and `fetch`, are served.
- Of an answer only the fields in `_PASSED` get through, and types that no browser acts on; it is a download, in a sandbox of the
  browser's own, and nobody keeps it.
- The cookies of the API's host stay here: one of them is a person's session.

At a sandbox's own host name nothing of this holds: there it is an origin of its own.
"""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import parse_qs, quote

from roost.edge import pages
from roost.edge.admission.resolve import Target
from roost.edge.http.head import Field, RequestHead, ResponseHead
from roost.edge.pages import ErrorAnswer

# `fetch` and XMLHttpRequest; programs send none.
_SERVED_DESTINATIONS = frozenset((None, b"empty"))

_PASSED = frozenset(
    (
        b"accept-ranges",
        b"allow",
        b"connect-accept-encoding",
        b"connect-content-encoding",
        b"content-length",
        b"content-range",
        b"date",
        b"etag",
        b"last-modified",
        b"mcp-protocol-version",
        b"mcp-session-id",
        b"retry-after",
        b"roost-height",
        b"roost-scale",
        b"roost-width",
        b"transfer-encoding",
    )
)
_PASSED_TO_WEBSOCKET = frozenset((b"sec-websocket-accept", b"sec-websocket-extensions", b"sec-websocket-protocol"))
_PASSED_ENCODINGS = frozenset((b"br", b"deflate", b"gzip", b"identity", b"zstd"))
# Types that no browser runs, styles a page with, or shows as a document that could.
_INERT = frozenset(
    (
        b"application/connect+json",
        b"application/connect+proto",
        b"application/gzip",
        b"application/json",
        b"application/octet-stream",
        b"application/proto",
        b"image/jpeg",
        b"image/png",
        b"image/webp",
        b"text/event-stream",
        b"text/plain",
    )
)
_TYPE = re.compile(rb"([a-z0-9.+/-]+)(?:; ?charset=[a-z0-9-]+)?", re.IGNORECASE)
_BYTES = b"application/octet-stream"
_CONNECTION = frozenset((b"close", b"keep-alive"))


def _field(name: bytes, value: bytes) -> Field:
    return name.lower(), value, name + b": " + value


_GUARDS = (
    _field(b"Content-Security-Policy", b"sandbox; default-src 'none'"),
    _field(b"X-Content-Type-Options", b"nosniff"),
    _field(b"Cross-Origin-Resource-Policy", b"same-origin"),
    _field(b"Cache-Control", b"no-store"),
    # A page elsewhere that was given a signed URL may read it, as from E2B: the signature is the credential.
    _field(b"Access-Control-Allow-Origin", b"*"),
)


def refuse_browser(head: RequestHead, target: Target, own_host: str) -> ErrorAnswer | None:
    """Why a browser may not have this here, or None. `own_host` is where it may: the sandbox's own name."""
    if head.get(b"service-worker") is None and head.get(b"sec-fetch-dest") in _SERVED_DESTINATIONS:
        return None
    return pages.not_a_page_here(target.sandbox, head, f"//{own_host}{head.target.decode('latin-1')}")


def without_cookies(head: RequestHead) -> RequestHead:
    """The request as the sandbox gets it."""
    others = [field for field in head.fields if field[0] != b"cookie"]
    return head if len(others) == len(head.fields) else replace(head, fields=others)


def restrict(answer: ResponseHead, request: RequestHead) -> ResponseHead:
    """The sandbox's answer as it may be passed on."""
    # Named by its Connection header, our own fields would be taken out again as belonging to one hop.
    framing = answer.framing
    if not framing.connection <= _CONNECTION:
        framing = replace(framing, connection=framing.connection & _CONNECTION)
    if answer.status < 200:
        fields = [field for field in answer.fields if answer.status == 101 and field[0] in _PASSED_TO_WEBSOCKET]
        return replace(answer, fields=fields, framing=framing)
    fields = [field for field in answer.fields if field[0] in _PASSED]
    encoding = _only(answer, b"content-encoding")
    if encoding in _PASSED_ENCODINGS:
        fields.append(_field(b"Content-Encoding", encoding))
    fields.append(_field(b"Content-Type", _inert(_only(answer, b"content-type"))))
    fields.append(_field(b"Content-Disposition", _attachment(request)))
    fields += _GUARDS
    return replace(answer, fields=fields, framing=framing)


def _inert(kind: bytes) -> bytes:
    match = _TYPE.fullmatch(kind)
    return kind if match is not None and match.group(1) in _INERT else _BYTES


def _attachment(request: RequestHead) -> bytes:
    """A download, called as the file that was asked for."""
    path, _, query = request.target.partition(b"?")
    asked = parse_qs(query.decode("latin-1")).get("path", [""])[0] if path == b"/files" else ""
    name = asked.rstrip("/").rpartition("/")[2]
    return f"attachment; filename*=UTF-8''{quote(name, safe='')}".encode() if name else b"attachment"


def _only(answer: ResponseHead, name: bytes) -> bytes:
    """The value of a field that is there once, in lower case; nothing otherwise."""
    values = [value for lower, value, _ in answer.fields if lower == name]
    return values[0].lower() if len(values) == 1 else b""
