"""Links to ports at the door: who they let in, and what the program inside sees of them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from roost.contracts.routes import Route
from roost.domain.ids import LinkId, SandboxId, TeamId
from roost.domain.link import Link, LinkMode, link_digest
from roost.domain.sandbox import Ingress
from roost.edge.admission.access import AccessStep
from roost.edge.admission.permits import Permit, permit
from roost.edge.admission.resolve import Target
from roost.edge.http.head import Peer, is_secure, parse_request
from roost.edge.limits import AGENT_PORT
from roost.edge.pages import ErrorAnswer

ID = SandboxId("i0123456789abcdefghij")
PORT = 8000
HOST = f"{PORT}-{ID}.roost.localhost:4700"
NOW = 1_700_000_000.0
SECRET, OTHER, WATCHES = "5ec7e7" * 10, "07he7" * 12, "0a7c4" * 12
LINK = Link(LinkId("l1"), ID, TeamId("t"), None, "ben", link_digest(SECRET), created_at=NOW, expires_at=NOW + 60, port=PORT)
TO_OTHER = replace(LINK, id=LinkId("l2"), digest=link_digest(OTHER), port=PORT + 1)
TO_SCREEN = replace(LINK, id=LinkId("l3"), digest=link_digest(WATCHES), port=None, mode=LinkMode.CONTROL)
LINKS = {link.digest: link for link in (LINK, TO_OTHER, TO_SCREEN)}
CLOSED = Route(ID, TeamId("t"), 3, "10.0.0.1", "agent's", wakes=True, ingress=Ingress(public=False, token="t0ken"), links=LINKS)
PUBLIC = replace(CLOSED, ingress=Ingress())
ASLEEP = replace(CLOSED, address=None)
BRINGS = f"Cookie: roost_link={SECRET}"
UPGRADE = ("Connection: Upgrade", "Upgrade: websocket")


def decide(
    line: str, *headers: str, route: Route = CLOSED, host: str = HOST, now: float = NOW, **where: Any
) -> Permit | ErrorAnswer:
    """Of a person's browser, unless the headers say who asks, or it is one that says nothing."""
    if where.get("says_who_asks", True) and not any(header.startswith(("Origin", "Sec-Fetch")) for header in headers):
        headers = (*headers, "Sec-Fetch-Site: none")
    head = parse_request("\r\n".join((f"{line} HTTP/1.1", f"Host: {host}", *headers, "", "")).encode("latin-1"))
    target = Target(ID, where.get("port", PORT), by_name=where.get("by_name", True))
    decided = permit(route, head, target, now, is_secure=where.get("is_secure", False))
    assert isinstance(decided, Permit | ErrorAnswer)
    return decided


def permitted(line: str, *headers: str, **where: Any) -> Permit:
    decided = decide(line, *headers, **where)
    assert isinstance(decided, Permit), decided
    return decided


def refused(line: str, *headers: str, **where: Any) -> tuple[int, Any]:
    decided = decide(line, *headers, **where)
    assert isinstance(decided, ErrorAnswer), decided
    told = json.loads(decided.body)
    return decided.status, told["error"]["code"] if "error" in told else told["code"]


def cookies(allowed: Permit) -> list[bytes]:
    return [line for name, _, line in allowed.head.fields if name == b"cookie"]


def exchanged(line: str, *headers: str, **where: Any) -> dict[bytes, bytes]:
    decided = decide(line, *headers, **where)
    assert isinstance(decided, ErrorAnswer) and decided.status == 303, decided
    return dict(decided.fields)


def test_a_link_is_exchanged_for_a_cookie_of_its_time() -> None:
    fields = exchanged(f"GET /?roost_link={SECRET}", now=NOW + 0.5)
    assert fields[b"Location"] == b"/"
    assert fields[b"Set-Cookie"] == f"roost_link={SECRET}; Path=/; Max-Age=60; HttpOnly; SameSite=Lax".encode()
    assert fields[b"Referrer-Policy"] == b"no-referrer"
    rendered = decide(f"GET /?roost_link={SECRET}").render(head_only=False, close=False)  # type: ignore[union-attr]
    assert b"Cache-Control: no-store" in rendered
    secure = exchanged(f"HEAD /?roost_link={SECRET}", is_secure=True)[b"Set-Cookie"]
    assert secure == f"__Host-roost_link={SECRET}; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure".encode()
    assert exchanged(f"GET /?roost_link={SECRET}", route=PUBLIC) and exchanged(f"GET /?roost_link={SECRET}", route=ASLEEP)


@pytest.mark.parametrize(
    ("target", "location"),
    [
        ("/a/b?roost_link=%s", "/a/b"),
        ("/a?x=%%20&roost_link=%s&y", "/a?x=%20&y"),
        ("/a?roost_link=%s&roost_link=again", "/a"),
        ("//evil.example/?roost_link=%s", "/.//evil.example/"),
        ("/\\evil.example?roost_link=%s", "/./\\evil.example"),
        ("/.//evil.example?roost_link=%s", "/.//evil.example"),
        ("/%%2F/evil.example?roost_link=%s", "/%2F/evil.example"),
    ],
)
def test_it_leads_to_the_same_place_without_the_token(target: str, location: str) -> None:
    assert exchanged("GET " + target % SECRET)[b"Location"] == location.encode()


def test_what_cannot_come_again_passes_at_once_without_the_token() -> None:
    hook = permitted(f"POST /hook?a=1&roost_link={SECRET}")
    assert (hook.head.target, hook.link, hook.step) == (b"/hook?a=1", LINK, AccessStep.FORWARD)
    socket = permitted(f"GET /live?roost_link={SECRET}", *UPGRADE, "Origin: http://elsewhere.example", route=ASLEEP)
    assert (socket.head.target, socket.link, socket.step) == (b"/live", LINK, AccessStep.WAKE)


@pytest.mark.parametrize("token", [OTHER, WATCHES, SECRET[:-1], SECRET + "0", SECRET.upper(), "", "t0ken", "agent's", "%00"])
def test_nothing_else_opens_the_port(token: str) -> None:
    for route in (CLOSED, ASLEEP):
        assert refused(f"GET /?roost_link={token}", route=route) == (401, "link_ended")
        assert refused("GET /", f"Cookie: roost_link={token}", route=route) == (401, "link_ended")
        assert refused(f"POST /?roost_link={token}", BRINGS, route=route) == (401, "link_ended")
    assert refused(f"GET /?roost_link={token}", route=PUBLIC) == (401, "link_ended"), "a link that ended says so there too"
    assert permitted("GET /", f"Cookie: roost_link={token}", route=PUBLIC).link is None


def test_the_cookie_is_for_one_port_of_one_sandbox_until_it_ends() -> None:
    allowed = permitted("GET /a?b", BRINGS)
    assert (allowed.link, allowed.step, allowed.head.target) == (LINK, AccessStep.FORWARD, b"/a?b")
    assert permitted("GET /", BRINGS, route=ASLEEP).step is AccessStep.WAKE
    assert refused("GET /", BRINGS, route=replace(ASLEEP, wakes=False)) == (502, 502)
    assert refused("GET /", BRINGS, port=PORT + 1) == (401, "link_ended")
    assert refused("GET /", BRINGS, now=NOW + 60) == (401, "link_ended")
    assert refused("GET /", BRINGS, route=replace(CLOSED, links={})) == (401, "link_ended")
    assert refused("GET /") == refused("GET /", "Cookie: roost_linked=1") == (403, 403)
    assert allowed.objection(CLOSED, NOW, begun=True) is None
    assert allowed.objection(CLOSED, NOW + 60, begun=True) is not None
    assert allowed.objection(replace(CLOSED, links={}), NOW, begun=True) is not None


def test_a_link_counts_on_the_sandboxs_own_name_only() -> None:
    assert refused("GET /", BRINGS, by_name=False) == refused(f"GET /?roost_link={SECRET}", by_name=False) == (403, 403)
    assert permitted("GET /", "E2b-Traffic-Access-Token: t0ken", BRINGS, by_name=False).link is None
    assert not cookies(permitted("GET /", "E2b-Traffic-Access-Token: t0ken", BRINGS, by_name=False))


def test_the_agent_takes_no_links_to_ports() -> None:
    asleep = replace(CLOSED, address=None, access_token="agent's")
    assert refused(f"GET /envs?roost_link={SECRET}", route=asleep, port=AGENT_PORT) == (401, 401)
    assert refused("GET /envs", BRINGS, route=asleep, port=AGENT_PORT) == (401, 401)
    assert refused(f"GET /desktop/screenshot?link={SECRET}", port=AGENT_PORT) == (401, "link_ended")


@pytest.mark.parametrize(
    ("brought", "left"),
    [
        (f"roost_link={SECRET}", None),
        (f"a=1; roost_link={SECRET}; b=2", "a=1; b=2"),
        (f'roost_link={SECRET};a="x y";  b', 'a="x y";  b'),
        (f"a=1;\troost_link = {SECRET} ", "a=1"),
        (f"__Host-roost_link={SECRET}; roost_link=old; a=roost_link", "a=roost_link"),
        (f"xroost_link=1; roost_link={SECRET}; roost_link2=2; Roost_link=3", "xroost_link=1; roost_link2=2; Roost_link=3"),
    ],
)
def test_the_program_inside_sees_its_own_cookies_only(brought: str, left: str | None) -> None:
    for route in (CLOSED, PUBLIC):
        allowed = permitted("GET /", f"cookie: {brought}", "X-Other: roost_link", route=route)
        assert cookies(allowed) == ([f"Cookie: {left}".encode()] if left else [])
        assert allowed.head.get(b"x-other") == b"roost_link"
    assert permitted("GET /", f"Cookie: {brought}").link == LINK


def test_cookies_without_a_link_stay_as_they_were() -> None:
    plain = permitted("GET /", "cOOkie:  a=1;b=2 ", "Cookie: c", route=PUBLIC)
    assert cookies(plain) == [b"cOOkie:  a=1;b=2 ", b"Cookie: c"]
    both = permitted("GET /", "Cookie: a=1", BRINGS)
    assert (both.link, cookies(both)) == (LINK, [b"Cookie: a=1"])


def test_another_sandboxs_page_cannot_lock_a_browser_out() -> None:
    """It may set a cookie for the whole domain; browsers then send both, in either order."""
    assert permitted("GET /", f"Cookie: roost_link=tossed; roost_link={SECRET}").link == LINK
    assert permitted("GET /", f"Cookie: roost_link={SECRET}; roost_link=tossed").link == LINK


@pytest.mark.parametrize(
    "headers",
    [
        ("Origin: http://8000-i9999999999abcdefghij.roost.localhost:4700",),
        ("Origin: http://roost.localhost:4700",),
        ("Origin: https://evil.example",),
        ("Origin: null",),
        (f"Origin: http://{HOST}.evil.example",),
        (f"Origin: http://x.{HOST}",),
        ("Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: script"),
        ("Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"),
        ("Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image"),
    ],
)
def test_a_page_from_elsewhere_cannot_use_the_cookie(headers: tuple[str, ...]) -> None:
    for more in ((), UPGRADE):
        assert refused("GET /", BRINGS, *headers, *more) == (403, "foreign_page")
        assert permitted("GET /", "E2b-Traffic-Access-Token: t0ken", *headers, *more).link is None
        assert permitted("GET /", BRINGS, *headers, *more, route=PUBLIC).link is None


def test_a_cookie_alone_opens_nothing() -> None:
    """Over plain http, and to a name that is not below localhost, browsers do not say who asks: a `<script>` of another sandbox's
    page looks like the person."""
    for route in (CLOSED, ASLEEP):
        assert refused("GET /", BRINGS, route=route, says_who_asks=False) == (403, "link_needs_https")
    for headers in ((f"Origin: http://{PORT}-i99999999999999999999.roost.localhost:4700",), ("Origin: null",)):
        assert refused("GET /", BRINGS, *headers) == (403, "foreign_page")
    assert permitted("GET /", BRINGS, "E2b-Traffic-Access-Token: t0ken", says_who_asks=False).link is None
    assert permitted("GET /", BRINGS, route=PUBLIC, says_who_asks=False).link is None


def test_where_it_could_not_be_guarded_no_cookie_is_given() -> None:
    page = decide(f"GET /?roost_link={SECRET}", "Accept: text/html,*/*", says_who_asks=False)
    assert isinstance(page, ErrorAnswer) and page.status == 403 and b"This link needs https" in page.body
    assert not any(name.lower() == b"set-cookie" for name, _ in page.fields)
    again = decide("GET /", BRINGS, "Accept: text/html,*/*", says_who_asks=False)
    assert isinstance(again, ErrorAnswer) and again.status == 403 and b"This link needs https" in again.body


def test_a_program_needs_no_cookie() -> None:
    """It brings the token each time, and the program inside does not see it."""
    allowed = permitted(f"GET /a?b=1&roost_link={SECRET}", "Accept: */*", says_who_asks=False)
    assert (allowed.link, allowed.head.target) == (LINK, b"/a?b=1")
    assert refused("GET /?roost_link=ended", says_who_asks=False) == (401, "link_ended")


@pytest.mark.parametrize(
    "headers",
    [
        (f"Origin: http://{HOST}",),
        (f"Origin: http://{HOST.upper()}",),
        (f"Origin: http://3000-{ID}.roost.localhost:4700",),
        ("Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"),
        ("Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty"),
        ("Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"),
    ],
)
def test_the_sandboxs_own_pages_and_people_can(headers: tuple[str, ...]) -> None:
    assert permitted("GET /", BRINGS, *headers).link == LINK
    assert permitted("GET /", BRINGS, *headers, *UPGRADE).link == LINK


def test_who_brings_the_token_needs_no_link() -> None:
    allowed = permitted("GET /", "E2b-Traffic-Access-Token: t0ken", "Cookie: roost_link=ended; a=1")
    assert (allowed.link, cookies(allowed)) == (None, [b"Cookie: a=1"])


def test_people_are_told_on_a_page() -> None:
    decided = decide("GET /?roost_link=ended", "Accept: text/html")
    assert isinstance(decided, ErrorAnswer) and decided.status == 401
    assert b"This link opens nothing" in decided.body and b"ended" not in decided.body


def test_tls_may_end_at_a_proxy_on_this_machine() -> None:
    head = parse_request(b"GET / HTTP/1.1\r\nHost: x\r\nX-Forwarded-Proto: https\r\n\r\n")
    plain = parse_request(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    assert is_secure(head, Peer(b"127.0.0.1", b"http"))
    assert not is_secure(head, Peer(b"203.0.113.9", b"http"))
    assert is_secure(plain, Peer(b"203.0.113.9", b"https"))
    assert not is_secure(plain, Peer(b"127.0.0.1", b"http"))
