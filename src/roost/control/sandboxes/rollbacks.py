"""Takes a sandbox back to one of its own snapshots. Nothing is lost: the moment it leaves is kept in a snapshot too.

It sleeps (the moment left behind) → what it sleeps in becomes another snapshot (one transaction, with the event) → it wakes.
A server that dies before the transaction leaves a sandbox that sleeps where it was; after it, one that sleeps where it was to go.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from roost.contracts.clock import Clock
from roost.contracts.cluster import Cluster
from roost.contracts.store import Query, Store, Transaction
from roost.control.lifecycle.flights import Flights
from roost.control.lifecycle.moves import Intent, Moves
from roost.control.people.hands import Why, leave
from roost.control.sandboxes.references import find_sandbox, find_snapshot
from roost.domain.access import Principal, Verb
from roost.domain.errors import Conflict, Invalid, MoveOvertaken, RoostError, SandboxDead, SnapshotNotFound
from roost.domain.events import Event, EventKind
from roost.domain.ids import SandboxId, SnapshotId, TeamId
from roost.domain.lifecycle import LIVING, Action, State
from roost.domain.node import KillOrder
from roost.domain.sandbox import Sandbox
from roost.domain.snapshot import Purpose, Snapshot
from roost.telemetry.log import get_logger

TRIES = 3
"""How often it is put to sleep again when somebody wakes it before it could be turned."""

log = get_logger(__name__)


class Rollbacks:
    def __init__(self, *, store: Store, cluster: Cluster, clock: Clock, moves: Moves, flights: Flights) -> None:
        self._store = store
        self._cluster = cluster
        self._clock = clock
        self._moves = moves
        self._flights = flights

    async def roll_back(self, principal: Principal, ref: str, snapshot: str) -> Sandbox:
        """It runs on from that snapshot; where it was is kept in a snapshot named `before-rollback-…`. One without memory boots.
        Raises SandboxNotFound, SandboxDead, SnapshotNotFound, Invalid when the snapshot is not its own, Conflict when others keep
        waking it, or what sleeping and waking raise: the event says where it sleeps then."""
        sandbox, target = await self._prepare(principal, ref, snapshot)
        turned: Sandbox | None = None
        for _ in range(TRIES):
            asleep = await self._sleep(sandbox)
            if asleep is not None and (turned := await self._turn(asleep, target)):
                break
        if turned is None:
            raise Conflict(
                "kept_awake",
                f"Sandbox {sandbox} was woken {TRIES} times before it could be taken back to {target}. It runs where it was."
                " Switch waking on traffic off, or try again when nobody talks to it.",
                sandbox=sandbox,
                snapshot=target,
            )
        await self._clear(turned)
        return (await self._flights.ask(Intent(sandbox, Action.RESUME, why=f"rolled back to {target}"))).sandbox

    async def _prepare(self, principal: Principal, ref: str, snapshot: str) -> tuple[SandboxId, SnapshotId]:
        """Both exist and belong together. A snapshot that it once slept in is kept from now on: sleeping again would drop it."""
        async with self._store.transaction() as transaction:
            record = await find_sandbox(transaction, principal, ref, Verb.CHANGE)
            if record.state not in LIVING:
                raise SandboxDead(record.id, record.reason)
            target = await find_snapshot(transaction, principal, snapshot, Verb.CHANGE)
            if target.sandbox != record.id:
                raise Invalid(
                    "not_its_snapshot",
                    f"Snapshot {target.id} is not one of sandbox {record.id}. A sandbox goes back to its own only;"
                    f" `roost create --template {target.id}` makes a new one from it.",
                    sandbox=record.id,
                    snapshot=target.id,
                )
            if target.purpose is Purpose.SLEEP:
                await transaction.put(replace(target, purpose=Purpose.KEPT), expect_revision=target.revision)
        return record.id, target.id

    async def _sleep(self, sandbox: SandboxId) -> SandboxId | None:
        try:
            await self._flights.ask(Intent(sandbox, Action.PAUSE, why="it is rolled back"))
        except MoveOvertaken:
            return None
        return sandbox

    async def _turn(self, sandbox: SandboxId, target: SnapshotId) -> Sandbox | None:
        """What it sleeps in is the target from now on. None if it does not sleep any more."""
        async with self._store.transaction() as transaction:
            record, entry = await transaction.get(Sandbox, sandbox), await transaction.get(Snapshot, target)
            if record is None or record.state is not State.PAUSED or record.snapshot is None:
                return None
            if entry is None:
                raise SnapshotNotFound(target)
            if record.snapshot == target:
                return record
            left = await self._keep(transaction, record.snapshot)
            record = await leave(transaction, record, Why.ROLLED_BACK, self._clock.now())
            turned = await self._moves.point_at(transaction, record, target)
            facts = {"snapshot": target, "name": entry.name, "left": left.id, "left_name": left.name}
            await transaction.append(Event(EventKind.ROLLED_BACK, record.team, self._clock.now(), record.id, facts))
        return turned

    async def _keep(self, transaction: Transaction, left: SnapshotId) -> Snapshot:
        """The moment that is left behind stays, under a name that says what it is."""
        entry = await transaction.get(Snapshot, left)
        if entry is None:
            raise SnapshotNotFound(left)
        name = entry.name or await self._free_name(transaction, entry.team)
        return await transaction.put(replace(entry, purpose=Purpose.KEPT, name=name), expect_revision=entry.revision)

    async def _free_name(self, transaction: Transaction, team: TeamId) -> str:
        base = f"before-rollback-{datetime.fromtimestamp(self._clock.now(), UTC):%Y%m%d-%H%M%S}"
        name, number = base, 1
        while await transaction.find(Snapshot, Query(equal={"team": team, "name": name}, limit=1)):
            number += 1
            name = f"{base}-{number}"
        return name

    async def _clear(self, turned: Sandbox) -> None:
        """Whatever the node still has of the moment left behind is gone, its slot too: connections of a later time must break,
        not meet somebody who does not know them. Not done, it is no harm: the slot is used on."""
        try:
            await self._cluster.node(turned.node).kill(KillOrder(turned.id, turned.incarnation))
        except RoostError as error:
            log.warning("a slot of a later time is used on", sandbox=turned.id, error=str(error))
