"""What the edge answers by itself: JSON in E2B's words for programs, a page for people. Status numbers of the edge live here."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from http import HTTPStatus

from roost.domain.errors import (
    Conflict,
    Exhausted,
    Forbidden,
    Gone,
    NotFound,
    RoostError,
    TimedOut,
    Unauthenticated,
    Unavailable,
    Unsupported,
)
from roost.domain.sandbox import Driver
from roost.edge.http.head import RequestHead

_JSON = b"application/json"
_HTML = b"text/html; charset=utf-8"
# Of the edge's own pages: they quote what others wrote, and some are answered on the API's origin.
_POLICY = (b"Content-Security-Policy", b"default-src 'none'; style-src 'unsafe-inline'")
_RETRY_AFTER_S = 5

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
{refresh}<title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fafafa }}
body {{ max-width: 34rem; margin: 18vh auto 0; padding: 0 1.5rem }}
h1 {{ font-size: 1.35rem; margin: 0 0 .5rem }}
code {{ font-family: ui-monospace, monospace; background: #8882; padding: .1em .3em; border-radius: .2em }}
p {{ margin: .5rem 0; color: #555 }}
a {{ color: inherit }}
@media (prefers-color-scheme: dark) {{ body {{ color: #eee; background: #181818 }} p {{ color: #aaa }} }}
</style>
</head>
<body>
<h1>{title}</h1>
<p>{what}</p>
<p>{next}</p>
</body>
</html>
"""


@dataclass(frozen=True, slots=True)
class ErrorAnswer:
    """An answer of the edge's own."""

    status: int
    body: bytes = b""
    content_type: bytes = _JSON
    fields: tuple[tuple[bytes, bytes], ...] = ()

    def render(self, *, head_only: bool, close: bool) -> bytes:
        reason = HTTPStatus(self.status).phrase.encode()
        lines = [b"HTTP/1.1 %d %b" % (self.status, reason)]
        if self.status != 204:
            lines += [b"Content-Type: " + self.content_type, b"Content-Length: %d" % len(self.body)]
        # A page's script may read why its request failed; nothing here is a secret.
        lines += [b"Cache-Control: no-store", b"Access-Control-Allow-Origin: *", b"X-Content-Type-Options: nosniff"]
        lines += [name + b": " + value for name, value in self.fields]
        if close:
            lines.append(b"Connection: close")
        return b"\r\n".join(lines) + b"\r\n\r\n" + (b"" if head_only else self.body)


def sandbox_not_found(sandbox: str, head: RequestHead) -> ErrorAnswer:
    if wants_page(head):
        return _page(
            502,
            "The sandbox was not found",
            f"There is no sandbox <code>{html.escape(sandbox)}</code>, or it is paused and traffic may not wake it.",
            "Check the address. If the sandbox is paused, resume it and load this page again.",
        )
    return _json(502, {"sandboxId": sandbox, "message": "The sandbox was not found", "code": 502})


def port_closed(sandbox: str, port: int, head: RequestHead) -> ErrorAnswer:
    if wants_page(head):
        return _page(
            502,
            f"Nothing listens on port {port}",
            f"The sandbox <code>{html.escape(sandbox)}</code> is running, but no program in it listens on port {port}.",
            "Start the program, then load this page again.",
        )
    message = "The sandbox is running but port is not open"
    return _json(502, {"message": message, "sandboxId": sandbox, "port": port, "code": 502})


def no_answer(sandbox: str, port: int, head: RequestHead, detail: str) -> ErrorAnswer:
    """The port took the request and did not answer it, or not in a way that can be read, or cannot be reached at all."""
    if wants_page(head):
        return _page(
            502,
            f"Port {port} does not answer",
            f"The sandbox <code>{html.escape(sandbox)}</code> is running, but {html.escape(detail)}.",
            "Look at what the program on that port is doing, then load this page again.",
        )
    message = f"The sandbox is running but {detail}"
    return _json(502, {"message": message, "sandboxId": sandbox, "port": port, "code": 502})


def agent_silent(sandbox: str) -> ErrorAnswer:
    message = (
        f"The agent of sandbox {sandbox} does not answer: a program inside has stopped it, or taken its place."
        " Resume the sandbox cold, or roll it back to a snapshot."
    )
    return _json(502, {"message": message, "sandboxId": sandbox, "code": 502, "error_code": "guest_unreachable"})


def wake_failed(sandbox: str, head: RequestHead, error: RoostError) -> ErrorAnswer:
    """The sandbox sleeps and could not be woken for this request."""
    if isinstance(error, NotFound | Gone):
        return sandbox_not_found(sandbox, head)
    status = _status_of(error)
    if wants_page(head):
        answer = _page(
            status,
            "The sandbox is not awake",
            html.escape(error.message),
            "This page tries again by itself." if status == 503 else "See the sandbox's events for what happened.",
            refresh_s=_RETRY_AFTER_S if status == 503 else None,
        )
    else:
        answer = _json(status, {"message": error.message, "sandboxId": sandbox, "code": status, "error_code": error.code})
    if status != 503:
        return answer
    return replace(answer, fields=(*answer.fields, (b"Retry-After", b"%d" % _RETRY_AFTER_S)))


def fault(sandbox: str) -> ErrorAnswer:
    message = "The server made a mistake while it passed this request on. Its log says what; the request may be tried again"
    return _json(500, {"message": message, "sandboxId": sandbox, "code": 500})


def control_away(head: RequestHead) -> ErrorAnswer:
    """The API does not answer just now, and this request was not seen by it."""
    message = "The API is restarting. Sandboxes go on meanwhile; try again in a few seconds."
    if wants_page(head):
        refresh_s = _RETRY_AFTER_S
        answer = _page(503, "Roost is restarting", message, "This page tries again by itself.", refresh_s=refresh_s)
    else:
        answer = _json(503, {"code": 503, "message": message, "error": {"code": "control_away", "message": message}})
    return replace(answer, fields=(*answer.fields, (b"Retry-After", b"%d" % _RETRY_AFTER_S)))


def control_lost(head: RequestHead) -> ErrorAnswer:
    """The API took the request and ended before it answered."""
    message = (
        f"The API ended before it answered {head.method.decode()}. Whether it did what was asked is not known: look before you"
        " ask again."
    )
    return _json(502, {"code": 502, "message": message, "error": {"code": "control_lost", "message": message}})


def private_route(sandbox: str) -> ErrorAnswer:
    return _json(404, {"message": "There is no such route", "sandboxId": sandbox, "code": 404})


def forbidden(sandbox: str, head: RequestHead) -> ErrorAnswer:
    """The sandbox's ports are not public, and the request does not bring what opens them."""
    if wants_page(head):
        return _page(
            403,
            "This sandbox is not public",
            f"The ports of sandbox <code>{html.escape(sandbox)}</code> are open only to who has a link or its traffic token.",
            "Ask its owner for a link to this port, which opens in a browser.",
        )
    message = "The sandbox's ports are not public: send its traffic access token in the header e2b-traffic-access-token"
    return _json(403, {"message": message, "sandboxId": sandbox, "code": 403})


def not_a_page_here(sandbox: str, head: RequestHead, own_url: str) -> ErrorAnswer:
    """A browser asks for bytes of a sandbox as a page, a script or the like, on a host that is not the sandbox's."""
    if wants_page(head):
        return _page(
            403,
            "This opens at the sandbox's own address",
            f"It belongs to sandbox <code>{html.escape(sandbox)}</code>. What sandboxes write is never a page of this server."
            f' <a href="{html.escape(own_url)}">Open it at the sandbox\'s address</a>.',
            "Programs may fetch it from this address too.",
        )
    message = (
        f"What sandbox {sandbox} writes is no page, script, worker or picture of this server's address. A browser may load it"
        " from the sandbox's own host name; programs, and `fetch`, may have it here."
    )
    return _error(403, "own_host_only", message, sandbox=sandbox, url=own_url)


def unauthorized(message: str) -> ErrorAnswer:
    return _json(401, {"code": 401, "message": message})


def person_drives(sandbox: str, driver: Driver) -> ErrorAnswer:
    """The agent's hands are refused, not queued: what it meant to click may be gone when the person hands back."""
    since = datetime.fromtimestamp(driver.since, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    message = f"{driver.who} drives sandbox {sandbox} since {since}. Wait until they hand back, and look at the screen again."
    return _error(409, "person_drives", message, sandbox=sandbox, who=driver.who, since=since)


def asleep(sandbox: str) -> ErrorAnswer:
    message = f"Sandbox {sandbox} sleeps, and this request asks not to wake it. Ask without `quiet`, or resume it."
    return _error(409, "asleep", message, sandbox=sandbox)


def link_ended(head: RequestHead) -> ErrorAnswer:
    if wants_page(head):
        return _page(
            401,
            "This link opens nothing",
            "It was revoked, has expired, or never was.",
            "Ask whoever gave it to you for a new one.",
        )
    return _error(401, "link_ended", "This link opens nothing: it was revoked, has expired, or never was. Ask for a new one.")


def exchanged(location: bytes, cookie: bytes) -> ErrorAnswer:
    """The link was good: come again without it. See Other, so that no browser keeps the address with the token in its history."""
    fields = ((b"Location", location), (b"Set-Cookie", cookie), (b"Referrer-Policy", b"no-referrer"))
    return ErrorAnswer(303, fields=fields)


def foreign_page(sandbox: str, port: int) -> ErrorAnswer:
    message = (
        f"Port {port} of sandbox {sandbox} is open to this browser by a link, but a page from elsewhere sent this request."
        " Open the port itself, or send the sandbox's traffic access token."
    )
    return _error(403, "foreign_page", message, sandbox=sandbox, port=port)


def link_needs_https(head: RequestHead, port: int) -> ErrorAnswer:
    """The browser does not say which page makes it ask, so that a cookie would open the port to every page of the domain."""
    if wants_page(head):
        return _page(
            403,
            "This link needs https",
            f"Over plain http this browser does not say which page makes it ask: other sandboxes' pages could read port {port}.",
            "Ask whoever runs this Roost to serve it with TLS (roost up --tls), then for a new link.",
        )
    message = (
        f"A cookie alone does not open port {port}: the request does not say which page makes it (Sec-Fetch-Site), as browsers do"
        " over https and to localhost. Send the sandbox's traffic access token, or `roost_link` in the address."
    )
    return _error(403, "link_needs_https", message, port=port)


def upgrade_required() -> ErrorAnswer:
    message = "A screen is opened as a WebSocket: GET /desktop/rfb?link=<token> with `Upgrade: websocket`."
    answer = _error(426, "upgrade_required", message)
    return replace(answer, fields=((b"Upgrade", b"websocket"),))


def too_many_unknown(retry_after_s: int) -> ErrorAnswer:
    message = "Too many file URLs with unknown signatures are being tried. Try again in a moment, or send E2b-Sandbox-Id."
    return _json(429, {"code": 429, "message": message}, (b"Retry-After", b"%d" % retry_after_s))


def unknown_host(head: RequestHead, domain: str) -> ErrorAnswer:
    """The request is for a name that is not ours."""
    name = (head.host or b"").decode("latin-1")[:200]
    if wants_page(head):
        return _page(
            421,
            "Roost does not answer under this name",
            f"<code>{html.escape(name)}</code> leads here, but is no name of this server.",
            f"Use its address, or a name below {domain}. Who runs it can add names: the setting allowed_hosts.",
        )
    message = (
        f"{name!r} is no name of this server: it answers under its addresses, `localhost`, {domain} and what is below it."
        " The setting `allowed_hosts` (ROOST_ALLOWED_HOSTS) adds names."
    )
    return _error(421, "unknown_host", message, host=name)


def malformed(message: str) -> ErrorAnswer:
    return _json(400, {"code": 400, "message": message})


def method_not_allowed() -> ErrorAnswer:
    message = "CONNECT is not served here. Reach a sandbox's port by its host name or by the E2b-Sandbox headers."
    return _json(405, {"code": 405, "message": message}, (b"Allow", b"GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"))


def head_too_large(limit_bytes: int) -> ErrorAnswer:
    return _json(431, {"code": 431, "message": f"The request's head is longer than {limit_bytes} bytes. Send shorter headers."})


def head_too_slow(limit_s: float) -> ErrorAnswer:
    return _json(408, {"code": 408, "message": f"The request's head did not arrive within {limit_s:g} s."})


def preflight() -> ErrorAnswer:
    allowed = (
        (b"Access-Control-Allow-Methods", b"*"),
        (b"Access-Control-Allow-Headers", b"*"),
        (b"Access-Control-Max-Age", b"600"),
    )
    return ErrorAnswer(204, fields=allowed)


def wants_page(head: RequestHead) -> bool:
    """A person's browser is asking for a page to show, not a program for data."""
    if head.method not in (b"GET", b"HEAD"):
        return False
    fields = {lower: value.lower() for lower, value, _ in head.fields}
    accept = fields.get(b"accept", b"")
    if fields.get(b"sec-fetch-mode") == b"navigate":
        return b"text/html" in accept
    return accept.lstrip().startswith((b"text/html", b"application/xhtml+xml"))


def _status_of(error: RoostError) -> int:
    match error:
        case Unavailable() | TimedOut():
            return 503
        case Exhausted():
            return 429
        case Conflict():
            return 409
        case Forbidden():
            return 403
        case Unauthenticated():
            return 401
        case Unsupported():
            return 501
        case _:
            return 500


def _error(status: int, code: str, message: str, **facts: object) -> ErrorAnswer:
    """In the shape of Roost's own API."""
    return _json(status, {"error": {**facts, "code": code, "message": message}})


def _json(status: int, body: dict[str, object], *fields: tuple[bytes, bytes]) -> ErrorAnswer:
    return ErrorAnswer(status, json.dumps(body).encode() + b"\n", _JSON, fields)


def _page(status: int, title: str, what: str, next_: str, *, refresh_s: int | None = None) -> ErrorAnswer:
    """`what` is HTML; whatever in it came from outside was escaped by the caller."""
    refresh = f'<meta http-equiv="refresh" content="{refresh_s}">\n' if refresh_s is not None else ""
    body = _PAGE.format(title=html.escape(title), what=what, next=html.escape(next_), refresh=refresh)
    return ErrorAnswer(status, body.encode(), _HTML, (_POLICY,))
