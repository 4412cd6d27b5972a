"""The sentry's control socket: one JSON request and answer per connection, file descriptors beside the first bytes.

Open, call, close: a connection left open delays the sandbox's exit by 15 s.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Sequence
from typing import Any


class CallFailed(Exception):
    """The sentry answered, and said no."""


async def call(path: str, method: str, argument: Any = None, descriptors: Sequence[int] = ()) -> Any:
    """The result of `method`. Raises CallFailed, or OSError when nobody listens or the sentry dies meanwhile."""
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC) as connection:
        await loop.sock_connect(connection, _short(path))
        request = json.dumps({"method": method, "arg": argument}).encode()
        if descriptors:
            sent = socket.send_fds(connection, [request], list(descriptors))
            request = request[sent:]
        if request:
            await loop.sock_sendall(connection, request)
        answer = await _answer(loop, connection)
    if not answer.get("success"):
        raise CallFailed(answer.get("err") or "no reason given")
    return answer.get("result")


async def _answer(loop: asyncio.AbstractEventLoop, connection: socket.socket) -> dict[str, Any]:
    received = bytearray()
    while True:
        chunk = await loop.sock_recv(connection, 1 << 18)
        if not chunk:
            raise ConnectionResetError("the sandbox went away during the call")
        received += chunk
        if not chunk.endswith(b"}"):
            continue  # to read all of it again for every piece of a large answer would take seconds
        try:
            return json.loads(received)
        except ValueError:
            continue  # not all of it yet


def _short(path: str) -> str:
    if len(path.encode()) > 107:
        raise OSError(f"the control socket's path is too long: {path}")
    return path
