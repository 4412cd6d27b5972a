"""What a node is told and what it reports. Orders carry `(sandbox, incarnation)` and are idempotent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from roost.domain.egress import OPEN, Egress
from roost.domain.ids import NodeId, SandboxId, SnapshotId
from roost.domain.sandbox import Driver, Size
from roost.domain.snapshot import SnapshotKind


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a guest is: what the agent is told when a process starts to stand for a sandbox."""

    sandbox: SandboxId
    hostname: str
    template: str
    access_token: str = field(repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    user: str = "user"
    workdir: str = "/home/user"
    fresh: bool = False  # a new identity (create, fork), not the same one awake again
    driver: Driver | None = None  # the person who drives; None: the agent does


@dataclass(frozen=True, slots=True)
class CreateOrder:
    sandbox: SandboxId
    incarnation: int
    source: SnapshotId  # clone this
    size: Size
    identity: Identity
    cold: bool = False  # boot from its disk, leave its memory
    in_place: bool = False  # boot (cold) the root that outlived an earlier incarnation; `source` is not cloned
    egress: Egress = OPEN  # holds before the guest runs


@dataclass(frozen=True, slots=True)
class ResumeOrder:
    sandbox: SandboxId
    incarnation: int  # the new one
    source: SnapshotId
    size: Size
    identity: Identity
    cold: bool = False
    egress: Egress = OPEN  # holds before the guest runs


@dataclass(frozen=True, slots=True)
class EgressOrder:
    """What a running sandbox may reach from now on."""

    sandbox: SandboxId
    incarnation: int
    egress: Egress


@dataclass(frozen=True, slots=True)
class InformOrder:
    """What a running guest is to know from now on: who drives, a person or the agent, and the token that opens it."""

    sandbox: SandboxId
    incarnation: int
    driver: Driver | None
    access_token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class CaptureOrder:
    """Pause or snapshot: write `snapshot` from the running sandbox."""

    sandbox: SandboxId
    incarnation: int
    snapshot: SnapshotId
    parent: SnapshotId | None
    template: str
    keep_memory: bool = True


@dataclass(frozen=True, slots=True)
class KillOrder:
    sandbox: SandboxId
    incarnation: int
    asleep: bool = False  # its memory is kept in a snapshot: keep the slot for a while, so that connections survive
    keep: CaptureOrder | None = None  # its disk is kept in this snapshot before it goes


@dataclass(frozen=True, slots=True)
class RunOrder:
    """Run a shell command inside a sandbox, to its end."""

    sandbox: SandboxId
    incarnation: int
    command: str
    user: str = "root"
    timeout_s: float = 600.0


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended. A code that is not 0 is a result, not an error."""

    exit_code: int
    output: str  # bounded: the tail is kept


@dataclass(frozen=True, slots=True)
class Placed:
    """A process stands behind the sandbox and answers at `endpoint`: in words of the node, which only its own edge reads."""

    endpoint: str
    cold: bool  # booted from disk: nothing that was in memory is there
    lost: tuple[str, ...] = ()  # commands that ran in the memory that was left out


@dataclass(frozen=True, slots=True)
class Captured:
    """The manifest is on disk."""

    snapshot: SnapshotId
    kind: SnapshotKind
    memory_bytes: int
    created_at: float
    frozen_s: float  # how long the guest stood still


@dataclass(frozen=True, slots=True)
class Usage:
    """Counters since the incarnation began, and gauges now."""

    at: float
    cpu_s: float
    memory_bytes: int
    disk_bytes: int
    received_bytes: int
    sent_bytes: int


@dataclass(frozen=True, slots=True)
class Presence:
    """A process that the node found standing behind a sandbox."""

    sandbox: SandboxId
    incarnation: int
    endpoint: str
    alive: bool
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class SlotCounts:
    """Network slots of a node: those that are somebody's, also a sleeper's, those ready in advance, and how many it can have."""

    held: int = 0
    spare: int = 0
    most: int = 0


@dataclass(frozen=True, slots=True)
class NodeReport:
    node: NodeId
    present: tuple[Presence, ...]
    snapshots: frozenset[SnapshotId]  # manifests on disk
    surviving_disks: frozenset[SandboxId]  # roots without a process
    memory_free_bytes: int
    disk_free_bytes: int
    disk_total_bytes: int
    warm: Mapping[SnapshotId, int] = field(default_factory=dict)
    dozing: Mapping[SandboxId, int] = field(default_factory=dict)  # sleepers whose process is kept, and the memory it holds
    load: tuple[float, float, float] = (0.0, 0.0, 0.0)  # of the last 1, 5 and 15 minutes
    cpus: int = 1
    memory_total_bytes: int = 0
    memory_reserve_bytes: int = 0  # of what is free: for a sandbox that outgrows its memory, until that is ended
    slots: SlotCounts = SlotCounts()
    uptime_s: float = 0.0  # of the node's service, not of the machine

    @property
    def memory_room_bytes(self) -> int:
        """What a new sandbox may take. Those that doze give way."""
        return max(0, self.memory_free_bytes + sum(self.dozing.values()) - self.memory_reserve_bytes)


@dataclass(frozen=True, slots=True)
class Departure:
    """A process ended that no order ended."""

    sandbox: SandboxId
    incarnation: int
    detail: str
    in_order: bool = False  # shut down from inside; else it was lost
