from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from roost.contracts.routes import Route
from roost.domain.ids import LinkId, SandboxId, TeamId
from roost.domain.link import Link, LinkMode, link_digest
from roost.domain.sandbox import Driver, Ingress
from roost.edge.admission.access import AccessStep
from roost.edge.admission.permits import LinkState, Permit, ScreenPermit, drives, permit
from roost.edge.admission.resolve import Target
from roost.edge.http.head import parse_request
from roost.edge.limits import AGENT_PORT
from roost.edge.pages import ErrorAnswer

ID = SandboxId("i0123456789abcdefghij")
TOKEN = "0tQG31xiMp0IOQfaz9dcwi72L1CPo8e0"
NOW = 1_700_000_000.0
SECRET = "5ec7e7" * 10
LINK = Link(LinkId("l1"), ID, TeamId("t"), LinkMode.CONTROL, "anna", link_digest(SECRET), created_at=NOW, expires_at=NOW + 60)
ROUTE = Route(ID, TeamId("t"), 3, "10.0.0.1", TOKEN, wakes=True, links={LINK.digest: LINK})
DRIVEN = replace(ROUTE, driver=Driver(LINK.id, "anna", NOW - 5))
ASLEEP = replace(ROUTE, address=None)
WITH_TOKEN = f"X-Access-Token: {TOKEN}"
UPGRADE = ("Connection: Upgrade", "Upgrade: WebSocket")


def decide(line: str, *headers: str, route: Route = ROUTE, port: int = AGENT_PORT, now: float = NOW) -> Any:
    """What is permitted; of an answer its status and code."""
    head = parse_request("\r\n".join((f"{line} HTTP/1.1", "Host: x", *headers, "", "")).encode())
    decided = permit(route, head, Target(ID, port), now)
    if not isinstance(decided, ErrorAnswer):
        return decided
    told = json.loads(decided.body) if decided.body else {}
    return decided.status, told["error"]["code"] if "error" in told else told.get("message")


def permitted(line: str, *headers: str, **where: Any) -> Permit:
    decided = decide(line, *headers, **where)
    assert isinstance(decided, Permit), decided
    return decided


def test_a_plain_request_stays_as_it_was() -> None:
    plain = permitted("GET /files?path=%2Ftmp&linked=1")
    assert (plain.step, plain.link, plain.is_quiet, plain.is_input) == (AccessStep.FORWARD, None, False, False)
    assert plain.head.target == b"/files?path=%2Ftmp&linked=1"
    assert permitted("GET /health", WITH_TOKEN, route=ASLEEP).step is AccessStep.WAKE


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"/desktop/screenshot?link=%b", b"/desktop/screenshot"),
        (b"/desktop/screenshot?a=%%20&link=%b&b", b"/desktop/screenshot?a=%20&b"),
        (b"/desktop/frames?quiet=1&link=%b&width=320", b"/desktop/frames?width=320"),
    ],
)
def test_a_link_stands_for_the_token_and_is_taken_out(before: bytes, after: bytes) -> None:
    allowed = permitted("GET " + (before % SECRET.encode()).decode(), "X-Access-Token: stale")
    assert allowed.head.target == after
    assert [value for name, value, _ in allowed.head.fields if name == b"x-access-token"] == [TOKEN.encode()]
    assert allowed.link == LINK


@pytest.mark.parametrize("path", ["/desktop", "/files", "/desktop/clipboard", "/desktop//screenshot", "/processes"])
def test_elsewhere_a_link_stands_for_nothing(path: str) -> None:
    line = f"GET {path}?link={SECRET}"
    assert permitted(line).head.get(b"x-access-token") is None
    assert decide(line, route=ASLEEP)[0] == 401
    assert permitted(f"POST /desktop/screenshot?link={SECRET}").head.get(b"x-access-token") is None


def test_a_token_that_was_rotated_ends_what_it_opened() -> None:
    rotated = replace(ROUTE, access_token="another")
    for line in ("POST /process.Process/Start", "GET /tail?quiet=1"):
        opened = permitted(line, WITH_TOKEN)
        assert opened.objection(ROUTE, NOW, begun=True) is None
        objection = opened.objection(rotated, NOW, begun=True)
        assert objection is not None and objection.status == 401
    assert permitted("GET /health").objection(rotated, NOW) is None, "it showed none"
    linked = permitted(f"GET /desktop/frames?link={SECRET}")
    assert linked.objection(rotated, NOW, begun=True) is None, "a link has an end of its own"


def test_a_traffic_token_that_was_rotated_ends_what_it_opened() -> None:
    closed = replace(ROUTE, ingress=Ingress(public=False, token="old"))
    opened = permitted("GET /", "E2B-Traffic-Access-Token: old", route=closed, port=80)
    assert opened.objection(closed, NOW, begun=True) is None
    objection = opened.objection(replace(closed, ingress=Ingress(public=False, token="new")), NOW, begun=True)
    assert objection is not None and objection.status == 403
    assert opened.objection(replace(closed, ingress=Ingress()), NOW, begun=True) is None, "it is open to all now"
    assert permitted("GET /", port=80).objection(closed, NOW, begun=True) is None


def test_a_link_that_ended_opens_nothing() -> None:
    for line in (f"GET /desktop/screenshot?link={SECRET}", f"GET /desktop/frames?link={SECRET}"):
        assert decide(line, now=NOW + 60) == (401, "link_ended")
        assert decide(line, route=replace(ROUTE, links={})) == (401, "link_ended")
    assert decide("GET /desktop/screenshot?link=", WITH_TOKEN) == (401, "link_ended")
    opened = permitted(f"GET /desktop/frames?link={SECRET}")
    assert opened.objection(ROUTE, NOW, begun=True) is None
    assert opened.objection(ROUTE, NOW + 60, begun=True) is not None
    assert opened.objection(replace(ROUTE, links={}), NOW, begun=True) is not None


def test_a_screen_needs_a_link_and_a_websocket() -> None:
    line = f"GET /desktop/rfb?link={SECRET}"
    screen = decide(line, *UPGRADE)
    assert isinstance(screen, ScreenPermit) and (screen.state, screen.link) == (LinkState.GOOD, LINK)
    assert decide(line, *UPGRADE, now=NOW + 60).state is LinkState.EXPIRED
    assert decide(line + "x", *UPGRADE).state is LinkState.ENDED
    assert decide(line) == decide(f"POST /desktop/rfb?link={SECRET}", *UPGRADE) == (426, "upgrade_required")
    assert decide("GET /desktop/rfb", *UPGRADE, WITH_TOKEN)[0] == 401
    assert isinstance(decide(line, *UPGRADE, route=ASLEEP), ScreenPermit)
    assert decide(line, *UPGRADE, route=replace(ASLEEP, wakes=False)) == (409, "asleep")
    assert decide(line + "&quiet=1", *UPGRADE, route=ASLEEP) == (409, "asleep")
    assert isinstance(decide(line, *UPGRADE, port=80), Permit), "of other ports it is the service's own path"


def test_hands_are_refused_while_a_person_drives_and_eyes_are_not() -> None:
    for line in ("POST /desktop/click", "PUT /desktop/clipboard", "POST /%2564esktop/x/../type", "POST /Desktop/click"):
        assert decide(line, WITH_TOKEN, route=DRIVEN) == (409, "person_drives")
        assert decide(line, "X-Access-Token: wrong", route=DRIVEN)[0] == 401
        assert permitted(line, WITH_TOKEN).is_input
    for line in ("GET /desktop/screenshot", "OPTIONS /desktop/click", "POST /files?path=/desktop/x", "POST /desktopx"):
        assert not permitted(line, WITH_TOKEN, route=DRIVEN).is_input
    assert permitted("POST /desktop/click", route=DRIVEN, port=80)
    click = permitted("POST /desktop/click", WITH_TOKEN)
    assert click.objection(ROUTE, NOW) is None
    assert click.objection(DRIVEN, NOW, begun=True) is not None


def test_quiet_requests_do_not_wake() -> None:
    for words in (("GET /ports?quiet=1",), ("GET /ports", "Roost-Quiet: 1"), ("GET /ports?a&quiet=1&b=2",)):
        assert permitted(*words).is_quiet
        assert b"quiet" not in permitted(*words).head.target
        assert decide(*words, WITH_TOKEN, route=ASLEEP) == (409, "asleep")
        assert decide(*words, WITH_TOKEN, route=replace(ASLEEP, wakes=False)) == (409, "asleep")
        assert decide(*words, route=ASLEEP)[0] == 401
    assert not permitted("GET /ports?quiet=0", "Roost-Quiet: no").is_quiet
    assert not permitted("GET /?quiet=1", port=80).is_quiet
    stream = permitted("GET /tail?quiet=1")
    assert stream.objection(ASLEEP, NOW) is not None
    assert stream.objection(ASLEEP, NOW, begun=True) is None


def test_a_browser_that_asks_for_permission_disturbs_nobody() -> None:
    asks = ("OPTIONS /desktop/click", "Access-Control-Request-Method: POST")
    assert permitted(*asks, route=DRIVEN).is_quiet
    assert decide(*asks, route=ASLEEP) == (204, None)


def test_only_a_living_control_link_drives() -> None:
    assert drives(DRIVEN, LINK, NOW)
    assert not drives(ROUTE, LINK, NOW)
    assert not drives(None, LINK, NOW)
    assert not drives(DRIVEN, LINK, NOW + 60)
    assert not drives(DRIVEN, replace(LINK, mode=LinkMode.VIEW), NOW)
    assert not drives(DRIVEN, replace(LINK, id=LinkId("l2")), NOW)
    assert not drives(replace(DRIVEN, links={}), LINK, NOW)
