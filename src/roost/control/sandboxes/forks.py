"""Forks: one snapshot and n creates. The source is never in a state of its own for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from roost.contracts.clock import Clock
from roost.contracts.cluster import Cluster
from roost.contracts.store import Store, Transaction
from roost.control.access.tokens import holders
from roost.control.fleet.nodes import Nodes
from roost.control.lifecycle.endings import is_being_cloned
from roost.control.lifecycle.flight import Flight
from roost.control.lifecycle.flights import Flights
from roost.control.lifecycle.moves import Intent, NewSandbox
from roost.control.sandboxes.checks import check_fork_count, check_name
from roost.control.sandboxes.references import check_key, find_sandbox, source_of
from roost.domain import ids
from roost.domain.access import Principal, Verb
from roost.domain.errors import Invalid, RoostError, SnapshotNotFound
from roost.domain.events import Event, EventKind
from roost.domain.ids import SnapshotId
from roost.domain.lifecycle import Action
from roost.domain.sandbox import Sandbox
from roost.domain.snapshot import Purpose, Snapshot
from roost.telemetry.log import get_logger

log = get_logger(__name__)


class Forks:
    def __init__(
        self, *, store: Store, cluster: Cluster, clock: Clock, random: ids.Random, flights: Flights, nodes: Nodes
    ) -> None:
        self._store = store
        self._cluster = cluster
        self._clock = clock
        self._random = random
        self._flights = flights
        self._nodes = nodes
        self._sharing: Counter[SnapshotId] = Counter()

    async def fork(self, principal: Principal, ref: str, count: int, *, names: Sequence[str] = ()) -> list[Sandbox | RoostError]:
        """Children that run on from the same moment, each with an identity of its own; for each that could not be made its error.
        Raises Invalid, NameTaken, SandboxNotFound, SandboxDead, NodeFull, or what taking the snapshot raises: then no child was
        begun."""
        check_fork_count(count)
        _check_names(names, count)
        async with self._store.reading() as reader:
            parent = await find_sandbox(reader, principal, ref, Verb.MAKE)
        node = await self._nodes.place(parent.node)
        outcome = await self._flights.ask(Intent(parent.id, Action.SNAPSHOT, why="fork", for_fork=True))
        if outcome.snapshot is None:
            raise SnapshotNotFound(outcome.sandbox.snapshot or parent.id)
        snapshot = outcome.snapshot
        self._sharing[snapshot.id] += 1  # two forks that met share one snapshot: the last of them drops it
        try:
            flights = await self._begin(principal, replace(parent, node=node), snapshot, count, names)
            return [await _result(flight) for flight in flights]
        finally:
            self._sharing[snapshot.id] -= 1
            if not self._sharing[snapshot.id]:
                del self._sharing[snapshot.id]
                await self._drop(snapshot)

    async def _begin(
        self, principal: Principal, parent: Sandbox, snapshot: Snapshot, count: int, names: Sequence[str]
    ) -> list[Flight]:
        """All children are written in one transaction with the look at the snapshot: none can lose it before it is cloned."""

        async def prepare(transaction: Transaction) -> Sequence[NewSandbox]:
            entry = await transaction.get(Snapshot, snapshot.id)
            if entry is None:
                raise SnapshotNotFound(snapshot.id)
            await check_key(transaction, principal)
            children = [self._child(principal, parent, entry, names[i] if i < len(names) else None) for i in range(count)]
            facts = {"count": count, "snapshot": entry.id, "children": ", ".join(child.id for child in children)}
            event = Event(EventKind.FORKED, parent.team, self._clock.now(), parent.id, facts)
            await transaction.append(event)
            return [NewSandbox(child, cold=source_of(entry).cold, why="fork") for child in children]

        return await self._flights.create(prepare)

    def _child(self, principal: Principal, parent: Sandbox, snapshot: Snapshot, name: str | None) -> Sandbox:
        return replace(
            parent,
            id=ids.new_sandbox_id(self._random),
            name=name,
            origin=snapshot.id,
            access_token=ids.new_token(self._random),
            ingress=parent.ingress if parent.ingress.public else replace(parent.ingress, token=ids.new_token(self._random)),
            parent=parent.id,
            snapshot=None,
            expires_at=None,
            hold=None,
            driver=None,
            reason=None,
            token_holders=holders(principal),
            revision=0,
        )

    async def _drop(self, snapshot: Snapshot) -> None:
        """The children are clones now. If this is not reached, the keeper collects it."""
        async with self._store.transaction() as transaction:
            entry = await transaction.get(Snapshot, snapshot.id)
            if entry is None or entry.purpose is not Purpose.FORK or await is_being_cloned(transaction, entry.id):
                return
            await transaction.delete(Snapshot, entry.id)
        try:
            await self._cluster.snapshots(snapshot.node).delete_snapshot(snapshot.id)
        except RoostError as error:
            log.warning("images stay for the keeper to drop", snapshot=snapshot.id, error=str(error))


async def _result(flight: Flight) -> Sandbox | RoostError:
    try:
        return (await flight.result()).sandbox
    except RoostError as error:
        return error


def _check_names(names: Sequence[str], count: int) -> None:
    if len(names) > count:
        raise Invalid("names_invalid", f"There are {len(names)} names for {count} forks. Leave some out.", count=count)
    for name in names:
        check_name(name)
    if len(set(names)) < len(names):
        raise Invalid("names_invalid", "Two forks cannot have the same name. Give each its own.", names=list(names))
