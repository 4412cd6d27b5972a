"""The agent's HTTP, as the node speaks it: one small request per connection, no pool.

A connection costs 0.3 ms here and none is ever open across a checkpoint, where it would be frozen with the guest. The node closes
first: who does remembers the connection for a minute, and in a guest that sleeps a lot that minute can last for hours, in which a
new connection from the same port would be ignored. Should one be, another is tried.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import struct
from collections.abc import Callable, Collection, Iterator
from datetime import UTC, datetime
from typing import Any

import anyio
import h11
from anyio.abc import SocketStream

from roost.domain.address import GATEWAY_ADDRESS
from roost.domain.errors import GuestUnreachable
from roost.domain.ids import AGENT_PORT
from roost.domain.node import Identity
from roost.domain.sandbox import Driver

_FIRST_RETRY_S, _LAST_RETRY_S = 0.002, 0.1
_OUTPUT_KEPT_BYTES = 64 << 10
_ANSWER_LIMIT_S = 20.0
_FIRST_PATIENCE_S = 1.0  # then another connection, and twice as long
_FLUSH_LIMIT_S = 120.0
_ANSWER_LIMIT_BYTES = 64 << 20  # root inside can put anything in the agent's place: what it says must not fill our memory


class Envd:
    """`contracts.guest.Guest` over the agent's HTTP."""

    def __init__(self, *, now: Callable[[], float]) -> None:
        self._now = now

    async def ready(self, address: str, timeout_s: float) -> None:
        pause = _FIRST_RETRY_S
        with anyio.move_on_after(timeout_s):
            while True:
                with contextlib.suppress(OSError, anyio.EndOfStream, anyio.BrokenResourceError, GuestUnreachable):
                    status, _ = await self._request(address, "GET", "/health")
                    if status < 300:
                        return
                await anyio.sleep(pause)  # there is no event to wait for: a guest that boots tells nobody
                pause = min(pause * 1.5, _LAST_RETRY_S)
        raise GuestUnreachable(address, f"no answer within {timeout_s:g} s")

    async def init(self, address: str, identity: Identity) -> None:
        # The disk of a new one may be anybody's: whom it asks for names was true where it was made.
        resolvers = {"dnsServers": [str(GATEWAY_ADDRESS)]} if identity.fresh else {}
        await self._post(address, "/init", _identity(identity) | resolvers)

    async def before_checkpoint(self, address: str) -> None:
        await self._post(address, "/roost/before-checkpoint", {})

    async def flush(self, address: str) -> None:
        await self._post(address, "/roost/flush", {}, limit_s=_FLUSH_LIMIT_S)

    async def after_restore(self, address: str, identity: Identity) -> None:
        # The same one awake again has everything but fresh random bytes, and a name or token that it was given meanwhile:
        # reading and comparing files would only take time.
        awake = {"hostname": identity.hostname, "accessToken": identity.access_token, **_entropy(), **_driver(identity.driver)}
        told = _identity(identity) if identity.fresh else awake
        await self._post(address, "/roost/after-restore", told | {"wallClock": self._now()})

    async def set_driver(self, address: str, driver: Driver | None) -> None:
        await self._post(address, "/roost/driver", _driver(driver), unknown=(401, 404))

    async def set_token(self, address: str, token: str) -> None:
        await self._post(address, "/init", {"accessToken": token})

    async def trust(self, address: str, certificates: str) -> None:
        await self._post(address, "/init", {"caBundle": certificates})

    async def run(self, address: str, command: str, *, user: str, timeout_s: float) -> tuple[int, str]:
        start = {"process": {"cmd": "/bin/bash", "args": ["-l", "-c", command]}, "stdin": False}
        body = json.dumps(start).encode()
        headers = {
            "Content-Type": "application/connect+json",
            "Connect-Protocol-Version": "1",
            "Connect-Timeout-Ms": str(int(timeout_s * 1000)),
            "Authorization": "Basic " + base64.b64encode(f"{user}:".encode()).decode(),
        }
        with reaching(address, timeout_s + _ANSWER_LIMIT_S):
            status, answer = await self._request(
                address, "POST", "/process.Process/Start", struct.pack(">BI", 0, len(body)) + body, headers
            )
            if status != 200:
                raise GuestUnreachable(address, f"the agent refused to run a command: {answer[:200]!r}")
            return _outcome(address, answer)

    async def _post(
        self,
        address: str,
        path: str,
        body: dict[str, Any],
        *,
        limit_s: float = _ANSWER_LIMIT_S,
        unknown: Collection[int] = (),
    ) -> None:
        """All these may be repeated. `unknown`: how an agent answers that is older than the path, which is as good."""
        encoded, headers = json.dumps(body).encode(), {"Content-Type": "application/json"}
        status, answer = 0, b""
        with reaching(address, limit_s):
            patience_s = _FIRST_PATIENCE_S
            while not status:
                with anyio.move_on_after(patience_s):
                    status, answer = await self._request(address, "POST", path, encoded, headers)
                patience_s *= 2
        if status >= 300 and status not in unknown:
            raise GuestUnreachable(address, f"{path} answered {status}: {answer[:200].decode(errors='replace')}")

    async def _request(
        self, address: str, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> tuple[int, bytes]:
        fields = {"Host": address, "Content-Length": str(len(body)), **(headers or {})}
        request = h11.Request(method=method, target=path, headers=list(fields.items()))
        connection = h11.Connection(h11.CLIENT)
        events = (request, h11.Data(data=body), h11.EndOfMessage())
        sent = b"".join(connection.send(event) or b"" for event in events)
        async with await anyio.connect_tcp(address, AGENT_PORT) as stream:
            await stream.send(sent)
            return await _answer(address, connection, stream)


@contextlib.contextmanager
def reaching(address: str, limit_s: float) -> Iterator[None]:
    """Turns what can go wrong on the wire into GuestUnreachable, and bounds the time. Mistakes of our own stay what they are."""
    try:
        with anyio.fail_after(limit_s):
            yield
    except TimeoutError as error:
        raise GuestUnreachable(address, "it did not answer in time") from error
    except (OSError, anyio.EndOfStream, anyio.BrokenResourceError) as error:
        raise GuestUnreachable(address, str(error) or type(error).__name__) from error


async def _answer(address: str, connection: h11.Connection, stream: SocketStream) -> tuple[int, bytes]:
    status, body = 0, bytearray()
    while True:
        try:
            event = connection.next_event()
        except h11.RemoteProtocolError as error:
            raise GuestUnreachable(address, f"its answer is not HTTP ({error})") from error
        match event:
            case h11.NEED_DATA:
                connection.receive_data(await _received(stream))
            case h11.Response():
                status = event.status_code
            case h11.Data():
                body += event.data
                if len(body) > _ANSWER_LIMIT_BYTES:
                    raise GuestUnreachable(address, f"its answer is longer than {_ANSWER_LIMIT_BYTES >> 20} MB")
            case h11.EndOfMessage():
                return status, bytes(body)
            case h11.ConnectionClosed():
                raise GuestUnreachable(address, "it closed the connection without an answer")


async def _received(stream: SocketStream) -> bytes:
    try:
        return await stream.receive(65536)
    except anyio.EndOfStream:
        return b""


def _identity(identity: Identity) -> dict[str, Any]:
    return {
        "accessToken": identity.access_token,
        "envVars": dict(identity.env),
        "defaultUser": identity.user,
        "defaultWorkdir": identity.workdir,
        "hostname": identity.hostname,
        "sandboxId": identity.sandbox,
        "templateId": identity.template,
        "newIdentity": identity.fresh,
        "machineId": os.urandom(16).hex() if identity.fresh else None,
        **_entropy(),
        **_driver(identity.driver),
    }


def _entropy() -> dict[str, Any]:
    return {"entropy": base64.b64encode(os.urandom(32)).decode()}


def _driver(driver: Driver | None) -> dict[str, Any]:
    if driver is None:
        return {"driver": None}
    since = datetime.fromtimestamp(driver.since, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {"driver": {"who": driver.who, "since": since}}


def _outcome(address: str, envelopes: bytes) -> tuple[int, str]:
    output = bytearray()
    code: int | None = None
    while len(envelopes) >= 5:
        flags, length = struct.unpack_from(">BI", envelopes)
        try:
            message = json.loads(envelopes[5 : 5 + length] or b"{}")
            piece = base64.b64decode(_at(message, "event", "data", "stdout") or _at(message, "event", "data", "stderr") or "")
        except (ValueError, TypeError, RecursionError) as error:  # of what a guest wrote, and only of that
            raise GuestUnreachable(address, f"its answer makes no sense ({error})") from error
        envelopes = envelopes[5 + length :]
        if flags & 2:
            if _at(message, "error") is not None:
                is_late = _at(message, "error", "code") == "deadline_exceeded"
                return 124 if is_late else 125, str(_at(message, "error", "message") or "")
            continue
        output += piece
        if _at(message, "event", "end") is not None:
            exit_code = _at(message, "event", "end", "exitCode") or 0
            code = exit_code if isinstance(exit_code, int) else 125
    if code is None:
        raise GuestUnreachable(address, "the command's end was never told")
    return code, bytes(output[-_OUTPUT_KEPT_BYTES:]).decode(errors="replace")


def _at(message: Any, *names: str) -> Any:
    """What is there in a message of a guest, which need not be of any shape; None where there is nothing."""
    for name in names:
        if not isinstance(message, dict):
            return None
        message = message.get(name)
    return message
