"""What the server tells, as records. Each keeps the object it was read from in `raw`; fields it does not know are only
there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar

from roost.client.errors import from_record
from roost.domain.errors import RoostError

T = TypeVar("T")
Json = Mapping[str, Any]


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


@dataclass(frozen=True, slots=True)
class SandboxRecord:
    id: str
    name: str | None
    state: str
    template: str
    incarnation: int
    created_at: datetime
    started_at: datetime | None
    expires_at: datetime | None
    snapshot: str | None
    parent: str | None
    reason: str | None
    domain: str
    metadata: Mapping[str, str]
    raw: Json = field(repr=False, compare=False)

    @staticmethod
    def read(content: Json) -> SandboxRecord:
        return SandboxRecord(
            id=content["id"],
            name=content.get("name"),
            state=content["state"],
            template=content["template"],
            incarnation=content.get("incarnation", 0),
            created_at=datetime.fromisoformat(content["created_at"]),
            started_at=_time(content.get("started_at")),
            expires_at=_time(content.get("expires_at")),
            snapshot=content.get("snapshot"),
            parent=content.get("parent"),
            reason=content.get("reason"),
            domain=content.get("domain", ""),
            metadata=content.get("metadata") or {},
            raw=content,
        )


@dataclass(frozen=True, slots=True)
class Entered:
    """A sandbox with its tokens: `access_token` opens the agent inside, `traffic_token` the ports of one that is not public."""

    record: SandboxRecord
    access_token: str = field(repr=False)
    traffic_token: str | None = field(repr=False)

    @staticmethod
    def read(content: Json) -> Entered:
        shown = {name: value for name, value in content.items() if name not in ("access_token", "traffic_token")}
        return Entered(SandboxRecord.read(shown), content["access_token"], content["traffic_token"])


@dataclass(frozen=True, slots=True)
class Resumed:
    """A sandbox that runs again. `cold`: it booted from its disk, and what was in memory is lost."""

    record: SandboxRecord
    cold: bool
    lost: tuple[str, ...]
    raw: Json = field(repr=False, compare=False)

    @staticmethod
    def read(content: Json) -> Resumed:
        return Resumed(SandboxRecord.read(content), bool(content.get("cold")), tuple(content.get("lost") or ()), raw=content)


@dataclass(frozen=True, slots=True)
class Failure:
    """One of several things asked for that could not be done."""

    index: int
    error: RoostError

    @staticmethod
    def read(content: Json) -> Failure:
        facts = {name: value for name, value in content.items() if name not in ("code", "message", "index")}
        return Failure(int(content.get("index", 0)), from_record(content["code"], content["message"], facts))


@dataclass(frozen=True, slots=True)
class Fork:
    """The children that run, and why others do not."""

    children: tuple[Entered, ...]
    failures: tuple[Failure, ...]
    raw: Json = field(repr=False, compare=False)

    @staticmethod
    def read(content: Json) -> Fork:
        return Fork(
            tuple(Entered.read(child) for child in content["sandboxes"]),
            tuple(Failure.read(failure) for failure in content.get("errors") or ()),
            raw=content,
        )


@dataclass(frozen=True, slots=True)
class SnapshotRecord:
    id: str
    name: str | None
    kind: str
    purpose: str
    template: str
    sandbox: str | None
    created_at: datetime
    memory_bytes: int
    raw: Json = field(repr=False, compare=False)

    @staticmethod
    def read(content: Json) -> SnapshotRecord:
        return SnapshotRecord(
            id=content["id"],
            name=content.get("name"),
            kind=content["kind"],
            purpose=content["purpose"],
            template=content["template"],
            sandbox=content.get("sandbox"),
            created_at=datetime.fromisoformat(content["created_at"]),
            memory_bytes=content.get("memory_bytes", 0),
            raw=content,
        )


@dataclass(frozen=True, slots=True)
class TemplateRecord:
    id: str
    name: str
    description: str
    snapshot: str
    created_at: datetime
    raw: Json = field(repr=False, compare=False)

    @staticmethod
    def read(content: Json) -> TemplateRecord:
        return TemplateRecord(
            id=content["id"],
            name=content["name"],
            description=content.get("description", ""),
            snapshot=content["snapshot"],
            created_at=datetime.fromisoformat(content["created_at"]),
            raw=content,
        )


@dataclass(frozen=True, slots=True)
class Event:
    sequence: int
    kind: str
    at: datetime
    sandbox: str | None
    facts: Mapping[str, Any]
    raw: Json = field(repr=False, compare=False)

    @staticmethod
    def read(content: Json) -> Event:
        return Event(
            sequence=content["sequence"],
            kind=content["kind"],
            at=datetime.fromisoformat(content["at"]),
            sandbox=content.get("sandbox"),
            facts=content.get("facts") or {},
            raw=content,
        )


@dataclass(frozen=True, slots=True)
class Metric:
    """Counters since the incarnation began, and gauges at the moment."""

    at: datetime
    cpu_s: float
    memory_bytes: int
    disk_bytes: int
    received_bytes: int
    sent_bytes: int
    raw: Json = field(repr=False, compare=False)

    @staticmethod
    def read(content: Json) -> Metric:
        return Metric(
            at=datetime.fromisoformat(content["at"]),
            cpu_s=content["cpu_s"],
            memory_bytes=content["memory_bytes"],
            disk_bytes=content["disk_bytes"],
            received_bytes=content["received_bytes"],
            sent_bytes=content["sent_bytes"],
            raw=content,
        )


@dataclass(frozen=True, slots=True)
class ProcessInfo:
    """A process that the agent started and still knows."""

    pid: int
    command: tuple[str, ...]
    tag: str | None
    raw: Json = field(repr=False, compare=False)

    @staticmethod
    def read(content: Json) -> ProcessInfo:
        config = content.get("config") or {}
        return ProcessInfo(
            pid=int(content["pid"]),
            command=(config.get("cmd", ""), *config.get("args", ())),
            tag=content.get("tag"),
            raw=content,
        )


@dataclass(frozen=True, slots=True)
class FileEntry:
    name: str
    path: str
    type: str  # file, directory, symlink
    size_bytes: int
    mode: int
    raw: Json = field(repr=False, compare=False)

    @property
    def is_directory(self) -> bool:
        return self.type == "directory"

    @staticmethod
    def read(content: Json) -> FileEntry:
        return FileEntry(
            name=content.get("name", ""),
            path=content.get("path", ""),
            type=str(content.get("type", "FILE_TYPE_UNSPECIFIED")).removeprefix("FILE_TYPE_").lower(),
            size_bytes=int(content.get("size", 0)),
            mode=int(content.get("mode", 0)),
            raw=content,
        )


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some of many, newest first; ask again with `next_cursor` for the ones after, until it is None."""

    items: tuple[T, ...]
    next_cursor: str | None
    raw: Json = field(repr=False, compare=False)
