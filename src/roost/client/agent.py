"""The calls to the agent inside a sandbox, as data. They go to the server's own port; the edge passes them on by their
headers.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from roost.client.calls import Call
from roost.client.connect import UNARY_HEADERS
from roost.client.entering import SANDBOX
from roost.client.output import Stream
from roost.client.records import FileEntry, ProcessInfo
from roost.domain.ids import AGENT_PORT

KEEPALIVE_S = 50
START = "/process.Process/Start"
CONNECT = "/process.Process/Connect"
STREAM_INPUT = "/process.Process/StreamInput"


@dataclass(frozen=True, slots=True)
class AgentAccess:
    """How to get in to one sandbox's agent. The token that opens it is added on the way (`entering`)."""

    sandbox: str

    def headers(self, user: str | None = None) -> dict[str, str]:
        headers = {SANDBOX: self.sandbox, "E2b-Sandbox-Port": str(AGENT_PORT)}
        if user is not None:
            headers["Authorization"] = "Basic " + base64.b64encode(f"{user}:".encode()).decode()
        return headers


@dataclass(frozen=True, slots=True)
class Command:
    """What to start. One string is a shell's command line; several words are the program and its arguments, passed as
    they are."""

    words: tuple[str, ...]
    user: str | None = None
    cwd: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: bool = False
    size: tuple[int, int] | None = None  # columns, rows: runs on a terminal of that size
    timeout_s: float | None = None  # killed after so long; None: never

    @staticmethod
    def of(command: str | Sequence[str], **options: Any) -> Command:
        words = ("/bin/bash", "-l", "-c", command) if isinstance(command, str) else tuple(command)
        return Command(words, **options)

    def request(self, tag: str) -> dict[str, Any]:
        program, *arguments = self.words
        process: dict[str, Any] = {"cmd": program, "args": arguments, "envs": dict(self.env)}
        if self.cwd is not None:
            process["cwd"] = self.cwd
        request: dict[str, Any] = {"process": process, "tag": tag, "stdin": self.stdin}
        if self.size is not None:
            request["pty"] = terminal_size(*self.size)
        return request


def terminal_size(columns: int, rows: int) -> dict[str, Any]:
    return {"size": {"cols": columns, "rows": rows}}


def _rpc(access: AgentAccess, method: str, body: Mapping[str, Any], read: Any, user: str | None = None) -> Call[Any]:
    return Call("POST", method, read, body=body, headers={**UNARY_HEADERS, **access.headers(user)})


def _nothing(_content: Any) -> None:
    return None


def send_input(access: AgentAccess, selector: Mapping[str, Any], stream: Stream, data: bytes) -> Call[None]:
    """`stream` is STDOUT's counterpart: PTY for a process on a terminal, anything else for its stdin."""
    body = {"process": selector, "input": input_message(stream, data)}
    return _rpc(access, "/process.Process/SendInput", body, _nothing)


def input_message(stream: Stream, data: bytes) -> dict[str, str]:
    return {"pty" if stream is Stream.PTY else "stdin": base64.b64encode(data).decode()}


def close_stdin(access: AgentAccess, selector: Mapping[str, Any]) -> Call[None]:
    return _rpc(access, "/process.Process/CloseStdin", {"process": selector}, _nothing)


def send_signal(access: AgentAccess, selector: Mapping[str, Any], name: str) -> Call[None]:
    return _rpc(access, "/process.Process/SendSignal", {"process": selector, "signal": f"SIGNAL_{name}"}, _nothing)


def resize(access: AgentAccess, selector: Mapping[str, Any], columns: int, rows: int) -> Call[None]:
    body = {"process": selector, "pty": terminal_size(columns, rows)}
    return _rpc(access, "/process.Process/Update", body, _nothing)


def list_processes(access: AgentAccess) -> Call[list[ProcessInfo]]:
    def read(content: Any) -> list[ProcessInfo]:
        return [ProcessInfo.read(item) for item in content.get("processes", ())]

    return _rpc(access, "/process.Process/List", {}, read)


def _entry(content: Any) -> FileEntry:
    return FileEntry.read(content["entry"])


def stat(access: AgentAccess, path: str, user: str | None) -> Call[FileEntry]:
    return _rpc(access, "/filesystem.Filesystem/Stat", {"path": path}, _entry, user)


def list_directory(access: AgentAccess, path: str, depth: int, user: str | None) -> Call[list[FileEntry]]:
    def read(content: Any) -> list[FileEntry]:
        return [FileEntry.read(item) for item in content.get("entries", ())]

    return _rpc(access, "/filesystem.Filesystem/ListDir", {"path": path, "depth": depth}, read, user)


def make_directory(access: AgentAccess, path: str, user: str | None) -> Call[FileEntry]:
    return _rpc(access, "/filesystem.Filesystem/MakeDir", {"path": path}, _entry, user)


def move(access: AgentAccess, source: str, destination: str, user: str | None) -> Call[FileEntry]:
    body = {"source": source, "destination": destination}
    return _rpc(access, "/filesystem.Filesystem/Move", body, _entry, user)


def remove(access: AgentAccess, path: str, user: str | None) -> Call[None]:
    return _rpc(access, "/filesystem.Filesystem/Remove", {"path": path}, _nothing, user)


def file_params(path: str, user: str | None) -> dict[str, str]:
    return {"path": path} if user is None else {"path": path, "username": user}
