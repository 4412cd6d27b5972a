"""A whole Roost in one process: control on a node in memory, with a clock that moves when told to.

`Ground` is what outlives a server (disk, database, time); `serving` runs a server on it. Leaving the block stops it in an orderly
way; with a crash point it dies there, and the next `serving` on the same ground finds what it left.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, fields
from typing import Any

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup

from roost.contracts.ledger import Traffic
from roost.contracts.store import EventQuery, Query
from roost.control.compose import Control, Dependencies, compose
from roost.control.fleet.reported_ledger import ReportedLedger
from roost.control.sandboxes.requests import CreateSandbox
from roost.domain import access
from roost.domain.access import FULL, Principal
from roost.domain.events import Event, EventKind
from roost.domain.ids import KeyId, LinkId, SandboxId, TeamId
from roost.domain.lifecycle import ASLEEP, LIVING, MOVING, State
from roost.domain.sandbox import Sandbox, Size
from roost.domain.snapshot import Snapshot
from roost.domain.team import DEFAULT_TEAM, ApiKey
from roost.domain.template import Recipe, TemplateCommand
from roost.drivers.store.connections import READERS
from roost.drivers.store.sql import SqlStore
from roost.testing.builds import FakeBuilds
from roost.testing.clock import ManualClock
from roost.testing.cluster import FakeCluster, FakeSnapshots
from roost.testing.faults import CrashPoint, FrailNode, FrailSnapshots, FrailStore, ServerDied
from roost.testing.node import FakeGuest, FakeNode
from roost.testing.store import MemoryStore

TEAM = DEFAULT_TEAM
ME = Principal(TEAM, FULL, KeyId("kme"), "me")
OPERATOR = Principal(TEAM, access.OPERATOR, None, "operator")
STRANGER = Principal(TeamId("strangers"), FULL, KeyId("keve"), "eve")
BASE = Recipe(
    name="base",
    digest="d1",
    size=Size(),
    run=(TemplateCommand("apt-get install -y git"),),
    start=TemplateCommand("serve"),
    ready=TemplateCommand("curl -f :80"),
)
PATIENCE_S = 180.0
"""A test that waits for what never comes fails, rather than hang."""


class ScriptedLedger:
    def __init__(self) -> None:
        self.seen: dict[SandboxId, Traffic] = {}
        self.watched: dict[LinkId, float] = {}
        self.known_since: float | None = 0.0

    def traffic(self, sandbox: SandboxId) -> Traffic:
        return self.seen.get(sandbox, Traffic())

    def watched_at(self, sandbox: SandboxId, link: LinkId) -> float | None:
        return self.watched.get(link)

    def forget(self, sandbox: SandboxId) -> None:
        self.seen.pop(sandbox, None)


@dataclass
class Ground:
    """What a dying server leaves."""

    store: MemoryStore | SqlStore
    clock: ManualClock = field(default_factory=ManualClock)
    rng: random.Random = field(default_factory=lambda: random.Random(7))
    ledger: ScriptedLedger = field(default_factory=ScriptedLedger)
    reported: ReportedLedger | None = None  # where the edge is another process
    node: FakeNode = field(init=False)
    builds: FakeBuilds = field(init=False)
    images: FakeSnapshots = field(init=False)

    def __post_init__(self) -> None:
        self.node = FakeNode(clock=self.clock, dozers=1)
        self.builds = FakeBuilds(self.node)
        self.images = FakeSnapshots(self.node)

    async def introduce(self) -> None:
        """The keys of those who ask are there."""
        async with self.store.transaction() as transaction:
            for who in (ME, STRANGER):
                if who.key is not None and await transaction.get(ApiKey, who.key) is None:
                    key = ApiKey(who.key, who.team, who.name, f"digest of {who.name}", "0000", 0.0, who.scope)
                    await transaction.put(key, expect_revision=None)

    async def record(self, sandbox: str) -> Sandbox:
        async with self.store.transaction() as transaction:
            record = await transaction.get(Sandbox, sandbox)
        assert record is not None
        return record

    async def records(self) -> list[Sandbox]:
        async with self.store.transaction() as transaction:
            return await transaction.find(Sandbox, Query())

    async def snapshots(self) -> list[Snapshot]:
        async with self.store.transaction() as transaction:
            return await transaction.find(Snapshot, Query())

    async def events(self, *kinds: EventKind, sandbox: SandboxId | None = None) -> list[Event]:
        return await self.store.events(EventQuery(kinds=kinds, sandbox=sandbox, limit=10_000))

    async def readers_done(self) -> None:
        """Whoever was reading beside the writers has read: all their seats were free at once."""
        async with AsyncExitStack() as seats:
            for _ in range(READERS):
                await seats.enter_async_context(self.store.reading())

    async def until(self, holds: Callable[[], Awaitable[bool]]) -> None:
        """Lets the others run until it holds. Fails after a while."""
        with anyio.fail_after(PATIENCE_S):
            while not await holds():
                await anyio.lowlevel.checkpoint()

    async def until_state(self, sandbox: SandboxId, *states: State) -> Sandbox:
        async def reached() -> bool:
            return (await self.record(sandbox)).state in states

        await self.until(reached)
        return await self.record(sandbox)

    async def check_invariants(self) -> None:
        """True at rest, whatever happened before."""
        entries = {entry.id for entry in await self.snapshots()}
        living: set[SandboxId] = set()
        for record in await self.records():
            assert record.state not in MOVING, f"{record.id} is still {record.state}"
            assert record.operation is None
            if record.state in ASLEEP:
                assert record.snapshot is not None
            if record.snapshot is not None:
                assert record.snapshot in entries, "the record names a snapshot that has no entry"
            guest = self.node.guests.get(record.id)
            if record.state is State.RUNNING:
                assert guest is not None and guest.alive and not guest.frozen
                assert guest.incarnation == record.incarnation
            else:
                dozes = guest is not None and guest.dozing and record.state in ASLEEP
                assert guest is None or dozes, f"{record.id} is {record.state} and a process stands behind it"
            if record.state in LIVING:
                living.add(record.id)
        assert self.node.guests.keys() <= living, "an orphan runs"
        assert not self.node.roots, "a disk was left behind"
        assert set(self.node.images) == entries, "entries and images differ"


@dataclass(frozen=True, slots=True, kw_only=True)
class Roost(Control):
    ground: Ground
    group: TaskGroup

    async def sandbox(self, **request: Any) -> Sandbox:
        return await self.sandboxes.create(ME, CreateSandbox(**request))

    def guest(self, sandbox: Sandbox) -> FakeGuest:
        return self.ground.node.guests[sandbox.id]

    async def quiet(self) -> None:
        """Everybody has had many turns, at the loop and at the database, which serves writers one after the other and was seen
        without readers again and again: whatever time passing set off has run its course."""
        for _ in range(5):
            for _ in range(8):
                for _ in range(5):
                    await anyio.lowlevel.checkpoint()
                await self.ground.records()
            await self.ground.readers_done()
        await self.flights.drain()

    async def build_base(self) -> None:
        await self.templates.build(BASE)


def assemble(ground: Ground, group: TaskGroup, point: CrashPoint) -> Roost:
    """The server's own composition, on a node in memory."""
    control = compose(
        Dependencies(
            store=FrailStore(ground.store, point),
            usage=ground.store,
            cluster=FakeCluster(
                FrailNode(ground.node, point),
                ids=[ground.node.id],
                snapshots=[FrailSnapshots(ground.images, point)],
                builds=[ground.builds],
            ),
            ledger=ground.reported or ground.ledger,
            clock=ground.clock,
            random=ground.rng,
            reports=ground.reported,
        )
    )
    return Roost(ground=ground, group=group, **{noun.name: getattr(control, noun.name) for noun in fields(Control)})


@asynccontextmanager
async def serving(ground: Ground) -> AsyncIterator[Roost]:
    """A server on the ground, recovered and keeping; stopped in an orderly way at the end of the block."""
    ground.node.restart()
    async with anyio.create_task_group() as group:
        roost = assemble(ground, group, CrashPoint("never"))
        await group.start(roost.flights.run)
        await group.start(roost.keeper.run)
        await group.start(roost.build_queue.run)
        try:
            with anyio.fail_after(PATIENCE_S):
                yield roost
        finally:
            group.cancel_scope.cancel()
            ground.node.open_gates()


async def dies_at(ground: Ground, point: str, act: Callable[[Roost], Awaitable[object]]) -> None:
    """Runs a server that dies at the point while it does what is asked. Fails if it never comes there."""
    ground.node.restart()
    crash = CrashPoint(point, on_crash=ground.node.die)
    try:
        async with anyio.create_task_group() as group:
            roost = assemble(ground, group, crash)
            await group.start(roost.flights.run)
            await roost.keeper.recover()
            with anyio.fail_after(PATIENCE_S):
                await act(roost)
                await roost.flights.drain()
            group.cancel_scope.cancel()
    except BaseExceptionGroup as error:
        if not error.subgroup(ServerDied):
            raise
    except ServerDied:
        pass
    assert crash.was_hit, f"the server never came to {point!r}"
