"""What happens inside a sandbox: processes, ports, the commands that were run, the last lines printed.

Looking changes nothing: these requests are quiet, so they neither wake a sandbox nor count as activity. Of one that is
asleep they raise Conflict `asleep`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from roost.client.agent import AgentAccess
from roost.client.calls import Call
from roost.client.wire import Streaming

T = TypeVar("T")
Json = Mapping[str, Any]

QUIET = {"Roost-Quiet": "1"}
LINES = 12
COMMANDS = 200


@dataclass(frozen=True, slots=True)
class RunningProcess:
    """A process as the sandbox's own table has it. `managed`: it was started through the agent, with this `tag`."""

    pid: int
    parent: int
    user: str
    command: str
    cpu_percent: float  # of one processor, lately
    memory_bytes: int
    started_at: datetime
    managed: bool
    tag: str | None
    raw: Json = field(repr=False, compare=False)

    @staticmethod
    def read(content: Json) -> RunningProcess:
        return RunningProcess(
            pid=content["pid"],
            parent=content["ppid"],
            user=content["user"],
            command=content["command"],
            cpu_percent=content["cpu_percent"],
            memory_bytes=content["memory_bytes"],
            started_at=datetime.fromisoformat(content["started_at"]),
            managed=content["managed"],
            tag=content.get("tag"),
            raw=content,
        )


@dataclass(frozen=True, slots=True)
class OpenPort:
    """Something that listens. What listens on `loopback` only is reached from outside as well."""

    port: int
    address: str
    pid: int | None
    command: str | None
    loopback: bool
    raw: Json = field(repr=False, compare=False)

    @staticmethod
    def read(content: Json) -> OpenPort:
        names = ("port", "address", "pid", "command", "loopback")
        return OpenPort(**{name: content[name] for name in names}, raw=content)


@dataclass(frozen=True, slots=True)
class PastCommand:
    """A command that was run through the agent; `ended_at` and `exit_code` are None while it runs."""

    pid: int
    command: str
    user: str
    started_at: datetime
    ended_at: datetime | None
    exit_code: int | None
    pty: bool
    raw: Json = field(repr=False, compare=False)

    @staticmethod
    def read(content: Json) -> PastCommand:
        ended_at = content["ended_at"]
        return PastCommand(
            pid=content["pid"],
            command=content["command"],
            user=content["user"],
            started_at=datetime.fromisoformat(content["started_at"]),
            ended_at=None if ended_at is None else datetime.fromisoformat(ended_at),
            exit_code=content["exit_code"],
            pty=content["pty"],
            raw=content,
        )


@dataclass(frozen=True, slots=True)
class LastLines:
    """The end of what was printed last, and by whom; nobody and nothing when nothing was printed yet."""

    pid: int | None
    command: str | None
    lines: tuple[str, ...]

    @staticmethod
    def read(content: Json) -> LastLines:
        return LastLines(content["pid"], content["command"], tuple(content["lines"]))


def _list(access: AgentAccess, path: str, key: str, read: Callable[[Json], T], limit: int | None = None) -> Call[list[T]]:
    def read_all(content: Any) -> list[T]:
        return [read(item) for item in content[key]]

    params = () if limit is None else (("limit", str(limit)),)
    return Call("GET", path, read_all, params=params, headers={**access.headers(), **QUIET}, repeatable=True)


def processes(access: AgentAccess) -> Call[list[RunningProcess]]:
    return _list(access, "/processes", "processes", RunningProcess.read)


def ports(access: AgentAccess) -> Call[list[OpenPort]]:
    return _list(access, "/ports", "ports", OpenPort.read)


def history(access: AgentAccess, limit: int) -> Call[list[PastCommand]]:
    return _list(access, "/history", "commands", PastCommand.read, limit)


def tail(access: AgentAccess, lines: int) -> Streaming:
    return Streaming("GET", "/tail", {**access.headers(), **QUIET}, params={"lines": str(lines)})
