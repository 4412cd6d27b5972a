"""Brings dead sandboxes back: as a new one, made of what was kept. Dead stays dead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from roost.contracts.clock import Clock
from roost.contracts.store import Query, Reader, Store, Transaction
from roost.control.access.tokens import holders
from roost.control.fleet.nodes import Nodes
from roost.control.lifecycle.endings import is_being_cloned
from roost.control.lifecycle.flights import Flights
from roost.control.lifecycle.moves import NewSandbox
from roost.control.sandboxes.references import check_key, find_sandbox
from roost.control.sandboxes.trash import Trash
from roost.domain import ids
from roost.domain.access import Principal, Thing, Verb, require, within
from roost.domain.errors import Conflict, NotDead, NothingKept, SandboxNotFound
from roost.domain.events import Event, EventKind
from roost.domain.ids import TeamId, is_id, is_name
from roost.domain.lifecycle import LIVING, State
from roost.domain.sandbox import Sandbox
from roost.domain.snapshot import Snapshot, SnapshotKind


class Undeletes:
    def __init__(self, *, store: Store, clock: Clock, random: ids.Random, flights: Flights, nodes: Nodes, trash: Trash) -> None:
        self._store = store
        self._clock = clock
        self._random = random
        self._flights = flights
        self._nodes = nodes
        self._trash = trash

    async def undelete(self, principal: Principal, ref: str) -> Sandbox:
        """A new sandbox that goes on from what was kept of the dead one: with its memory if it was killed in its sleep, else
        booted from its disk. It has the same name, if that is free, and the same metadata, policy, environment and network.
        Raises SandboxNotFound, NotDead, NothingKept, Conflict, NodeFull, or what the node raises; then what was kept is still
        there."""
        team = principal.team
        found: list[tuple[Sandbox, Snapshot]] = []

        async with self._store.reading() as reader:
            _, kept = await self._find(reader, principal, ref)
        node = await self._nodes.place(kept.node)

        async def prepare(transaction: Transaction) -> Sequence[NewSandbox]:
            await check_key(transaction, principal)
            dead, entry = await self._find(transaction, principal, ref)
            found.append((dead, entry))
            name = dead.name if await _is_free(transaction, team, dead.name) else None
            draft = replace(self._draft(principal, dead, entry, name), node=node)
            return (NewSandbox(draft, cold=entry.kind is SnapshotKind.DISK, why="undelete"),)

        (flight,) = await self._flights.create(prepare)
        sandbox = (await flight.result()).sandbox
        dead, entry = found[0]
        async with self._store.transaction() as transaction:
            facts = {"from": dead.id, "snapshot": entry.id, "memory": entry.kind is SnapshotKind.MEMORY, "name": sandbox.name}
            await transaction.append(Event(EventKind.UNDELETED, team, self._clock.now(), sandbox.id, facts))
        await self._trash.drop(dead.id, f"it lives on in {sandbox.id}")
        return sandbox

    async def _find(self, transaction: Reader, principal: Principal, ref: str) -> tuple[Sandbox, Snapshot]:
        dead = await _newest_dead(transaction, principal, ref) or await find_sandbox(transaction, principal, ref, Verb.MAKE)
        if dead.state in LIVING:
            raise NotDead(dead.id, dead.state)
        entry = await transaction.get(Snapshot, dead.trash) if dead.trash else None
        if entry is None or (dead.undelete_until or 0.0) <= self._clock.now():
            raise NothingKept(dead.id)
        if await is_being_cloned(transaction, entry.id):
            raise Conflict(
                "undelete_under_way", f"Sandbox {dead.id} is coming back right now. `roost ls` shows it.", sandbox=dead.id
            )
        return dead, entry

    def _draft(self, principal: Principal, dead: Sandbox, entry: Snapshot, name: str | None) -> Sandbox:
        ingress = dead.ingress
        return replace(
            dead,
            id=ids.new_sandbox_id(self._random),
            name=name,
            origin=entry.id,
            node=entry.node,
            access_token=ids.new_token(self._random),
            ingress=ingress if ingress.public else replace(ingress, token=ids.new_token(self._random)),
            snapshot=None,
            expires_at=None,
            hold=None,
            driver=None,
            reason=None,
            trash=None,
            undelete_until=None,
            token_holders=holders(principal),
            revision=0,
        )


async def _newest_dead(transaction: Reader, principal: Principal, ref: str) -> Sandbox | None:
    """The one of that name that died last and can come back. An id is none of its business."""
    if is_id(ref) or not is_name(ref):
        return None
    query = Query(equal=within(principal, "id") | {"name": ref, "state": State.DEAD})
    named = await transaction.find(Sandbox, query)
    for record in named:
        require(principal, Verb.MAKE, Thing(record.team, record.id), SandboxNotFound(ref))
    return max((record for record in named if record.trash), key=lambda record: record.changed_at, default=None)


async def _is_free(transaction: Transaction, team: TeamId, name: str | None) -> bool:
    if name is None:
        return True
    query = Query(equal={"team": team, "name": name}, one_of={"state": sorted(LIVING)}, limit=1)
    return not await transaction.find(Sandbox, query)
