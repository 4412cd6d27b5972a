"""What both clients know of httpx: how calls become requests, answers results and broken connections errors of Roost's own."""

from __future__ import annotations

import socket
import ssl
from collections.abc import AsyncIterable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx

from roost.client.calls import Call
from roost.client.endpoint import Endpoint
from roost.client.errors import from_answer
from roost.domain.errors import Invalid, RoostError, TimedOut, Unavailable

T = TypeVar("T")

ATTEMPTS = 3
FIRST_DELAY_S = 0.05
CONNECT_S = 10.0
# A stream may be silent for as long as it likes: its sandbox may sleep for a month with the connection parked, and
# asking "are you there" would wake it. A vanished machine is noticed by the kernel's probes, which end at the edge.
STREAM_TIMEOUT = httpx.Timeout(None, connect=CONNECT_S, pool=CONNECT_S)
SOCKET_OPTIONS = [
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))
        if hasattr(socket, name)
    ),
]
LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=32, keepalive_expiry=30)


@dataclass(frozen=True, slots=True)
class Streaming:
    """A request whose body, answer or both are moved piece by piece."""

    method: str
    path: str
    headers: Mapping[str, str]
    params: Mapping[str, str] = field(default_factory=dict)
    content: bytes | Iterable[bytes] | AsyncIterable[bytes] | None = None


def trust(endpoint: Endpoint) -> ssl.SSLContext | bool:
    """Raises Invalid when the file of certificates to trust cannot be read."""
    if endpoint.ca is None:
        return True
    try:
        return ssl.create_default_context(cafile=endpoint.ca)
    except (OSError, ssl.SSLError) as error:
        raise Invalid(
            "ca_unreadable",
            f"{endpoint.ca}, whose certificates are to be trusted for {endpoint.url}, cannot be read: {error}."
            " Correct SSL_CERT_FILE, or start the server again.",
            file=str(endpoint.ca),
        ) from error


def own_headers(key: str) -> dict[str, str]:
    return {"Accept-Encoding": "identity", "User-Agent": "roost-client", "X-API-Key": key}


def arguments(call: Call[Any]) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "params": call.params,
        "headers": dict(call.headers),
        "timeout": httpx.Timeout(call.timeout_s, connect=CONNECT_S),
    }
    if call.body is not None:
        arguments["json"] = call.body
    return arguments


def read_answer(call: Call[T], response: httpx.Response) -> T:
    if response.status_code >= 400:
        raise from_answer(response.status_code, response.content)
    if not response.content:
        return call.read(None)
    try:
        return call.read(response.json())
    except (ValueError, KeyError, TypeError) as error:
        raise Unavailable(
            "unexpected_answer",
            f"{response.request.url} answered with something that is not Roost's. Is ROOST_URL the address of a Roost"
            " server,"
            " and is the server as new as this client?",
            url=str(response.request.url),
        ) from error


def repeats(call: Call[Any], attempt: int, error: httpx.TransportError) -> bool:
    if attempt + 1 >= ATTEMPTS or isinstance(error, httpx.TimeoutException | httpx.ConnectError):
        return False
    return call.repeatable


def translate(error: httpx.TransportError, url: str) -> RoostError:
    """What a broken connection means to the caller."""
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        return Unavailable(
            "server_unreachable",
            f"No Roost server answers at {url} ({error or type(error).__name__}). Start one with `roost up`,"
            " or correct ROOST_URL.",
            url=url,
        )
    if isinstance(error, httpx.TimeoutException):
        return TimedOut(
            "no_answer", f"The server at {url} did not answer in time. Ask for the state before trying again.", url=url
        )
    return Unavailable(
        "connection_lost",
        f"The connection to {url} broke before the answer came ({error or type(error).__name__})."
        " Ask for the state before trying again.",
        url=url,
    )
