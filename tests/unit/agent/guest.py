"""A client of a real agent for the tests: plain HTTP and the Connect envelopes, nothing of the server's own code."""

from __future__ import annotations

import base64
import json
import os
import select
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

import roost_agent

Message = dict[str, Any]
STREAM = "application/connect+json"
PACKAGE = Path(roost_agent.__file__).parent


class RpcFailure(Exception):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class Guest:
    """An agent in a process of its own, started the way a sandbox starts it."""

    def __init__(self, *options: str) -> None:
        command = [sys.executable, "-I", "-S", "-B", str(PACKAGE), "--host", "127.0.0.1", "--port", "0", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline().split()[1])
        # A client that is cut has lost what lies unread in its own socket: little, so that this is about the agent.
        small = [(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)]
        transport = httpx.HTTPTransport(socket_options=small)
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=30, transport=transport)

    def close(self) -> None:
        self.http.close()
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(20)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def init(self, **identity: Any) -> None:
        assert self.http.post("/init", json=identity).status_code == 204

    def call(self, method: str, message: Message | None = None, **headers: str) -> Message:
        answer = self.http.post(f"/{method}", json=message or {}, headers=headers)
        body = answer.json()
        if answer.status_code != 200:
            raise RpcFailure(body["code"], body["message"])
        return body

    @contextmanager
    def stream(self, method: str, message: Message, **headers: str) -> Iterator[Iterator[Message]]:
        """The messages of a server stream; ends with RpcFailure if the stream ends with an error."""
        with self.http.stream(
            "POST", f"/{method}", content=envelope(message), headers={"Content-Type": STREAM, **headers}
        ) as answer:
            assert answer.status_code == 200, answer.read()
            yield messages(answer.iter_raw())

    @contextmanager
    def start(self, *command: str, headers: dict[str, str] | None = None, **more: Any) -> Iterator[Events]:
        process = {"cmd": command[0], "args": list(command[1:]), **more.pop("process", {})}
        message = {"process": process, "stdin": False, **more}
        with self.stream("process.Process/Start", message, **(headers or {})) as events:
            yield Events(events)

    @contextmanager
    def connect(self, pid: int, from_sequence: int | None = None) -> Iterator[Events]:
        message: Message = {"process": {"pid": pid}}
        if from_sequence is not None:
            message["fromSequence"] = str(from_sequence)
        with self.stream("process.Process/Connect", message) as events:
            yield Events(events)

    def run(self, *command: str, **more: Any) -> Result:
        with self.start(*command, **more) as events:
            return events.finish()

    def raw(self, request: bytes, *, finish: bool = True) -> bytes:
        """Send bytes as they are, return whatever comes until the server closes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as wire:
            wire.sendall(request)
            if finish:
                wire.shutdown(socket.SHUT_WR)
            return read_to_end(wire)


class Result:
    def __init__(self) -> None:
        self.output: dict[str, bytes] = {"stdout": b"", "stderr": b"", "pty": b""}
        self.end: Message = {}

    @property
    def stdout(self) -> str:
        return self.output["stdout"].decode()


class Events:
    """Process events in their order, with the sequence numbers checked."""

    def __init__(self, events: Iterator[Message]) -> None:
        self._events = events
        start = next(events)["event"]["start"]
        self.pid: int = start["pid"]
        self.position = int(start["sequence"])

    def __iter__(self) -> Iterator[tuple[str, bytes]]:
        for message in self._events:
            event = message["event"]
            if "data" in event:
                data = dict(event["data"])
                assert int(data.pop("sequence")) == self.position, "a byte was lost or repeated"
                ((kind, text),) = data.items()
                content = base64.b64decode(text)
                self.position += len(content)
                yield kind, content
            elif "end" in event:
                self.end = event["end"]

    def read_until(self, mark: bytes) -> bytes:
        seen = b""
        for _, content in self:
            seen += content
            if mark in seen:
                return seen
        raise AssertionError(f"{mark!r} never came, only {seen[-2000:]!r}")

    def finish(self) -> Result:
        result = Result()
        for kind, content in self:
            result.output[kind] += content
        result.end = self.end
        return result


def envelope(message: Message, flags: int = 0) -> bytes:
    raw = json.dumps(message).encode()
    return struct.pack(">BI", flags, len(raw)) + raw


def messages(pieces: Iterator[bytes]) -> Iterator[Message]:
    pending = bytearray()
    for piece in pieces:
        pending += piece
        while len(pending) >= 5:
            flags, length = struct.unpack_from(">BI", pending)
            if len(pending) < 5 + length:
                break
            message = json.loads(bytes(pending[5 : 5 + length]))
            del pending[: 5 + length]
            if flags & 2:
                if "error" in message:
                    raise RpcFailure(message["error"]["code"], message["error"]["message"])
                assert not pending, "nothing may follow the end of a stream"
                return
            yield message
    raise AssertionError("the stream ended without its end envelope")


def read_to_end(wire: socket.socket) -> bytes:
    pieces: list[bytes] = []
    try:
        while piece := wire.recv(65536):
            pieces.append(piece)
    except ConnectionResetError:
        pass
    return b"".join(pieces)


def b64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def wait_until(holds: Callable[[], bool]) -> None:
    """For what nobody tells of."""
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.01)


def wait_gone(pid: int) -> None:
    """Return once a process that is not our child has ended (or fail), without polling."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([descriptor], [], [], 20)[0], f"process {pid} is still there"
    finally:
        os.close(descriptor)
