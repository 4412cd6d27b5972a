"""Runs calls over httpx, blocking or awaiting. The only place that knows httpx's errors; they leave it as Roost's own.

Connections are kept and reused. A call that may be repeated is sent again when its connection breaks; no other is,
because nobody can tell whether the server acted on it.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import AsyncIterable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx

from roost.client.calls import Call
from roost.client.endpoint import Endpoint
from roost.client.entering import Entering
from roost.client.errors import from_answer
from roost.domain.errors import Invalid, RoostError, TimedOut, Unavailable

T = TypeVar("T")

_ATTEMPTS = 3
_FIRST_DELAY_S = 0.05
_CONNECT_S = 10.0
# A stream may be silent for as long as it likes: its sandbox may sleep for a month with the connection parked, and
# asking "are you there" would wake it. A vanished machine is noticed by the kernel's probes, which end at the edge.
_STREAM_TIMEOUT = httpx.Timeout(None, connect=_CONNECT_S, pool=_CONNECT_S)
_SOCKET_OPTIONS = [
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))
        if hasattr(socket, name)
    ),
]
_LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=32, keepalive_expiry=30)


@dataclass(frozen=True, slots=True)
class Streaming:
    """A request whose body, answer or both are moved piece by piece."""

    method: str
    path: str
    headers: Mapping[str, str]
    params: Mapping[str, str] = field(default_factory=dict)
    content: bytes | Iterable[bytes] | AsyncIterable[bytes] | None = None


def _trust(endpoint: Endpoint) -> ssl.SSLContext | bool:
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


def _own_headers(key: str) -> dict[str, str]:
    return {"Accept-Encoding": "identity", "User-Agent": "roost-client", "X-API-Key": key}


def _arguments(call: Call[Any]) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "params": call.params,
        "headers": dict(call.headers),
        "timeout": httpx.Timeout(call.timeout_s, connect=_CONNECT_S),
    }
    if call.body is not None:
        arguments["json"] = call.body
    return arguments


def _read(call: Call[T], response: httpx.Response) -> T:
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


def _repeats(call: Call[Any], attempt: int, error: httpx.TransportError) -> bool:
    if attempt + 1 >= _ATTEMPTS or isinstance(error, httpx.TimeoutException | httpx.ConnectError):
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


def _blocking(endpoint: Endpoint) -> httpx.HTTPTransport:
    return httpx.HTTPTransport(verify=_trust(endpoint), limits=_LIMITS, socket_options=_SOCKET_OPTIONS, trust_env=False)


def _awaiting(endpoint: Endpoint) -> httpx.AsyncHTTPTransport:
    return httpx.AsyncHTTPTransport(verify=_trust(endpoint), limits=_LIMITS, socket_options=_SOCKET_OPTIONS, trust_env=False)


class Transport:
    """Blocking. May be used by several threads at once."""

    def __init__(self, endpoint: Endpoint, transport: httpx.BaseTransport | None = None) -> None:
        self.endpoint = endpoint
        self.entering = Entering()
        self._http = httpx.Client(
            base_url=endpoint.url,
            headers=_own_headers(endpoint.key),
            transport=transport or _blocking(endpoint),
            auth=self.entering,
            trust_env=False,
        )

    def run(self, call: Call[T]) -> T:
        attempt = 0
        while True:
            try:
                return _read(call, self._http.request(call.method, call.path, **_arguments(call)))
            except httpx.TransportError as error:
                if not _repeats(call, attempt, error):
                    raise translate(error, self.endpoint.url) from error
                time.sleep(_FIRST_DELAY_S * 2**attempt)
                attempt += 1

    def stream(self, streaming: Streaming) -> httpx.Response:
        """The answer with its body still to be read; the caller closes it. Raises httpx.TransportError as it is: the
        caller may know how to go on."""
        request = self._http.build_request(
            streaming.method,
            streaming.path,
            headers=dict(streaming.headers),
            params=streaming.params or None,
            content=streaming.content,  # pyright: ignore[reportArgumentType]  # a blocking caller gives a blocking body
            timeout=_STREAM_TIMEOUT,
        )
        response = self._http.send(request, stream=True)
        if response.status_code >= 400:
            try:
                raise from_answer(response.status_code, response.read())
            finally:
                response.close()
        return response

    def close(self) -> None:
        self._http.close()


class AsyncTransport:
    """Awaiting. Belongs to one event loop."""

    def __init__(self, endpoint: Endpoint, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self.endpoint = endpoint
        self.entering = Entering()
        self._http = httpx.AsyncClient(
            base_url=endpoint.url,
            headers=_own_headers(endpoint.key),
            transport=transport or _awaiting(endpoint),
            auth=self.entering,
            trust_env=False,
        )

    async def run(self, call: Call[T]) -> T:
        import anyio

        attempt = 0
        while True:
            try:
                return _read(call, await self._http.request(call.method, call.path, **_arguments(call)))
            except httpx.TransportError as error:
                if not _repeats(call, attempt, error):
                    raise translate(error, self.endpoint.url) from error
                await anyio.sleep(_FIRST_DELAY_S * 2**attempt)
                attempt += 1

    async def stream(self, streaming: Streaming) -> httpx.Response:
        """As `Transport.stream`."""
        request = self._http.build_request(
            streaming.method,
            streaming.path,
            headers=dict(streaming.headers),
            params=streaming.params or None,
            content=streaming.content,
            timeout=_STREAM_TIMEOUT,
        )
        response = await self._http.send(request, stream=True)
        if response.status_code >= 400:
            try:
                raise from_answer(response.status_code, await response.aread())
            finally:
                await response.aclose()
        return response

    async def close(self) -> None:
        await self._http.aclose()
