"""What a request may do at a sandbox's door, beyond whether it may enter (`access`): links to screens and ports, who drives, and
requests that must not disturb. Pure.

A permit is given once and looked at again whenever the route changes: a link that ends, a token that is rotated, or a person who
takes over, ends what was permitted before.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from roost.contracts.routes import Route
from roost.domain.ids import LinkId
from roost.domain.link import Link, LinkMode, link_digest
from roost.edge import pages
from roost.edge.admission.access import UNAUTHORIZED, AccessStep, admit, is_preflight, leads_to, may_enter, refusal, shows_token
from roost.edge.admission.links import LinkState, link_state, value_in, without
from roost.edge.admission.port_links import open_by_cookie, open_by_query, read_request
from roost.edge.admission.resolve import Target
from roost.edge.http.head import RequestHead
from roost.edge.limits import AGENT_PORT
from roost.edge.pages import ErrorAnswer

SCREEN = b"/desktop/rfb"
_LINKED = frozenset((b"/desktop/screenshot", b"/desktop/frames"))  # what a link opens beside the screen itself
_DESKTOP = frozenset((b"desktop",))
_HARMLESS = frozenset((b"GET", b"HEAD", b"OPTIONS"))
_TOKEN = b"x-access-token"


@dataclass(frozen=True, slots=True)
class Permit:
    """A request that may go on."""

    head: RequestHead  # as the sandbox is to get it
    step: AccessStep
    link: Link | None = None  # by which it came
    is_quiet: bool = False  # wakes nobody, and counts as no activity
    is_input: bool = False  # of the agent's hands: refused while a person drives
    access_token: str | None = field(default=None, repr=False)  # the one that it came by
    traffic_token: str | None = field(default=None, repr=False)

    def objection(self, route: Route, now: float, *, begun: bool = False) -> ErrorAnswer | None:
        """Why it may not go on by this route, or None. One whose answer has begun may wait while the sandbox sleeps."""
        link = self.link
        if link is not None and link_state(route, link.digest, now, link.port) is not LinkState.GOOD:
            return pages.link_ended(self.head)
        if self.access_token is not None and self.access_token != route.access_token:
            return pages.unauthorized(UNAUTHORIZED)
        if self.traffic_token is not None and not route.ingress.public and self.traffic_token != route.ingress.token:
            return pages.forbidden(route.sandbox, self.head)
        if self.is_input and route.driver is not None:
            return pages.person_drives(route.sandbox, route.driver)
        if self.is_quiet and route.address is None and not begun:
            return pages.asleep(route.sandbox)
        return None


@dataclass(frozen=True, slots=True)
class ScreenPermit:
    """A viewer who may be let in; or, with a link that opens nothing, one who is to be told so over the WebSocket: a browser
    shows its page no other answer."""

    head: RequestHead
    state: LinkState
    link: Link | None


def permit(
    route: Route | None, head: RequestHead, target: Target, now: float, *, is_secure: bool = False
) -> Permit | ScreenPermit | ErrorAnswer:
    """What happens to a request for a sandbox. `is_secure`: the client speaks TLS."""
    if route is None:
        return pages.sandbox_not_found(target.sandbox, head)
    if target.port != AGENT_PORT:
        return _port(route, head, target, now, is_secure=is_secure)
    path = head.target.partition(b"?")[0]
    if path == SCREEN:
        return _screen(route, head, now)
    link: Link | None = None
    given = value_in(head, b"link") if path in _LINKED and head.method in (b"GET", b"HEAD") else None
    if given is not None:
        digest = link_digest(given.decode("latin-1"))
        if link_state(route, digest, now) is not LinkState.GOOD:
            return pages.link_ended(head)
        link = route.links[digest]
        head = _with_token(head, route.access_token)
    is_quiet = is_preflight(head) or head.get(b"roost-quiet") == b"1" or value_in(head, b"quiet") == b"1"
    is_input = head.method not in _HARMLESS and leads_to(head.target, _DESKTOP)
    token = route.access_token if link is None and shows_token(head) else None
    head = without(head, b"link", b"quiet") if link is not None or is_quiet else head
    wanted = Permit(head, AccessStep.FORWARD, link, is_quiet, is_input, access_token=token)
    return _plain(route, wanted, target, now)


def _port(route: Route, head: RequestHead, target: Target, now: float, *, is_secure: bool) -> Permit | ErrorAnswer:
    request = read_request(head, target)
    link: Link | ErrorAnswer | None = None
    if request.given is not None:
        link = open_by_query(route, request, target, now, is_secure=is_secure)
    elif not may_enter(head, route.ingress):
        link = open_by_cookie(route, request, target, now)
    if isinstance(link, ErrorAnswer):
        return link
    step = admit(route, request.head, target, now, is_invited=link is not None)
    if isinstance(step, ErrorAnswer):
        return step
    return Permit(request.head, step, link, traffic_token=route.ingress.token if link is None else None)


def _plain(route: Route, wanted: Permit, target: Target, now: float) -> Permit | ErrorAnswer:
    if wanted.is_input or (wanted.is_quiet and not is_preflight(wanted.head)):
        # Strangers are not told who drives, or whether it sleeps.
        objection = wanted.objection(route, now)
        if objection is not None:
            why = refusal(wanted.head, route.access_token, now)
            return objection if why is None else pages.unauthorized(why)
    step = admit(route, wanted.head, target, now)
    return step if isinstance(step, ErrorAnswer) else replace(wanted, step=step)


def _screen(route: Route, head: RequestHead, now: float) -> ScreenPermit | ErrorAnswer:
    if head.method != b"GET" or (head.upgrade or b"").lower() != b"websocket":
        return pages.upgrade_required()
    given = value_in(head, b"link")
    if given is None:
        return pages.unauthorized("a screen is opened by a link: /desktop/rfb?link=<token>. `roost link` makes one")
    digest = link_digest(given.decode("latin-1"))
    state = link_state(route, digest, now)
    is_quiet = head.get(b"roost-quiet") == b"1" or value_in(head, b"quiet") == b"1"
    if state is LinkState.GOOD and route.address is None and (is_quiet or not route.wakes):
        return pages.asleep(route.sandbox)
    return ScreenPermit(head, state, route.links.get(digest))


def drives(route: Route | None, link: Link, now: float) -> bool:
    """Whether the holder of a link is the one whose input counts, now."""
    if route is None or link.mode is not LinkMode.CONTROL or link.is_over(now):
        return False
    return _driver(route) == link.id and link.digest in route.links


def _driver(route: Route) -> LinkId | None:
    return route.driver.link if route.driver is not None else None


def _with_token(head: RequestHead, token: str) -> RequestHead:
    """What the link stands for. It must not be shown to the sandbox: that could use it to watch itself, or give it away."""
    value = token.encode()
    fields = [field for field in head.fields if field[0] != _TOKEN]
    return replace(head, fields=[*fields, (_TOKEN, value, b"X-Access-Token: " + value)])
