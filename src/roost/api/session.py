"""Sessions of people in a browser: a cookie that stands for an API key.

The cookie is signed, not stored: it holds the key's id and when it was made. The key itself is never in it, and a key that is
revoked takes its sessions along, since the key is looked up on each request. Whoever may not read our answers (another site) can
still make a browser send the cookie; so whatever changes something must also bring a header that no other site can set.

A page of a sandbox can plant cookies for the whole domain. Over https the name's prefix keeps them out. Over http such a page
would have to know the name, which it cannot; and of several cookies with our name any good one counts, so that a planted one
signs nobody out. Every Roost has a name of its own: browsers give the cookies of one host to all its ports.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from urllib.parse import urlsplit

from itsdangerous import BadSignature, TimestampSigner
from starlette.requests import Request
from starlette.responses import Response

from roost.domain.errors import Forbidden, Unauthenticated
from roost.domain.ids import KeyId

LASTS_S = 7 * 24 * 3600
MARK = "Roost-Request"
SECRET_BYTES = 32
_SAFE = frozenset({"GET", "HEAD"})


class Sessions:
    """Seals and opens cookies with the server's secret. `scheme` is how browsers reach the server."""

    def __init__(self, *, secret: bytes, scheme: str, instance: str, now: Callable[[], float]) -> None:
        self._secret = secret
        self._now = now
        self._signer = _Signer(secret, now, "session")
        self._scheme = scheme
        unguessable = hmac.digest(secret, b"roost session cookie", "sha256").hex()[:8]
        prefix = "__Host-" if scheme == "https" else ""  # no other host of the domain can set a cookie with it
        self.cookie = f"{prefix}roost_session_{instance}_{unguessable}"

    def seal(self, key: KeyId) -> str:
        return self._signer.sign(key).decode()

    def open(self, cookie: str) -> KeyId | None:
        """The key that the session stands for; None if we did not seal it, or it has ended."""
        try:
            return KeyId(self._signer.unsign(cookie.encode("utf-8", "replace"), max_age=LASTS_S - 1).decode())
        except BadSignature:
            return None

    def seal_for(self, purpose: str, text: str) -> str:
        """For an address that is given away: it says the text, and that we wrote it for that purpose."""
        return _Signer(self._secret, self._now, purpose).sign(text).decode()

    def open_for(self, purpose: str, sealed: str, lasts_s: int) -> str | None:
        """None if we did not seal it for that purpose, or it is too old."""
        try:
            return _Signer(self._secret, self._now, purpose).unsign(sealed.encode("utf-8", "replace"), max_age=lasts_s).decode()
        except BadSignature:
            return None

    def find(self, request: Request) -> KeyId | None:
        """The key that the request's session stands for; None when it has no session. Raises Unauthenticated once it is over."""
        pairs = (pair.partition("=") for header in request.headers.getlist("cookie") for pair in header.split(";"))
        sealed = [value.strip() for name, _, value in pairs if name.strip() == self.cookie]
        keys = [key for cookie in sealed if (key := self.open(cookie)) is not None]
        if sealed and not keys:
            raise session_over()
        return keys[0] if keys else None

    def put(self, response: Response, key: KeyId) -> None:
        """The answer makes the browser keep the session. Whatever the origin had kept before goes: a page that should never have
        been there may have left a service worker, or itself in the cache."""
        self._set(response, self.seal(key), LASTS_S)
        response.headers["Clear-Site-Data"] = '"cache", "storage"'

    def clear(self, response: Response) -> None:
        self._set(response, "", 0)

    def check_origin(self, request: Request) -> None:
        """Raises Forbidden when a page of another origin makes the request."""
        origin = request.headers.get("origin")
        if origin is not None and not self._is_own(origin, request.headers.get("host", "")):
            raise Forbidden(
                "cross_site",
                f"The request comes from a page of {origin[:200]}, which is not this server."
                " Open Roost by one address and stay there.",
                origin=origin[:200],
            )

    def check_same_site(self, request: Request) -> None:
        """Raises Forbidden for a change that another site may have made a signed-in browser ask for."""
        if request.method in _SAFE:
            return
        if request.headers.get(MARK) != "1":
            raise Forbidden(
                "cross_site",
                f"A request that changes something and is signed in by cookie needs the header `{MARK}: 1`."
                " Send it, or use an API key.",
            )
        self.check_origin(request)

    def _is_own(self, origin: str, host: str) -> bool:
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        return parts.scheme == self._scheme and parts.netloc.lower() == host.lower() != ""

    def _set(self, response: Response, value: str, lasts_s: int) -> None:
        response.set_cookie(
            self.cookie, value, max_age=lasts_s, path="/", secure=self._scheme == "https", httponly=True, samesite="strict"
        )


class _Signer(TimestampSigner):
    def __init__(self, secret: bytes, now: Callable[[], float], purpose: str) -> None:
        super().__init__(secret, salt=f"roost {purpose}", key_derivation="hmac", digest_method=hashlib.sha256)
        self._now = now

    def get_timestamp(self) -> int:
        return int(self._now())


def session_over() -> Unauthenticated:
    return Unauthenticated("session_over", "The session has ended, or its key was revoked. Sign in again with an API key.")
