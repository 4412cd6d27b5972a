"""A sandbox: one record. Whatever is true of it is here or follows from here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum

from roost.domain.egress import OPEN, Egress
from roost.domain.ids import KeyId, LinkId, NodeId, SandboxId, SnapshotId, TeamId
from roost.domain.lifecycle import Action, State


class OnTimeout(StrEnum):
    PAUSE = "pause"
    KILL = "kill"


@dataclass(frozen=True, slots=True)
class Size:
    """What a sandbox may use. Zero means no limit."""

    cpus: float = 2.0
    memory_mb: int = 2048
    disk_mb: int = 10240
    pids: int = 4096


@dataclass(frozen=True, slots=True)
class SizeChange:
    """What is asked for in place of another size. None: as it is there."""

    cpus: float | None = None
    memory_mb: int | None = None
    disk_mb: int | None = None
    pids: int | None = None

    def of(self, size: Size) -> Size:
        return replace(size, **{name: value for name, value in asdict(self).items() if value is not None})


@dataclass(frozen=True, slots=True)
class SleepPolicy:
    """When a sandbox sleeps by itself. The default never does: it runs until told otherwise."""

    timeout_s: float | None = None  # E2B's: at the deadline, do `on_timeout`
    on_timeout: OnTimeout = OnTimeout.PAUSE
    idle_s: float | None = None  # Roost's: sleep after so long without traffic, holds or CPU use
    idle_cpu_share: float = 0.05  # of one core; below it the guest counts as idle
    wake_on_traffic: bool = True
    keep_memory: bool = True  # whether sleeping by itself keeps the memory


@dataclass(frozen=True, slots=True)
class Ingress:
    """Who may reach its ports from outside, and what the services there see. The agent's port is not meant: its own token
    guards it."""

    public: bool = True
    token: str | None = field(default=None, repr=False)  # what a request brings when not public; stays the same over sleep
    mask_host: str | None = None  # the Host that services see; `${PORT}` stands for their port
    https_ports: tuple[int, ...] = ()  # services that speak TLS; their certificates are not checked


PUBLIC = Ingress()


@dataclass(frozen=True, slots=True)
class Operation:
    """The move under way. Written before work leaves the process, so that it can be finished after a crash."""

    action: Action
    started_at: float
    deadline_at: float
    snapshot: SnapshotId | None = None  # pause, snapshot, kill: the one being made. resume: the one being resumed
    keep_memory: bool = True  # pause, snapshot: with memory. create, resume: from memory (False: cold boot)
    why: str = "api"  # who wanted it: told in the event
    name: str | None = None  # snapshot: what its caller calls it
    for_fork: bool = False  # snapshot: made to create children, dropped afterwards


@dataclass(frozen=True, slots=True)
class Hold:
    """Somebody wants the sandbox awake until then."""

    until: float
    reason: str


@dataclass(frozen=True, slots=True)
class Driver:
    """The person at the keyboard. As long as there is one, the agent's own input is refused."""

    link: LinkId  # by which they came
    who: str
    since: float


@dataclass(frozen=True, slots=True)
class Sandbox:
    id: SandboxId
    team: TeamId
    name: str | None
    template: str  # the template's name, or the snapshot's id it was made from
    origin: SnapshotId  # the snapshot it is a clone of
    node: NodeId
    state: State
    incarnation: int  # counts the processes that stood behind it; 0 before the first
    size: Size
    access_token: str = field(repr=False)  # the agent's; stays the same over sleep
    created_at: float
    started_at: float  # of this incarnation
    changed_at: float  # of `state`
    parent: SandboxId | None = None  # forked from
    operation: Operation | None = None
    snapshot: SnapshotId | None = None  # the newest: where resume and rewind lead
    metadata: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    policy: SleepPolicy = SleepPolicy()
    expires_at: float | None = None  # the deadline of policy.timeout_s
    hold: Hold | None = None
    driver: Driver | None = None  # None: the agent drives. Written by control.drivers alone
    egress: Egress = OPEN  # what it may reach
    ingress: Ingress = PUBLIC  # who may reach it
    user: str = "user"  # whom commands run as unless they say otherwise
    workdir: str = "/home/user"
    has_desktop: bool = False
    reason: str | None = None  # why it died, or was rewound
    trash: SnapshotId | None = None  # dead: what it can come back from
    undelete_until: float | None = None  # dead: for how long
    endpoint: str | None = None  # where this incarnation answers, in words of its node: only an edge of that node reads them
    lost: int = 0  # the newest incarnation whose process was lost: connections to it, or to an earlier one, lead nowhere
    token_holders: tuple[KeyId, ...] | None = None  # keys that were given its tokens; None: nobody knows, as of an older Roost
    token_pending: bool = False  # its access token was changed, and a guest that runs may not know the new one yet
    revision: int = 0
