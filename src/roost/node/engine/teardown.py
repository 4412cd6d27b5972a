"""How a sandbox's stay on this node ends: put to sleep with its slot, or removed, with or without its disk kept.

Callers hold the sandbox's order. A sleeper keeps its slot, so that its connections outlive the sleep; beyond a limit the one
that was kept longest is let go.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import anyio
import structlog
from anyio import to_thread
from anyio.abc import TaskGroup

from roost.contracts.guest import Guest
from roost.domain.errors import GuestUnreachable, RoostError
from roost.domain.ids import SandboxId
from roost.domain.node import Captured, CaptureOrder, CreateOrder, ResumeOrder
from roost.node import inventory
from roost.node.engine.captures import Captures
from roost.node.engine.containers import Container, Containers
from roost.node.holdings import Held, Holdings
from roost.node.inventory import Journal, Phase
from roost.node.network.slots import Slot
from roost.node.steps import CrashPoint
from roost.node.storage import subvolumes

LAST_WORDS_S = 5.0  # for a guest that is killed to write down what it holds

log = structlog.get_logger(__name__)

Order = Callable[[SandboxId, str], AbstractAsyncContextManager[None]]


class Teardown:
    def __init__(
        self, *, containers: Containers, holdings: Holdings, captures: Captures, guest: Guest, tasks: TaskGroup, order: Order,
        crash_point: CrashPoint, parked_limit: int,
    ) -> None:  # fmt: skip
        self._containers = containers
        self._holdings = holdings
        self._captures = captures
        self._guest = guest
        self._tasks = tasks
        self._order = order
        self._crash_point = crash_point
        self._parked: dict[SandboxId, None] = {}  # those asleep whose slot is kept, the longest kept first
        self._parked_limit = parked_limit

    def park(self, sandbox: SandboxId) -> None:
        """Its slot is kept, and the one that was kept longest let go when there are too many."""
        self._parked.pop(sandbox, None)
        self._parked[sandbox] = None
        while len(self._parked) > self._parked_limit:
            oldest = next(iter(self._parked))
            del self._parked[oldest]
            self._tasks.start_soon(self._let_slot_go, oldest)

    def unpark(self, sandbox: SandboxId) -> None:
        self._parked.pop(sandbox, None)

    async def end_asleep(self, sandbox: SandboxId, held: Held) -> None:
        """Asleep: only the slot and a journal that says so are left."""
        held.rest()
        await self._containers.end_processes(held.container.journal)
        if held.container.slot is not None:
            await self._containers.slots.rest(held.container.slot)
        await to_thread.run_sync(subvolumes.delete, held.container.paths.root)
        held.container = await self._containers.note(held.container, phase=Phase.ASLEEP, snapshot=None)
        self.park(sandbox)

    async def keep_slot(self, order: CreateOrder | ResumeOrder, slot: Slot) -> None:
        """A resume failed: asleep as before, with its slot."""
        paths = self._containers.volume.sandbox(order.sandbox)
        journal = Journal(
            phase=Phase.ASLEEP, container=f"{order.sandbox}-{order.incarnation - 1}", engine="", slot=slot.index,
            source=order.source, sandbox=order.sandbox, incarnation=order.incarnation - 1, size=order.size,
        )  # fmt: skip

        def write() -> None:
            paths.home.mkdir(parents=True, exist_ok=True, mode=0o700)
            inventory.write(paths, journal)

        await to_thread.run_sync(write)
        self._holdings.add(order.sandbox, Container(paths, journal, slot), alive=False, size=order.size)
        self.park(order.sandbox)

    async def end(self, held: Held, *, keep: CaptureOrder | None) -> None:
        """Its process is gone. If its disk is to be kept, it could write down first what it holds. May be called twice."""
        container = held.container
        if keep and held.alive and container.slot is not None and container.journal.phase is Phase.RUNNING:
            with anyio.move_on_after(LAST_WORDS_S), contextlib.suppress(GuestUnreachable):
                await self._guest.flush(container.slot.address)  # files that the guest's kernel still holds back
        held.rest()
        await self._containers.end(container.journal)
        self._crash_point("kill.ended")

    async def keep_disk(self, held: Held, order: CaptureOrder) -> Captured | None:
        """What a kill is to keep of one whose process is gone: the disk. None when that is not possible. May be repeated after a
        crash: the disk is in its place or in the snapshot, and never in neither."""
        try:
            kept = await to_thread.run_sync(self._captures.turn_into_snapshot, held.source, order, self._crash_point)
        except (RoostError, OSError) as error:
            log.warning("the disk of a killed sandbox could not be kept", sandbox=order.sandbox, error=str(error))
            return None
        self._crash_point("kill.kept")
        return kept

    async def remove(self, sandbox: SandboxId, held: Held, *, kept: Captured | None = None) -> None:
        """Nobody finds anything of it any more; what it leaves, its quota group too, goes soon after. Its process is gone, and
        its disk in the snapshot, if one was kept."""
        container, group = held.container, subvolumes.quota_group(sandbox)
        await self._containers.clear_away(
            container.paths, container.journal, release=container.slot, quota_group=group, was_kept=kept is not None
        )
        self._containers.meter.forget(sandbox)
        self._holdings.forget(sandbox)
        self.unpark(sandbox)

    async def _let_slot_go(self, sandbox: SandboxId) -> None:
        """Nothing is left of a sleeper but its snapshot."""
        try:
            async with self._order(sandbox, "let slot go"):
                held = self._holdings.get(sandbox)
                if held is None or sandbox in self._parked:
                    return
                if held.container.journal.phase is not Phase.ASLEEP and not held.dozing:
                    return
                with anyio.CancelScope(shield=True):
                    held.rest()
                    await self._containers.remove(held.container.paths, held.container.journal, release=held.container.slot)
                    self._containers.meter.forget(sandbox)
                    self._holdings.forget(sandbox)
        except (RoostError, OSError) as error:
            log.warning("a sleeper's slot could not be let go", sandbox=sandbox, error=str(error))
