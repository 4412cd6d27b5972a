"""Links at a sandbox's door: whether one is good now, and how its token is found in a request's query and taken out. Pure."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum, auto
from urllib.parse import unquote_to_bytes

from roost.contracts.routes import Route
from roost.edge.http.head import RequestHead


class LinkState(Enum):
    GOOD = auto()
    ENDED = auto()  # revoked, or never was
    EXPIRED = auto()


def link_state(route: Route, digest: str, now: float, port: int | None = None) -> LinkState:
    """Of a link to this port or, without one, to the screen: a link to anything else is none here."""
    link = route.links.get(digest)
    if link is None or link.port != port:
        return LinkState.ENDED
    return LinkState.EXPIRED if link.is_over(now) else LinkState.GOOD


def value_in(head: RequestHead, name: bytes) -> bytes | None:
    """The first value of this name in the request's query."""
    for pair in head.target.partition(b"?")[2].split(b"&"):
        key, _, value = pair.partition(b"=")
        if key == name:
            return unquote_to_bytes(value)
    return None


def without(head: RequestHead, *names: bytes) -> RequestHead:
    """The same request without these words in its query; what else is there stays as it was spelled."""
    path, mark, query = head.target.partition(b"?")
    kept = [pair for pair in query.split(b"&") if pair.partition(b"=")[0] not in names]
    rest = b"&".join(kept)
    return replace(head, target=path + mark + rest if rest else path)
