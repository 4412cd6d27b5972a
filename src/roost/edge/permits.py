"""What a request may do at a sandbox's door, beyond whether it may enter (`access`): links to screens, who drives, and requests
that must not disturb. Pure.

A permit is given once and looked at again whenever the route changes: a link that ends, or a person who takes over, ends what was
permitted before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, auto
from urllib.parse import unquote_to_bytes

from roost.contracts.routes import Route
from roost.domain.ids import LinkId
from roost.domain.link import LinkMode, ScreenLink, link_digest
from roost.edge import pages
from roost.edge.access import Step, admit, is_preflight, leads_to, refusal
from roost.edge.head import RequestHead
from roost.edge.limits import AGENT_PORT
from roost.edge.pages import Answer
from roost.edge.resolve import Target

SCREEN = b"/desktop/rfb"
_LINKED = frozenset((b"/desktop/screenshot", b"/desktop/frames"))  # what a link opens beside the screen itself
_DESKTOP = frozenset((b"desktop",))
_HARMLESS = frozenset((b"GET", b"HEAD", b"OPTIONS"))
_TOKEN = b"x-access-token"


class LinkState(Enum):
    GOOD = auto()
    ENDED = auto()  # revoked, or never was
    EXPIRED = auto()


@dataclass(frozen=True, slots=True)
class Permit:
    """A request that may go on."""

    head: RequestHead  # as the sandbox is to get it
    step: Step
    link: ScreenLink | None = None  # by which it came
    is_quiet: bool = False  # wakes nobody, and counts as no activity
    is_input: bool = False  # of the agent's hands: refused while a person drives

    def objection(self, route: Route, now: float, *, begun: bool = False) -> Answer | None:
        """Why it may not go on by this route, or None. One whose answer has begun may wait while the sandbox sleeps."""
        if self.link is not None and link_state(route, self.link.digest, now) is not LinkState.GOOD:
            return pages.link_ended()
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
    link: ScreenLink | None


def permit(route: Route | None, head: RequestHead, target: Target, now: float) -> Permit | ScreenPermit | Answer:
    """What happens to a request for a sandbox."""
    if route is None or target.port != AGENT_PORT:
        step = admit(route, head, target, now)
        return step if isinstance(step, Answer) else Permit(head, step)
    path, _, query = head.target.partition(b"?")
    if path == SCREEN:
        return _screen(route, head, query, now)
    link: ScreenLink | None = None
    given = _value(query, b"link") if path in _LINKED and head.method in (b"GET", b"HEAD") else None
    if given is not None:
        digest = link_digest(given.decode("latin-1"))
        if link_state(route, digest, now) is not LinkState.GOOD:
            return pages.link_ended()
        link = route.links[digest]
        head = _with_token(head, route.access_token)
    is_quiet = is_preflight(head) or head.get(b"roost-quiet") == b"1" or _value(query, b"quiet") == b"1"
    is_input = head.method not in _HARMLESS and leads_to(head.target, _DESKTOP)
    head = _without(head, b"link", b"quiet") if link is not None or is_quiet else head
    return _plain(route, Permit(head, Step.FORWARD, link, is_quiet, is_input), target, now)


def _plain(route: Route, wanted: Permit, target: Target, now: float) -> Permit | Answer:
    if wanted.is_input or (wanted.is_quiet and not is_preflight(wanted.head)):
        # Strangers are not told who drives, or whether it sleeps.
        objection = wanted.objection(route, now)
        if objection is not None:
            why = refusal(wanted.head, route.access_token, now)
            return objection if why is None else pages.unauthorized(why)
    step = admit(route, wanted.head, target, now)
    return step if isinstance(step, Answer) else replace(wanted, step=step)


def _screen(route: Route, head: RequestHead, query: bytes, now: float) -> ScreenPermit | Answer:
    if head.method != b"GET" or (head.upgrade or b"").lower() != b"websocket":
        return pages.upgrade_required()
    given = _value(query, b"link")
    if given is None:
        return pages.unauthorized("a screen is opened by a link: /desktop/rfb?link=<token>. `roost link` makes one")
    digest = link_digest(given.decode("latin-1"))
    state = link_state(route, digest, now)
    is_quiet = head.get(b"roost-quiet") == b"1" or _value(query, b"quiet") == b"1"
    if state is LinkState.GOOD and route.address is None and (is_quiet or not route.wakes):
        return pages.asleep(route.sandbox)
    return ScreenPermit(head, state, route.links.get(digest))


def link_state(route: Route, digest: str, now: float) -> LinkState:
    link = route.links.get(digest)
    if link is None:
        return LinkState.ENDED
    return LinkState.EXPIRED if link.is_over(now) else LinkState.GOOD


def drives(route: Route | None, link: ScreenLink, now: float) -> bool:
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


def _value(query: bytes, name: bytes) -> bytes | None:
    """The first value of this name."""
    for pair in query.split(b"&"):
        key, _, value = pair.partition(b"=")
        if key == name:
            return unquote_to_bytes(value)
    return None


def _without(head: RequestHead, *names: bytes) -> RequestHead:
    """The same request without these words in its query; what else is there stays as it was spelled."""
    path, mark, query = head.target.partition(b"?")
    kept = [pair for pair in query.split(b"&") if pair.partition(b"=")[0] not in names]
    rest = b"&".join(kept)
    return replace(head, target=path + mark + rest if rest else path)
