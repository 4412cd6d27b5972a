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
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from typing import Any

import anyio
from anyio.abc import SocketStream

from roost.domain.errors import GuestUnreachable
from roost.domain.node import Identity
from roost.domain.sandbox import Driver

AGENT_PORT = 49983
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
                with contextlib.suppress(OSError, anyio.EndOfStream, GuestUnreachable):
                    status, _ = await self._request(address, "GET", "/health")
                    if status < 300:
                        return
                await anyio.sleep(pause)  # there is no event to wait for: a guest that boots tells nobody
                pause = min(pause * 1.5, _LAST_RETRY_S)
        raise GuestUnreachable(address, f"no answer within {timeout_s:g} s")

    async def init(self, address: str, identity: Identity) -> None:
        await self._post(address, "/init", _identity(identity))

    async def before_checkpoint(self, address: str) -> None:
        await self._post(address, "/roost/before-checkpoint", {})

    async def flush(self, address: str) -> None:
        await self._post(address, "/roost/flush", {}, limit_s=_FLUSH_LIMIT_S)

    async def after_restore(self, address: str, identity: Identity) -> None:
        # The same one awake again has everything but fresh chance, and a name that it was given meanwhile: reading and comparing
        # files would only take time.
        awake = {"hostname": identity.hostname, **_entropy(), **_driver(identity.driver)}
        told = _identity(identity) if identity.fresh else awake
        await self._post(address, "/roost/after-restore", told | {"wallClock": self._now()})

    async def set_driver(self, address: str, driver: Driver | None) -> None:
        await self._post(address, "/roost/driver", _driver(driver), unknown=(401, 404))

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
        with _told(address, timeout_s + _ANSWER_LIMIT_S):
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
        with _told(address, limit_s):
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
        lines = [f"{method} {path} HTTP/1.1", f"Host: {address}", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        async with await anyio.connect_tcp(address, AGENT_PORT) as stream:
            await stream.send("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
            return _parse(address, await _drain(address, stream))


class _told:
    """Turns what can go wrong on the wire into GuestUnreachable, and bounds the time."""

    def __init__(self, address: str, limit_s: float) -> None:
        self._address = address
        self._scope = anyio.fail_after(limit_s)

    def __enter__(self) -> None:
        self._scope.__enter__()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        try:
            if self._scope.__exit__(kind, error, trace):
                return
        except TimeoutError as late:
            raise GuestUnreachable(self._address, "it did not answer in time") from late
        if isinstance(error, OSError | anyio.EndOfStream | anyio.BrokenResourceError):
            raise GuestUnreachable(self._address, str(error) or type(error).__name__) from error
        if isinstance(error, ValueError | TypeError | KeyError | AttributeError):
            raise GuestUnreachable(self._address, f"its answer makes no sense ({error})") from error


async def _drain(address: str, stream: SocketStream) -> bytes:
    received = bytearray()
    with contextlib.suppress(anyio.EndOfStream):
        while not _is_whole(received):
            received += await stream.receive(65536)
            if len(received) > _ANSWER_LIMIT_BYTES:
                raise GuestUnreachable(address, f"its answer is longer than {_ANSWER_LIMIT_BYTES >> 20} MB")
    return bytes(received)


def _is_whole(received: bytearray) -> bool:
    """Whether the answer ends here; one that does not tell its length ends with the connection."""
    end = received.find(b"\r\n\r\n")
    if end < 0:
        return False
    head = bytes(received[:end]).lower()
    if head.split(b" ", 2)[1:2] == [b"204"]:
        return True
    if b"transfer-encoding: chunked" in head:
        return received.endswith(b"\r\n0\r\n\r\n")  # what the agent sends in chunks is JSON: no line end of its own
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name == b"content-length":
            return len(received) >= end + 4 + int(value)
    return False


def _parse(address: str, answer: bytes) -> tuple[int, bytes]:
    head, _, body = answer.partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    try:
        status = int(lines[0].split(b" ")[1])
    except (IndexError, ValueError) as error:
        raise GuestUnreachable(address, "it closed the connection without an answer") from error
    if any(line.lower().replace(b" ", b"") == b"transfer-encoding:chunked" for line in lines[1:]):
        body = _unchunk(body)
    return status, body


def _unchunk(body: bytes) -> bytes:
    parts: list[bytes] = []
    while body:
        size, _, rest = body.partition(b"\r\n")
        length = int(size.split(b";")[0] or b"0", 16)
        if length == 0:
            break
        parts.append(rest[:length])
        body = rest[length + 2 :]
    return b"".join(parts)


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
        message = json.loads(envelopes[5 : 5 + length] or b"{}")
        envelopes = envelopes[5 + length :]
        if flags & 2:
            if error := message.get("error"):
                return 124 if error.get("code") == "deadline_exceeded" else 125, f"{error.get('message', '')}"
            continue
        event = message.get("event", {})
        data = event.get("data", {})
        output += base64.b64decode(data.get("stdout") or data.get("stderr") or "")
        if "end" in event:
            code = int(event["end"].get("exitCode", 0))
    if code is None:
        raise GuestUnreachable(address, "the command's end was never told")
    return code, bytes(output[-_OUTPUT_KEPT_BYTES:]).decode(errors="replace")
