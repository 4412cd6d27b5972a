"""Where records live. One SQL database; records are the domain's own dataclasses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from roost.domain.builds import Build, BuildLog, BuildPlan, Layer, Upload
from roost.domain.events import Event, EventKind
from roost.domain.ids import SandboxId, TeamId
from roost.domain.link import Link
from roost.domain.question import Picture, Question
from roost.domain.sandbox import Sandbox
from roost.domain.snapshot import Snapshot
from roost.domain.team import ApiKey
from roost.domain.template import Template


@dataclass(frozen=True, slots=True)
class Idempotency:
    """A create that was asked for under a key: asking again gets the same sandbox."""

    id: str  # "<team>/<key>"
    digest: str  # of the request
    sandbox: SandboxId
    created_at: float
    revision: int = 0


Record = (
    Sandbox | Snapshot | Template | ApiKey | Idempotency | Link | Question | Picture
    | Build | BuildPlan | BuildLog | Layer | Upload
)  # fmt: skip
R = TypeVar(
    "R", Sandbox, Snapshot, Template, ApiKey, Idempotency, Link, Question, Picture, Build, BuildPlan, BuildLog, Layer, Upload
)

Followed = Sandbox | Snapshot | Template | ApiKey | Link | Question | Event
FOLLOWED: tuple[type[Followed], ...] = (Sandbox, Snapshot, Template, ApiKey, Link, Question, Event)
"""What the feed of changes tells of. An `Idempotency` or a `Picture` changes nothing that anybody follows, and who follows a
build follows its log."""


@dataclass(frozen=True, slots=True)
class Change:
    """One record as a transaction left it, or one event that it appended."""

    sequence: int  # events carry the same number
    kind: type[Followed]
    id: str
    record: Followed | None  # None: deleted


Listener = Callable[[Sequence[Change]], None]


@dataclass(frozen=True, slots=True)
class Query:
    """Conditions are ANDed. Fields are the record's own, indexed by the driver where they are asked for often.

    Order is `(created_at, id)`, newest first unless `oldest_first`; `after` is the `(created_at, id)` of the last row of the
    page before, so that paging is stable while rows come and go.
    """

    equal: Mapping[str, Any] = field(default_factory=dict)  # None matches null
    one_of: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)  # sandboxes: every pair must be there
    created_from: float | None = None
    due_before: float | None = None  # sandboxes: expires_at at or before, in a state that can expire
    after: tuple[float, str] | None = None
    oldest_first: bool = False
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class EventQuery:
    team: TeamId | None = None
    sandbox: SandboxId | None = None
    kinds: tuple[EventKind, ...] = ()
    after: int = 0  # sequence
    before: int | None = None
    newest_first: bool = False
    limit: int = 100

    def wants(self, event: Event) -> bool:
        return (
            event.sequence > self.after
            and (self.before is None or event.sequence < self.before)
            and (self.team is None or event.team == self.team)
            and (self.sandbox is None or event.sandbox == self.sandbox)
            and (not self.kinds or event.kind in self.kinds)
        )


class Reader(Protocol):
    """The records as they were at one moment."""

    async def get(self, kind: type[R], id: str) -> R | None:
        """The record, or None."""
        ...

    async def find(self, kind: type[R], query: Query) -> list[R]:
        """The records that match, in the query's order. Cost follows the answer, not the table."""
        ...


class Transaction(Reader, Protocol):
    """One unit of change: all of it or none. Serialisable; a reader inside sees its own writes."""

    async def put(self, record: R, *, expect_revision: int | None) -> R:
        """Writes the record and returns it with its new revision (old + 1). `expect_revision=None` means it must not exist yet.
        Raises StaleRevision when the stored revision differs (or the record exists, or is gone)."""
        ...

    async def delete(self, kind: type[R], id: str) -> bool:
        """Gone afterwards. True if it was there. May be called twice."""
        ...

    async def append(self, event: Event) -> Event:
        """Adds an event and returns it with its sequence. Subscribers see it only after the commit."""
        ...


class Store(Protocol):
    def reading(self) -> AbstractAsyncContextManager[Reader]:
        """Sees whatever was committed before it began, all of it as durable as it was to be. Waits for no writer."""
        ...

    def transaction(self, *, durable: bool = True) -> AbstractAsyncContextManager[Transaction]:
        """Commits when the block ends, rolls back when it raises. After a commit returned, a crash of process or machine keeps
        it; one that is not `durable` may be undone by a crash of the machine, until the next that is. Raises Unavailable when
        the database cannot be written (full disk, locked for longer than the busy timeout)."""
        ...

    async def events(self, query: EventQuery) -> list[Event]:
        """Committed events in order of sequence (or reversed)."""
        ...

    async def changes(self, after: int, *, wait: bool = False, limit: int = 100) -> list[Change]:
        """What was committed after the change with that sequence, whichever process did it: in order of commit, without gaps; of
        a record that one transaction wrote twice, the last version. With `wait` it returns once there is one. Raises Gone when
        `after` is too old to be followed without a gap: read the records anew, from `last_change` on."""
        ...

    async def last_change(self) -> int:
        """The sequence of the newest change; 0 before the first. Records that are read afterwards are at least that new."""
        ...

    def subscribe(self, listener: Listener) -> None:
        """Every commit from now on is told to the listener, in order, before the transaction's block is left: whoever committed
        finds that all listeners know. A listener must not block or raise. Commits of other processes are told at the next one
        of this process; who needs them sooner follows `changes`."""
        ...

    async def forget_events(self, before: float) -> None:
        """Drops events that happened before that. Sequences go on where they were."""
        ...

    async def forget_changes(self, keep: int) -> None:
        """Drops all changes but the newest `keep`, at least one: who follows from there misses nothing."""
        ...

    async def migrate(self) -> None:
        """The schema is the newest afterwards. May be called twice; from any earlier version. Raises Fault when the database is
        from a newer Roost."""
        ...

    async def close(self) -> None:
        """Releases connections. May be called twice."""
        ...
