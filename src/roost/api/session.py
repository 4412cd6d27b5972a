"""Sessions of people in a browser: a cookie that stands for an API key.

The cookie is signed, not stored: it holds the key's id and when it ends. The key itself is never in it, and a key that is revoked
takes its sessions along, since the key is looked up on each request. Whoever may not read our answers (another site) can still
make a browser send the cookie; so whatever changes something must also bring a header that no other site can set.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from roost.domain.errors import Forbidden, Unauthenticated
from roost.domain.ids import KeyId, is_id

COOKIE = "roost_session"
HOST_COOKIE = "__Host-roost_session"  # over https: a page on a sandbox's host name cannot plant one for the server's
LASTS_S = 7 * 24 * 3600
MARK = "Roost-Request"
SECRET_BYTES = 32
_SAFE = frozenset({"GET", "HEAD"})
_CONTEXT = b"roost session v1\0"


class Sessions:
    """Seals and opens cookies with the server's secret. `scheme` is how browsers reach the server."""

    def __init__(self, *, secret: bytes, scheme: str, now: Callable[[], float]) -> None:
        self._secret = secret
        self._scheme = scheme
        self._now = now
        self.cookie = HOST_COOKIE if scheme == "https" else COOKIE

    def seal(self, key: KeyId) -> str:
        ends_at = int(self._now()) + LASTS_S
        content = f"{key}.{ends_at}"
        return f"{content}.{self._sign(content)}"

    def open(self, cookie: str) -> KeyId:
        """The key that the session stands for. Raises Unauthenticated for one that we did not seal, or that has ended."""
        key, _, rest = cookie.partition(".")
        ends_at, _, signature = rest.partition(".")
        genuine = hmac.compare_digest(self._sign(f"{key}.{ends_at}").encode(), signature.encode("utf-8", "replace"))
        if not genuine or not is_id(key) or not ends_at.isdecimal() or int(ends_at) <= self._now():
            raise session_over()
        return KeyId(key)

    def put(self, response: Response, key: KeyId) -> None:
        """The answer makes the browser keep the session."""
        self._set(response, self.seal(key), LASTS_S)

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

    def _sign(self, content: str) -> str:
        digest = hmac.new(self._secret, _CONTEXT + content.encode("utf-8", "replace"), hashlib.sha256).digest()
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def session_over() -> Unauthenticated:
    return Unauthenticated("session_over", "The session has ended, or its key was revoked. Sign in again with an API key.")
