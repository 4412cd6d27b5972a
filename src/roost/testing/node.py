"""A node in memory: keeps every promise of the contract, starts no process, and can be stopped, failed and crashed on purpose."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace

import anyio
import anyio.lowlevel
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from roost.contracts.clock import Clock
from roost.contracts.snapshots import WarmTarget
from roost.domain.egress import OPEN, Egress
from roost.domain.errors import SandboxLost, SnapshotHasNoMemory, SnapshotNotFound, Unavailable
from roost.domain.ids import NodeId, SandboxId, SnapshotId
from roost.domain.node import (
    Captured,
    CaptureOrder,
    CreateOrder,
    Departure,
    EgressOrder,
    Identity,
    InformOrder,
    KillOrder,
    NodeReport,
    Placed,
    Presence,
    Ran,
    ResumeOrder,
    RunOrder,
    Usage,
)
from roost.domain.sandbox import Driver
from roost.domain.snapshot import SnapshotKind


@dataclass(slots=True)
class FakeGuest:
    """A process that stands behind a sandbox. Tests write into `memory` and `disk` and look for it later."""

    sandbox: SandboxId
    incarnation: int
    address: str
    identity: Identity
    disk: str = ""
    memory: str = ""
    alive: bool = True
    frozen: bool = False
    snapshot: SnapshotId | None = None  # frozen: what it is equal to
    dozing: bool = False
    usage: Usage | None = None
    egress: Egress = OPEN
    driver: Driver | None = None


class ScriptedCommands:
    """What commands inside answer: success, unless told otherwise."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, str]] = []  # user, command
        self.answers: dict[str, list[tuple[int, str]]] = {}
        self.limits: dict[str, float] = {}  # by command: how long it might have taken

    def run(self, order: RunOrder) -> Ran:
        self.ran.append((order.user, order.command))
        self.limits[order.command] = order.timeout_s
        scripted = self.answers.get(order.command)
        return Ran(*scripted.pop(0)) if scripted else Ran(0, "")


@dataclass(frozen=True, slots=True)
class FakeImage:
    kind: SnapshotKind
    disk: str
    memory: str
    created_at: float


@dataclass(slots=True)
class Barrier:
    """Holds one order midway: `reached` is set when it stands there, `open()` lets it go on."""

    sandbox: SandboxId | None
    point: str
    reached: anyio.Event = field(default_factory=anyio.Event)
    opened: anyio.Event = field(default_factory=anyio.Event)

    def open(self) -> None:
        self.opened.set()


class FakeNode:
    """Orders pass two points: `<order>` before anything is final, and `<order>.late` when the result stands (shielded from
    cancellation, as the real node's last step is). Gates and failures are set at a point, for one order each."""

    def __init__(self, *, clock: Clock, id: str = "nfake", dozers: int = 0) -> None:
        self.commands = ScriptedCommands()
        self.id = NodeId(id)
        self.dozers = dozers  # how many sleepers may doze
        self.guests: dict[SandboxId, FakeGuest] = {}
        self.images: dict[SnapshotId, FakeImage] = {}
        self.roots: dict[SandboxId, str] = {}  # disks without a process
        self.orders: list[tuple[str, SandboxId, int]] = []
        self.warm: dict[SnapshotId, int] = {}
        self.memory_free_bytes = 16 * 1024**3
        self.disk_free_bytes = 50 * 1024**3
        self._clock = clock
        self._gates: list[Barrier] = []
        self._closed_gates: list[Barrier] = []  # where somebody stands, or stood
        self._failures: list[tuple[str, SandboxId | None, Exception]] = []
        self._locks: dict[SandboxId, anyio.Lock] = {}
        self._last_address = 0
        self._server_is_dead = False
        self._departed: MemoryObjectSendStream[Departure | None]  # None: its process started again
        self._departures: MemoryObjectReceiveStream[Departure | None]
        self._departed, self._departures = anyio.create_memory_object_stream[Departure | None](1000)

    # What tests do to it

    def gate(self, point: str, sandbox: SandboxId | None = None) -> Barrier:
        gate = Barrier(sandbox, point)
        self._gates.append(gate)
        return gate

    def fail(self, point: str, error: Exception, *, sandbox: SandboxId | None = None, times: int = 1) -> None:
        self._failures += [(point, sandbox, error)] * times

    def end(self, sandbox: SandboxId, detail: str = "its process ended", *, in_order: bool = False) -> None:
        """Its process ends unasked: shut down from inside if `in_order`. Its disk is still there."""
        guest = self.guests[sandbox]
        guest.alive = False
        self._departed.send_nowait(Departure(sandbox, guest.incarnation, detail, in_order))

    def start_again(self) -> None:
        """Its process ends, and the next one takes up what it left: but for what was in its memory only."""
        self.warm = {}
        for guest in self.guests.values():
            guest.egress = OPEN  # what it may reach by name was the process's own business
        self._departed.send_nowait(None)

    def drop_dozers(self) -> None:
        """Memory is needed."""
        self.guests = {id: guest for id, guest in self.guests.items() if not guest.dozing}

    def crash_machine(self, *, disks_survive: bool = True) -> None:
        """Every process is gone; what was synced is there."""
        for sandbox, guest in self.guests.items():
            if disks_survive:
                self.roots[sandbox] = guest.disk
        self.guests.clear()

    def open_gates(self) -> None:
        """Lets every order go on, and those that come."""
        self._gates.clear()
        for gate in self._closed_gates:
            gate.open()
        self._closed_gates.clear()

    def die(self) -> None:
        """The server dies: from now on a cancelled order undoes nothing, for nobody is there to do it."""
        self._server_is_dead = True

    def restart(self) -> None:
        """Another server takes the machine over as it is."""
        self.close()
        self._server_is_dead = False
        self._locks.clear()
        self.open_gates()
        self._departed, self._departures = anyio.create_memory_object_stream[Departure | None](1000)

    def close(self) -> None:
        self._departures.close()
        self._departed.close()

    # The contract

    async def create(self, order: CreateOrder) -> Placed:
        async with self._order("create", order.sandbox, order.incarnation):
            guest = self.guests.get(order.sandbox)
            if guest and guest.alive and guest.incarnation == order.incarnation:
                return Placed(guest.address, cold=order.cold)
            if order.in_place:
                disk = guest.disk if guest else self.roots.get(order.sandbox)
                if disk is None:
                    raise SandboxLost(order.sandbox, "its disk is gone too")
                await self.come_to("create", order.sandbox)
                return self._boot(order, disk=disk, memory="")
            return await self._clone("create", order)

    async def pause(self, order: CaptureOrder) -> Captured:
        async with self._order("pause", order.sandbox, order.incarnation):
            return await self._capture("pause", order)

    async def snapshot(self, order: CaptureOrder) -> Captured:
        async with self._order("snapshot", order.sandbox, order.incarnation):
            captured = await self._capture("snapshot", order)
            if guest := self.guests.get(order.sandbox):
                guest.frozen = False
            return captured

    async def resume(self, order: ResumeOrder) -> Placed:
        async with self._order("resume", order.sandbox, order.incarnation):
            guest = self.guests.get(order.sandbox)
            stands_there = guest and guest.frozen and guest.snapshot == order.source
            if guest and guest.alive and not order.cold and (stands_there or guest.incarnation == order.incarnation):
                await self.come_to("resume", order.sandbox)
                guest.frozen, guest.incarnation, guest.egress = False, order.incarnation, order.egress
                guest.dozing, guest.driver, guest.identity = False, order.identity.driver, order.identity
                return Placed(guest.address, cold=False)
            self.guests.pop(order.sandbox, None)
            return await self._clone("resume", order)

    async def kill(self, order: KillOrder) -> Captured | None:
        async with self._order("kill", order.sandbox, order.incarnation):
            await self.come_to("kill", order.sandbox)
            guest = self.guests.get(order.sandbox)
            if guest and guest.incarnation > order.incarnation:
                return None
            if guest and order.asleep and guest.alive and guest.frozen and self._dozes(guest):
                return None
            disk = guest.disk if guest else self.roots.get(order.sandbox)
            if order.keep and disk is not None and self.disk_free_bytes > 0:
                image = FakeImage(SnapshotKind.DISK, disk=disk, memory="", created_at=self._clock.now())
                self.images.setdefault(order.keep.snapshot, image)
            self.guests.pop(order.sandbox, None)
            self.roots.pop(order.sandbox, None)
            return self._captured(order.keep.snapshot) if order.keep and order.keep.snapshot in self.images else None

    async def set_egress(self, order: EgressOrder) -> None:
        async with self._order("set_egress", order.sandbox, order.incarnation):
            await self.come_to("set_egress", order.sandbox)
            guest = self.guests.get(order.sandbox)
            if guest and guest.alive and guest.incarnation == order.incarnation:
                guest.egress = order.egress

    async def inform(self, order: InformOrder) -> bool:
        async with self._order("inform", order.sandbox, order.incarnation):
            await self.come_to("inform", order.sandbox)
            guest = self.guests.get(order.sandbox)
            if guest is None or not guest.alive or guest.frozen or guest.incarnation != order.incarnation:
                return False
            guest.driver = order.driver
            guest.identity = replace(guest.identity, access_token=order.access_token)
            return True

    async def run(self, order: RunOrder) -> Ran:
        await anyio.lowlevel.checkpoint()
        guest = self.guests.get(order.sandbox)
        if guest is None or not guest.alive or guest.incarnation != order.incarnation:
            raise SandboxLost(order.sandbox, "this node does not run it")
        return self.commands.run(order)

    async def import_disk(self, snapshot: SnapshotId, root: str, template: str) -> Captured:
        await anyio.lowlevel.checkpoint()
        await self.come_to("import", None)
        if snapshot not in self.images:
            self.images[snapshot] = FakeImage(
                SnapshotKind.DISK, disk=f"root of {template}", memory="", created_at=self._clock.now()
            )
        return self._captured(snapshot)

    async def delete_snapshot(self, snapshot: SnapshotId) -> None:
        await anyio.lowlevel.checkpoint()
        await self.come_to("delete_snapshot", None)
        self.images.pop(snapshot, None)

    async def report(self) -> NodeReport:
        await anyio.lowlevel.checkpoint()
        await self.come_to("report", None)
        return NodeReport(
            node=self.id,
            present=tuple(
                Presence(guest.sandbox, guest.incarnation, guest.address, guest.alive, guest.usage)
                for guest in self.guests.values()
                if not guest.dozing
            ),
            snapshots=frozenset(self.images),
            surviving_disks=frozenset(self.roots) | {id for id, guest in self.guests.items() if not guest.alive},
            memory_free_bytes=self.memory_free_bytes,
            disk_free_bytes=self.disk_free_bytes,
            disk_total_bytes=100 * 1024**3,
            warm=dict(self.warm),
            dozing={guest.sandbox: 1 << 20 for guest in self.guests.values() if guest.dozing},
        )

    async def watch(self) -> AsyncIterator[Departure]:
        async for departure in self._departures:
            if departure is None:
                raise Unavailable("process_lost", "The node's process ended.")
            yield departure

    async def keep_warm(self, wanted: Sequence[WarmTarget]) -> None:
        await anyio.lowlevel.checkpoint()
        self.warm = {target.snapshot: target.count for target in wanted}

    # How it is done

    def _dozes(self, guest: FakeGuest) -> bool:
        """Kept, and the one that dozes longest dropped when there are too many."""
        image = self.images.get(guest.snapshot) if guest.snapshot else None
        if not self.dozers or image is None or image.kind is not SnapshotKind.MEMORY:
            return False
        self.guests[guest.sandbox] = self.guests.pop(guest.sandbox)
        guest.dozing = True
        dozing = [each.sandbox for each in self.guests.values() if each.dozing]
        for sandbox in dozing[: -self.dozers]:
            del self.guests[sandbox]
        return True

    def _order(self, name: str, sandbox: SandboxId, incarnation: int) -> anyio.Lock:
        self.orders.append((name, sandbox, incarnation))
        return self._locks.setdefault(sandbox, anyio.Lock())

    async def come_to(self, point: str, sandbox: SandboxId | None) -> None:
        """Where a gate may stand, or a failure wait."""
        for gate in self._gates:
            if gate.point == point and gate.sandbox in (None, sandbox):
                self._gates.remove(gate)
                self._closed_gates.append(gate)
                gate.reached.set()
                await gate.opened.wait()
                break
        for failure in self._failures:
            if failure[0] == point and failure[1] in (None, sandbox):
                self._failures.remove(failure)
                raise failure[2]

    async def _clone(self, point: str, order: CreateOrder | ResumeOrder) -> Placed:
        image = self.images.get(order.source)
        if image is None:
            raise SnapshotNotFound(order.source)
        if image.kind is SnapshotKind.DISK and not order.cold:
            raise SnapshotHasNoMemory(order.source)
        await self.come_to(point, order.sandbox)
        if order.source not in self.images:  # deleted while it was being cloned
            raise SnapshotNotFound(order.source)
        return self._boot(order, disk=image.disk, memory="" if order.cold else image.memory, left=image.memory)

    def _boot(self, order: CreateOrder | ResumeOrder, *, disk: str, memory: str, left: str = "") -> Placed:
        self._last_address += 1
        address = f"198.18.{self._last_address // 250}.{self._last_address % 250 + 1}"
        self.guests[order.sandbox] = FakeGuest(
            order.sandbox,
            order.incarnation,
            address,
            order.identity,
            disk=disk,
            memory=memory,
            egress=order.egress,
            driver=order.identity.driver,
        )
        self.roots.pop(order.sandbox, None)
        lost = (left,) if order.cold and left else ()
        return Placed(address, cold=order.cold, lost=lost)

    async def _capture(self, point: str, order: CaptureOrder) -> Captured:
        guest = self.guests.get(order.sandbox)
        if order.snapshot in self.images:
            if guest and guest.incarnation == order.incarnation:
                guest.frozen, guest.snapshot = True, order.snapshot
            return self._captured(order.snapshot)
        if not order.keep_memory and (disk := self._surviving_disk(order.sandbox)) is not None:
            self.images[order.snapshot] = FakeImage(SnapshotKind.DISK, disk=disk, memory="", created_at=self._clock.now())
            return self._captured(order.snapshot)
        if guest is None or not guest.alive or guest.dozing or guest.incarnation != order.incarnation:
            raise SandboxLost(order.sandbox, "no process found")
        guest.frozen, guest.snapshot = True, order.snapshot
        try:
            await self.come_to(point, order.sandbox)
        except BaseException:
            if not self._server_is_dead:
                guest.frozen = False
            raise
        self.images[order.snapshot] = FakeImage(
            SnapshotKind.MEMORY if order.keep_memory else SnapshotKind.DISK,
            disk=guest.disk,
            memory=guest.memory if order.keep_memory else "",
            created_at=self._clock.now(),
        )
        with anyio.CancelScope(shield=not self._server_is_dead):
            await self.come_to(f"{point}.late", order.sandbox)
        return self._captured(order.snapshot)

    def _surviving_disk(self, sandbox: SandboxId) -> str | None:
        guest = self.guests.get(sandbox)
        if guest is not None:
            return None if guest.alive else guest.disk
        return self.roots.get(sandbox)

    def _captured(self, snapshot: SnapshotId) -> Captured:
        image = self.images[snapshot]
        return Captured(snapshot, image.kind, len(image.memory), image.created_at, frozen_s=0.0)


def used(guest: FakeGuest, *, at: float, cpu_s: float = 0.0, network_bytes: int = 0) -> None:
    """The guest has used so much since its incarnation began."""
    blank = guest.usage or Usage(at=at, cpu_s=0, memory_bytes=0, disk_bytes=0, received_bytes=0, sent_bytes=0)
    guest.usage = replace(blank, at=at, cpu_s=cpu_s, received_bytes=network_bytes)
