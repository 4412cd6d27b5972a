"""Who may do what: the access token, signed file URLs, and the routes only the node may call."""

from __future__ import annotations

import binascii
import time
from _operator import _compare_digest as same

from roost_agent.connect import Call
from roost_agent.errors import HttpError
from roost_agent.http.connection import Exchange
from roost_agent.sandbox import Sandbox

# hashlib would load OpenSSL for this one digest.
try:
    from _sha2 import sha256  # type: ignore[import-not-found]
except ImportError:
    from _sha256 import sha256  # type: ignore[import-not-found]


def require_token(sandbox: Sandbox, exchange: Exchange) -> None:
    """Raises HttpError 401 unless the caller shows the sandbox's token, if it has one."""
    if sandbox.access_token and not _matches(exchange.head.headers.get("x-access-token", ""), sandbox.access_token):
        raise HttpError(401, "unauthorized access, please provide a valid access token or method signing if supported")


def require_token_or_signature(sandbox: Sandbox, exchange: Exchange, operation: str) -> None:
    """For file routes: the token in the header, or a signature of this very operation in the query."""
    token = sandbox.access_token
    if not token:
        return
    shown = exchange.head.headers.get("x-access-token")
    if shown is not None:
        if not _matches(shown, token):
            raise HttpError(401, "access token present in header but does not match")
        return
    query = exchange.head.parameters()
    signature = query.get("signature")
    if not signature:
        raise HttpError(401, "missing signature query parameter")
    expiration = query.get("signature_expiration")
    expected = sign(query.get("path", ""), operation, query.get("username", ""), token, expiration)
    if not _matches(signature, expected):
        raise HttpError(401, "invalid signature")
    if expiration is not None and int(expiration) < int(time.time()):
        raise HttpError(401, "signature is already expired")


def sign(path: str, operation: str, user: str, token: str, expiration: str | None) -> str:
    """E2B's signature v1 of a file URL."""
    if expiration is not None and not (expiration.removeprefix("-").isdecimal() and len(expiration) < 20):
        raise HttpError(400, "signature_expiration must be a time in seconds")
    raw = f"{path}:{operation}:{user}:{token}" + (f":{expiration}" if expiration is not None else "")
    digest = sha256(raw.encode("utf-8", "surrogateescape")).digest()
    return "v1_" + binascii.b2a_base64(digest, newline=False).decode().rstrip("=")


def require_node(exchange: Exchange, *, trust_local: bool) -> None:
    """Only the node reaches the agent from outside the sandbox; to everybody else these routes do not exist."""
    if not trust_local and exchange.connection.peer_is_local:
        raise HttpError(404, "not found")


def call_of(exchange: Exchange) -> Call:
    """The call with the user of its Basic credentials, if it has any. Raises HttpError 401 on malformed ones."""
    given = exchange.head.headers.get("authorization", "")
    kind, _, credentials = given.partition(" ")
    if kind.lower() != "basic":
        return Call(exchange, None)
    try:
        decoded = binascii.a2b_base64(credentials.strip().encode(), strict_mode=True).decode()
    except (ValueError, binascii.Error) as error:
        raise HttpError(401, "the Basic credentials are malformed") from error
    return Call(exchange, decoded.partition(":")[0] or None)


def _matches(given: str, expected: str) -> bool:
    return same(given.encode("utf-8", "surrogateescape"), expected.encode("utf-8", "surrogateescape"))
