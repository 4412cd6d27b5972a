"""Signed file URLs that name no sandbox.

With one address for everything, E2B's clients make file URLs (`/files?path=…&signature=…`) that say nothing about whose file it
is. The signature does: only the token of one sandbox makes it. So an unknown URL is tried with every living sandbox's token, one
hash each, and what came out, even if nothing did, is remembered: the next request of the same URL costs one hash.

Strangers can send any number of unknown URLs, so trying has a budget of hashes a second for everyone together. Beyond it unknown
URLs are answered 429; remembered ones, and requests that name their sandbox, are not touched by it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections import OrderedDict
from dataclasses import dataclass
from urllib.parse import parse_qs

from roost.contracts.clock import Clock
from roost.contracts.routes import Route, Routes
from roost.domain.ids import SandboxId
from roost.edge import pages
from roost.edge.admission.access import is_preflight
from roost.edge.admission.resolve import Target
from roost.edge.http.head import RequestHead
from roost.edge.limits import AGENT_PORT, EdgeLimits
from roost.edge.pages import ErrorAnswer

_SIGNATURE = re.compile(r"v1_[A-Za-z0-9+/]{43}")
_METHODS = frozenset((b"GET", b"HEAD", b"POST"))


@dataclass(frozen=True, slots=True)
class _Claim:
    """What a signature must have been made from, but for the token in the middle."""

    before: bytes
    after: bytes
    digest: bytes

    @property
    def key(self) -> bytes:
        """Short, whatever a stranger puts into a URL."""
        return hashlib.sha256(self.digest + len(self.before).to_bytes(8, "big") + self.before + self.after).digest()


class Signatures:
    def __init__(self, routes: Routes, clock: Clock, limits: EdgeLimits) -> None:
        self._routes = routes
        self._clock = clock
        self._limits = limits
        self._known: OrderedDict[bytes, SandboxId | None] = OrderedDict()
        self._budget = float(limits.signature_hashes_per_s)
        self._filled_at = clock.now()

    def resolve(self, head: RequestHead) -> Target | ErrorAnswer | None:
        """Whose agent a request on no sandbox's host is for, by its signature; None when it has none and is the API's."""
        path, _, query = head.target.partition(b"?")
        if path != b"/files" or b"signature=" not in query:
            return None
        if is_preflight(head):
            return pages.preflight()
        if head.method not in _METHODS:
            return None
        claim = _read(query, write=head.method == b"POST")
        if claim is None:
            return pages.unauthorized("invalid signature")
        key = claim.key
        if key not in self._known:
            if not self._afford():
                return pages.too_many_unknown(retry_after_s=1)
            self._remember(key, self._find(claim))
        self._known.move_to_end(key)
        sandbox = self._known[key]
        return Target(sandbox, AGENT_PORT, by_name=False) if sandbox is not None else pages.unauthorized("invalid signature")

    def _find(self, claim: _Claim) -> SandboxId | None:
        begun = hashlib.sha256(claim.before)
        for route in self._routes.living():
            self._budget -= 1
            if _matches(begun.copy(), route, claim):
                return route.sandbox
        return None

    def _afford(self) -> bool:
        """A search may overdraw, since it must see every sandbox to know; the next one then waits until that is paid back."""
        now = self._clock.now()
        rate = self._limits.signature_hashes_per_s
        self._budget = min(float(rate), self._budget + max(0.0, now - self._filled_at) * rate)
        self._filled_at = now
        return self._budget >= 1

    def _remember(self, key: bytes, sandbox: SandboxId | None) -> None:
        self._known[key] = sandbox
        if len(self._known) > self._limits.signatures_kept:
            self._known.popitem(last=False)


def _matches(hashed: hashlib._Hash, route: Route, claim: _Claim) -> bool:
    if not route.access_token:
        return False
    hashed.update(route.access_token.encode() + claim.after)
    return hmac.compare_digest(hashed.digest(), claim.digest)


def _read(query: bytes, *, write: bool) -> _Claim | None:
    values = parse_qs(query.decode("latin-1"), keep_blank_values=True)
    signature = values.get("signature", [""])[0]
    if not _SIGNATURE.fullmatch(signature):
        return None
    try:
        digest = base64.b64decode(signature.removeprefix("v1_") + "=", validate=True)
    except binascii.Error:
        return None
    path, user = values.get("path", [""])[0], values.get("username", [""])[0]
    expiration = values.get("signature_expiration", [""])[0]
    before = f"{path}:{'write' if write else 'read'}:{user}:".encode()
    return _Claim(before, f":{expiration}".encode() if expiration else b"", digest)
