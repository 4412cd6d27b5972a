"""A snapshot: a moment of a sandbox, kept. It exists when its manifest exists; the record is the index entry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from roost.domain.ids import NodeId, SandboxId, SnapshotId, TeamId
from roost.domain.sandbox import Size


class SnapshotKind(StrEnum):
    DISK = "disk"
    MEMORY = "disk+memory"


class Purpose(StrEnum):
    """Why it is kept. Collected when the purpose ends: sleep with its sandbox, trash after its time, kept and template only when
    deleted."""

    SLEEP = "sleep"  # made by pause
    KEPT = "kept"  # made by a caller
    FORK = "fork"  # made to create children; dropped when the last child no longer needs it
    TEMPLATE = "template"
    LAYER = "layer"  # what a build step left
    TRASH = "trash"  # what a dead sandbox can come back from; dropped when its time is over or its room is needed


@dataclass(frozen=True, slots=True)
class Snapshot:
    id: SnapshotId
    team: TeamId
    node: NodeId
    kind: SnapshotKind
    purpose: Purpose
    template: str
    created_at: float
    sandbox: SandboxId | None = None  # of which
    parent: SnapshotId | None = None  # the one its sandbox came from
    name: str | None = None
    memory_bytes: int = 0
    size: Size = field(default_factory=Size)  # of its sandbox: what a clone gets unless told otherwise
    user: str = "user"
    workdir: str = "/home/user"
    env: Mapping[str, str] = field(default_factory=dict)
    has_desktop: bool = False
    revision: int = 0
