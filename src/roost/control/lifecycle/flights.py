"""Flights: who asks for a move, who shares it, who waits, who overtakes. One flight per sandbox in this process.

A flight belongs to the server, not to the request that asked: when the caller goes away the move still ends as it should.
Locks: a sandbox's lock first, then the store's transaction; never the other way round. Node work holds neither, but for
the look at what a lost sandbox left.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, assert_never
from weakref import WeakValueDictionary

import anyio
from anyio.abc import TaskGroup, TaskStatus

from roost.contracts.clock import Clock
from roost.contracts.cluster import Cluster
from roost.contracts.store import Store, Transaction
from roost.control.lifecycle.deadline import run_until
from roost.control.lifecycle.endings import Leftovers
from roost.control.lifecycle.flight import Flight, FlightOutcome
from roost.control.lifecycle.moves import Ended, Intent, Moves, NewSandbox, Salvage
from roost.control.lifecycle.orders import carry_out
from roost.control.sandboxes.trash import Trash
from roost.domain.errors import (
    Fault,
    Gone,
    MoveTimedOut,
    NodeFull,
    NotFound,
    RoostError,
    SandboxDead,
    SandboxLost,
    SandboxNotFound,
    Unavailable,
    WrongState,
)
from roost.domain.ids import NodeId, SandboxId
from roost.domain.lifecycle import LIVING, MOVING, Action, Verdict, verdict
from roost.domain.node import Captured, Placed
from roost.domain.sandbox import Operation, Sandbox
from roost.domain.snapshot import Snapshot
from roost.telemetry.log import get_logger
from roost.telemetry.operation import operation

log = get_logger(__name__)

_HARMLESS = frozenset({Action.PAUSE, Action.SNAPSHOT, Action.RESUME})
"""Moves that take nothing away before their end is written: that they began has to outlive this process, not the machine, with
which the running sandbox goes too, or the one that was just waking: it sleeps on. It saves a wait for the disk."""


@dataclass(frozen=True, slots=True)
class Share:
    """The flight that does what was asked for."""

    flight: Flight


@dataclass(frozen=True, slots=True)
class Await:
    """The flight that must end before the question can be asked again."""

    flight: Flight


class Flights:
    def __init__(self, *, store: Store, cluster: Cluster, clock: Clock, moves: Moves, trash: Trash) -> None:
        self._store = store
        self._cluster = cluster
        self._clock = clock
        self._moves = moves
        self._trash = trash
        self._flights: dict[SandboxId, Flight] = {}
        self._repeated: dict[SandboxId, Operation] = {}  # those of earlier servers, or overdue, that were ordered again here
        self._locks: WeakValueDictionary[SandboxId, anyio.Lock] = WeakValueDictionary()
        self._group: TaskGroup | None = None
        self._busy = 0
        self._quiet = anyio.Event()

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Holds the flights until cancelled. Those it still holds then are left to the next server, which repeats them."""
        async with anyio.create_task_group() as group:
            self._group = group
            try:
                task_status.started()
                await anyio.sleep_forever()
            finally:
                self._group = None

    async def drain(self) -> None:
        """Returns when nothing is under way, sweeping included."""
        while self._busy:
            await self._quiet.wait()

    # Asking

    async def create(self, prepare: Callable[[Transaction], Awaitable[Sequence[NewSandbox]]]) -> list[Flight]:
        """Begins the births that `prepare` returns, in one transaction with whatever it reads and writes itself.
        Raises what it raises, and NameTaken; then nothing was begun."""
        self._require_running()
        async with _undisturbed(), self._store.transaction() as transaction:
            created = [await self._moves.add(transaction, new) for new in await prepare(transaction)]
        return [self._launch(record) for record in created]

    async def ask(self, intent: Intent) -> FlightOutcome:
        """Does what is wanted, or shares it when it is under way already. Raises SandboxNotFound, SandboxDead, WrongState,
        MoveTimedOut, MoveOvertaken, or what the node raises."""
        while True:
            self._require_running()
            async with _undisturbed(), self._lock(intent.sandbox):
                step = await self._decide(intent)
            match step:
                case FlightOutcome():
                    return step
                case Share(flight):
                    return await flight.result()
                case Await(flight):
                    await flight.ended()
                case _:
                    assert_never(step)

    def ask_behind(self, intent: Intent, *, then: Callable[[], Awaitable[None]]) -> None:
        """Asks without making anybody wait; `then` follows once it is done, or can never be: the sandbox is gone. What fails
        otherwise is told in the log."""
        self._start(self._ask_behind, intent, then)

    async def _ask_behind(self, intent: Intent, then: Callable[[], Awaitable[None]]) -> None:
        try:
            try:
                await self.ask(intent)
            except (NotFound, Gone):
                log.info("nothing to do any more", action=intent.action.value, sandbox=intent.sandbox)
            await then()
        except RoostError as error:
            log.warning(
                "a move that nobody waits for failed", action=intent.action.value, sandbox=intent.sandbox, error=str(error)
            )

    async def settle(self, sandbox: SandboxId) -> Sandbox:
        """Waits for the move that is under way, if one is, and returns the record. Raises the move's error."""
        self._require_running()
        async with _undisturbed(), self._lock(sandbox):
            record = await self._read(sandbox)
            flight = self._current(record) if record.state in MOVING else None
        return (await flight.result()).sandbox if flight else record

    async def repeat(self, sandbox: SandboxId) -> None:
        """Gives the order of the operation in the record again, if nobody in this process is about it. One that was tried for
        long enough ends as failed; a kill never does. Returns without waiting for its end."""
        self._require_running()
        async with _undisturbed(), self._lock(sandbox):
            record = await self._read(sandbox)
            if record.operation is None or sandbox in self._flights:
                return
            limit_s = self._moves.limits.of(record.operation.action, record.size)
            tried_for_s = self._clock.now() - record.operation.started_at
            # However long ago it began: a server that was down for long has not tried it once, and the node may have done it all.
            is_new_here = self._repeated.get(sandbox) != record.operation
            if record.operation.action is Action.KILL or is_new_here or tried_for_s < limit_s * self._moves.limits.tries:
                self._repeated[sandbox] = record.operation
                self._launch(record)
                return
            self._repeated.pop(sandbox, None)
            error = MoveTimedOut(sandbox, record.operation.action, tried_for_s)
            self._publish(record.node, await self._moves.fail(record, error, lost=False, salvage=Salvage()))

    async def process_ended(self, sandbox: SandboxId, incarnation: int, fact: Action, detail: str) -> None:
        """A process ended (exit) or was found missing (lose). News about an older incarnation is ignored. May be told twice."""
        self._require_running()
        async with _undisturbed(), self._lock(sandbox):
            record = await self._read(sandbox)
            salvage = await self._salvage(record) if fact is Action.LOSE else Salvage()
            ended = await self._moves.process_ended(sandbox, incarnation, fact, detail, salvage)
            self._publish(record.node, ended)

    async def _decide(self, intent: Intent) -> FlightOutcome | Share | Await:
        async with self._store.transaction(durable=intent.action not in _HARMLESS) as transaction:
            record = await transaction.get(Sandbox, intent.sandbox)
            if record is None:
                raise SandboxNotFound(intent.sandbox)
            match verdict(record.state, intent.action):
                case Verdict.GO:
                    begun = await self._moves.begin(transaction, record, intent)
                case Verdict.JOIN if gives_less(record.operation, intent):
                    return Await(self._current(record))
                case Verdict.JOIN:
                    return Share(self._current(record))
                case Verdict.WAIT:
                    flight = self._current(record)
                    if flight.gives_way_to(intent.action):
                        flight.overtake(intent.action)
                    return Await(flight)
                case Verdict.ALREADY:
                    entry = await transaction.get(Snapshot, record.snapshot) if record.snapshot else None
                    return FlightOutcome(record, snapshot=entry)
                case Verdict.REFUSE:
                    raise _refusal(record, intent.action)
                case Verdict.IGNORE | Verdict.DIE | Verdict.REWIND | Verdict.REPAUSE:
                    raise Fault("not_a_move", f"{intent.action} is a fact about a sandbox; it cannot be asked for.")
                case unknown:
                    assert_never(unknown)
        if earlier := self._flights.get(record.id):
            earlier.overtake(intent.action)
        return Share(self._launch(begun))

    # Flying

    def _current(self, record: Sandbox) -> Flight:
        """The flight of a moving sandbox. A move that an earlier server began, or whose time ran out, is taken up again."""
        return self._flights.get(record.id) or self._launch(record)

    def _launch(self, begun: Sandbox) -> Flight:
        """To be called once the record is committed, under the sandbox's lock or before anybody else can know of it."""
        flight = Flight(begun)
        self._flights[begun.id] = flight
        self._start(self._fly, flight)
        return flight

    async def _fly(self, flight: Flight) -> None:
        ended: Ended | None = None
        try:
            ended = await self._land(flight)
        except Exception as error:  # the outermost frame of the flight: whoever waits must learn of it
            log.warning("a move could not be ended", action=flight.action.value, sandbox=flight.sandbox, error=str(error))
            flight.fail(error if isinstance(error, RoostError) else _bug(flight, error))
        finally:
            flight.abandon()
            if self._flights.get(flight.sandbox) is flight:
                del self._flights[flight.sandbox]
        if ended is not None:
            self._repeated.pop(flight.sandbox, None)
            await self._sweep(flight.begun.node, ended.leftovers)

    async def _land(self, flight: Flight) -> Ended | None:
        limit_s = self._moves.limits.of(flight.action, flight.begun.size)
        result: tuple[Placed | Captured | None] | None = None
        error: RoostError | None = None
        try:
            async with operation(flight.action.value, sandbox=flight.sandbox, incarnation=flight.begun.incarnation) as span:
                result = await run_until(
                    self._clock,
                    self._clock.now() + limit_s,
                    lambda: self._carry_out(flight),
                    scope=flight.scope,
                    stop=flight.time_out,
                )
                if result is None:
                    span.note(timed_out=flight.timed_out, overtaken_by=flight.overtaken_by)
        except RoostError as raised:
            error = raised
        except Exception as raised:  # a broken node is a failed move, never a sandbox stuck between two states
            error = _bug(flight, raised)
        async with _undisturbed(), self._lock(flight.sandbox):
            if result is not None:
                return await self._succeed(flight, result[0])
            if error is not None or flight.overtaken_by is not None:
                return await self._fail(flight, error or flight.overtaken_error)
            flight.fail(MoveTimedOut(flight.sandbox, flight.action, limit_s))  # the keeper repeats it
            return None

    async def _carry_out(self, flight: Flight) -> Placed | Captured | None:
        """Gives the order. A node that is full loses what dead sandboxes left there, and is asked once more."""
        node = self._cluster.node(flight.begun.node)
        try:
            return await carry_out(node, flight.begun, flight.operation)
        except NodeFull as error:
            if not await self._trash.empty(flight.begun.node):
                raise
            log.warning("the node was full; what the dead left is gone", sandbox=flight.sandbox, error=error.message)
            return await carry_out(node, flight.begun, flight.operation)

    async def _succeed(self, flight: Flight, result: Placed | Captured | None) -> Ended | None:
        ended = await self._moves.finish(flight.begun, result)
        if ended is None:
            flight.fail(flight.overtaken_error)
            return await self._unwanted(flight, result)
        placed = result if isinstance(result, Placed) else None
        flight.land(FlightOutcome(ended.sandbox, placed, ended.snapshot))
        return ended

    async def _unwanted(self, flight: Flight, result: Placed | Captured | None) -> Ended | None:
        """A snapshot that was finished after its move had been overtaken belongs to nobody."""
        if not isinstance(result, Captured):
            return None
        async with self._store.reading() as reader:
            if await reader.get(Snapshot, result.snapshot) is not None:
                return None
        return Ended(flight.begun, leftovers=Leftovers(snapshots=(result.snapshot,)))

    async def _fail(self, flight: Flight, error: RoostError) -> Ended | None:
        lost = isinstance(error, SandboxLost)
        salvage = await self._salvage(flight.begun) if lost else Salvage()
        ended = await self._moves.fail(flight.begun, error, lost=lost, salvage=salvage)
        flight.fail(flight.overtaken_error if ended is None and flight.overtaken_by else error)
        if ended is not None and ended.sandbox.operation not in (None, flight.operation):
            self._launch(ended.sandbox)  # its disk survived: it boots again
        return ended

    # After the end

    def _publish(self, node: NodeId, ended: Ended | None) -> None:
        """An end that no flight brought about."""
        if ended is None:
            return
        if ended.sandbox.state in MOVING:
            self._launch(ended.sandbox)
        self._start(self._sweep, node, ended.leftovers)

    async def _sweep(self, node_id: NodeId, leftovers: Leftovers) -> None:
        """Not done, or done by half, it is found again by the keeper."""
        try:
            node = self._cluster.node(node_id)
            if leftovers.kill is not None:
                await node.kill(leftovers.kill)
            for snapshot in leftovers.snapshots:
                await self._cluster.snapshots(node_id).delete_snapshot(snapshot)
        except Exception as error:
            log.warning("leftovers stay for the keeper to sweep", node=node_id, error=str(error))

    async def _salvage(self, record: Sandbox) -> Salvage:
        """What is left of a sandbox whose process is gone. One that falls back to an older snapshot would lose what it wrote
        since: its disk is kept first, in a snapshot of its own."""
        node = self._cluster.node(record.node)
        if record.id not in (await node.report()).surviving_disks:
            return Salvage()
        if record.snapshot is None or verdict(record.state, Action.LOSE) is not Verdict.REWIND:
            return Salvage(disk_survives=True)
        try:
            return Salvage(disk_survives=True, kept=await node.snapshot(self._moves.salvage_order(record)))
        except RoostError as error:
            log.warning("the disk of a lost sandbox could not be kept", sandbox=record.id, error=error.message)
            return Salvage(disk_survives=True)

    async def _read(self, sandbox: SandboxId) -> Sandbox:
        async with self._store.reading() as reader:
            record = await reader.get(Sandbox, sandbox)
        if record is None:
            raise SandboxNotFound(sandbox)
        return record

    def _lock(self, sandbox: SandboxId) -> anyio.Lock:
        return self._locks.setdefault(sandbox, anyio.Lock())

    def _start(self, work: Callable[..., Awaitable[None]], *args: Any) -> None:
        self._busy += 1
        self._require_running().start_soon(self._counted, work, *args)

    async def _counted(self, work: Callable[..., Awaitable[None]], *args: Any) -> None:
        try:
            await work(*args)
        finally:
            self._busy -= 1
            if not self._busy:
                self._quiet.set()
                self._quiet = anyio.Event()

    def _require_running(self) -> TaskGroup:
        if self._group is None:
            raise Unavailable("server_stopping", "The server is stopping. Ask again when it is back.")
        return self._group


@asynccontextmanager
async def _undisturbed() -> AsyncIterator[None]:
    """Short work that is done to its end, also when its caller goes away."""
    with anyio.CancelScope(shield=True):
        yield


def gives_less(under_way: Operation | None, intent: Intent) -> bool:
    """Whether the move under way will leave out what is asked for: a snapshot without memory is none for a fork."""
    if under_way is None or under_way.action is not Action.SNAPSHOT:
        return False
    return intent.keep_memory and not under_way.keep_memory


def _refusal(record: Sandbox, action: Action) -> RoostError:
    if record.state in LIVING:
        return WrongState(record.id, record.state, action)
    return SandboxDead(record.id, record.reason)


def _bug(flight: Flight, error: Exception) -> Fault:
    return Fault(
        "move_broke",
        f"The {flight.action} of sandbox {flight.sandbox} broke: {type(error).__name__}: {error}. The server's log has more.",
        sandbox=flight.sandbox,
        action=str(flight.action),
    )
