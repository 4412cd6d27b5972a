"""Keeps the frozen processes of those that sleep, as long as there is memory for it: to wake one of them is a thaw.

The sleep is on the disk before, whole and proven, and control has said so: what is kept here is a cache, and may be dropped
between any two lines. Its root belongs to the frozen process and is equal to the snapshot. The process is stopped as a whole,
network stack included: what it acknowledged meanwhile, the snapshot would not know of.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import anyio
import structlog
from anyio import to_thread

from roost.domain.doze import Dozer, who_goes
from roost.domain.errors import RoostError, SandboxLost
from roost.domain.ids import SandboxId, SnapshotId
from roost.domain.node import CreateOrder, ResumeOrder
from roost.domain.placement import MEMORY_FLOOR_BYTES, headroom_bytes
from roost.node.engine.containers import Containers
from roost.node.engine.guest_setup import GuestSetup
from roost.node.engine.meter import memory_total_bytes
from roost.node.engine.teardown import Order, Teardown
from roost.node.holdings import Held, Holdings
from roost.node.inventory import Phase
from roost.node.steps import CrashPoint

_LOOKS_EVERY_S = 1.0
_AT_ONCE = 8

log = structlog.get_logger(__name__)


class Dozing:
    def __init__(
        self, *, containers: Containers, holdings: Holdings, teardown: Teardown, guest_setup: GuestSetup, order: Order,
        crash_point: CrashPoint, limit_bytes: int, free_bytes: Callable[[], int],
    ) -> None:  # fmt: skip
        self._containers = containers
        self._holdings = holdings
        self._teardown = teardown
        self._guest_setup = guest_setup
        self._order = order
        self._crash_point = crash_point
        self._limit_bytes = limit_bytes
        self._free_bytes = free_bytes
        self._reserve_bytes = headroom_bytes(memory_total_bytes())
        self._dozers: dict[SandboxId, Dozer] = {}  # the one that dozes longest first
        self._changed = anyio.Event()

    @property
    def held_bytes(self) -> dict[SandboxId, int]:
        """Who dozes, and the memory that each of them holds."""
        return {each.sandbox: each.held_bytes for each in self._now()}

    async def keep(self, sandbox: SandboxId, held: Held) -> bool:
        """Dozes from now on. False when it has to sleep: there is no room, or it is not exactly what its snapshot is. The caller
        holds its order. May be repeated."""
        if held.dozing:
            return True
        journal = held.container.journal
        held_bytes = self._containers.meter.held_bytes(self._containers.cgroup(journal.container))
        if not held.alive or journal.phase is not Phase.FROZEN or not 0 < held_bytes <= self._limit_bytes:
            return False
        if self._free_bytes() < self._reserve_bytes or not self._is_proven(held):
            return False
        # Written down: a server that finds it capturing, and its snapshot gone by then, would set it going.
        held.container = await self._containers.note(held.container, phase=Phase.FROZEN)
        self._crash_point("kill.noted")
        self._holdings.doze(sandbox, held, self._end_of)
        try:
            await self._containers.engine_of(held.container).freeze(journal.container, deep=True)
        except RoostError as error:
            log.warning("a sleeper cannot doze", sandbox=sandbox, error=str(error))
            return False
        self._crash_point("kill.dozing")
        self._dozers.pop(sandbox, None)
        self._dozers[sandbox] = Dozer(sandbox, held_bytes)
        self._teardown.park(sandbox)
        self._changed.set()
        return True

    async def thaw(self, held: Held, order: CreateOrder | ResumeOrder) -> bool:
        """It runs again and knows who it is. False when there is nothing to thaw, or its process is gone: then its snapshot is as
        good. The caller holds its order. Raises as a resume does; then it sleeps as before."""
        slot = held.container.slot
        if slot is None or not (_stands_there(held, order) or _was_thawed(held, order)):
            return False
        try:
            with anyio.CancelScope(shield=True):
                await self._containers.slots.set_egress(slot, order.egress)
                changes = {"phase": Phase.THAWING, "incarnation": order.incarnation, "snapshot": None}
                held.container = await self._containers.note(held.container, **changes)
                self._crash_point("resume.thawing")
                self._teardown.unpark(order.sandbox)
                self._holdings.rouse(order.sandbox, held)
                await held.freeze_lock.thaw()
                self._crash_point("resume.thawed")
            await self._guest_setup.introduce(slot, order)
            with anyio.CancelScope(shield=True):
                held.container = await self._containers.note(held.container, phase=Phase.RUNNING)
        except SandboxLost:
            held.rest()
            return False
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self._teardown.end_asleep(order.sandbox, held)
            raise
        return True

    async def make_room_for(self, order: CreateOrder | ResumeOrder) -> None:
        """There is memory for it, or nobody dozes any more."""
        if self._now():
            image_bytes = 0 if order.cold else await to_thread.run_sync(self._image_bytes, order.source)
            await self._drop(self._who_goes(MEMORY_FLOOR_BYTES + image_bytes))

    async def run(self) -> None:
        """Drops those for which there is no room any more, until cancelled."""
        while True:
            self._changed = anyio.Event()
            if gone := self._who_goes(0):
                await self._drop(gone)
            with anyio.move_on_after(_LOOKS_EVERY_S if self._dozers else None):
                await self._changed.wait()

    async def close(self) -> None:
        """Nobody dozes any more."""
        await self._drop([each.sandbox for each in self._now()])

    def _now(self) -> list[Dozer]:
        """Those that doze still, the one that does longest first: others woke, or are gone."""
        for sandbox in list(self._dozers):
            held = self._holdings.get(sandbox)
            if held is None or not held.dozing:
                del self._dozers[sandbox]
        return list(self._dozers.values())

    def _who_goes(self, needed_bytes: int) -> tuple[SandboxId, ...]:
        short = needed_bytes + self._reserve_bytes - self._free_bytes()
        return who_goes(self._now(), limit_bytes=self._limit_bytes, short_bytes=short)

    async def _drop(self, sandboxes: Collection[SandboxId]) -> None:
        turn = anyio.CapacityLimiter(_AT_ONCE)
        async with anyio.create_task_group() as tasks:
            for sandbox in sandboxes:
                tasks.start_soon(self._drop_one, turn, sandbox)

    async def _drop_one(self, turn: anyio.CapacityLimiter, sandbox: SandboxId) -> None:
        """Asleep, as if it had never dozed."""
        try:
            async with turn, self._order(sandbox, "drop"):
                held = self._holdings.get(sandbox)
                if held is not None and held.dozing:
                    with anyio.CancelScope(shield=True):
                        await self._teardown.end_asleep(sandbox, held)
        except (RoostError, OSError) as error:
            log.warning("a sleeper's process could not be dropped", sandbox=sandbox, error=str(error))

    async def _end_of(self, sandbox: SandboxId) -> None:
        """Its process ended by itself. Its snapshot is as good: nobody needs to know."""
        log.warning("the process of a sleeper ended by itself", sandbox=sandbox)
        await self._drop((sandbox,))

    def _image_bytes(self, snapshot: SnapshotId) -> int:
        """What a snapshot's memory takes in memory. Blocks for a moment."""
        try:
            return sum(file.stat().st_size for file in self._containers.volume.snapshot(snapshot).memory.iterdir())
        except OSError:
            return 0  # whoever makes something of it says what is wrong

    def _is_proven(self, held: Held) -> bool:
        """Whether its memory is in a snapshot that stands."""
        snapshot = held.container.journal.snapshot
        if snapshot is None:
            return False
        paths = self._containers.volume.snapshot(snapshot)
        return paths.manifest.exists() and paths.memory.exists()


def _was_thawed(held: Held, order: CreateOrder | ResumeOrder) -> bool:
    """Whether a server that is gone was about to thaw it for this very order. To thaw it again does no harm."""
    journal = held.container.journal
    return journal.phase is Phase.THAWING and journal.incarnation == order.incarnation and not order.cold


def _stands_there(held: Held, order: CreateOrder | ResumeOrder) -> bool:
    """Whether its process is frozen in exactly the moment, and has the size, that the order wants: it dozes, or its pause has
    only just been finished."""
    journal = held.container.journal
    return journal.phase is Phase.FROZEN and journal.snapshot == order.source and held.size == order.size and not order.cold
