"""Makes the process that stands for a sandbox: create and resume are one thing to a node. Callers hold the sandbox's order."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import anyio
from anyio import to_thread

from roost.archive.keys import ContainerPaths
from roost.domain.errors import RoostError, SandboxLost
from roost.domain.ids import SandboxId
from roost.domain.node import CreateOrder, Placed, ResumeOrder
from roost.node import inventory
from roost.node.engine.containers import Clone, Container, Containers
from roost.node.engine.dozing import Dozing
from roost.node.engine.guest_setup import GuestSetup
from roost.node.engine.pool import Pool
from roost.node.engine.teardown import Teardown
from roost.node.holdings import Held, Holdings
from roost.node.inventory import Phase
from roost.node.network.slots import Slot
from roost.node.steps import CrashPoint, Steps, nothing
from roost.node.storage import subvolumes

PlaceOrder = CreateOrder | ResumeOrder


class Placing:
    def __init__(
        self, *, containers: Containers, holdings: Holdings, pool: Pool, dozing: Dozing, teardown: Teardown,
        guest_setup: GuestSetup, crash_point: CrashPoint,
    ) -> None:  # fmt: skip
        self._containers = containers
        self._holdings = holdings
        self._pool = pool
        self._dozing = dozing
        self._teardown = teardown
        self._guest_setup = guest_setup
        self._crash_point = crash_point

    async def place(self, order: PlaceOrder, work: str) -> Placed:
        """It runs and knows who it is: what stood there already, a thawed one, one of the pool, or one that is made now."""
        held = self._holdings.get(order.sandbox)
        if held is not None and held.alive:
            journal = held.container.journal
            if journal.phase is Phase.RUNNING and journal.incarnation == order.incarnation:
                return await self._placed(held.container, order)
            if await self._dozing.thaw(held, order):
                return await self._placed(held.container, order)
        async with Steps(work, self._crash_point) as steps:
            kept_slot = await self._make_way(steps, order)
            container = await self._take_warm(steps, order) or await self._make(steps, order, kept_slot)
            assert container.slot is not None
            await self._guest_setup.introduce(container.slot, order)
            container = await self._containers.note(container, phase=Phase.RUNNING)
            alarm = self._holdings.arm(container, order.size)
            steps.keep()
        self._holdings.add(order.sandbox, container, alive=True, size=order.size, alarm=alarm)
        self._crash_point(f"{work}.done")
        return await self._placed(container, order)

    async def _make_way(self, steps: Steps, order: PlaceOrder) -> Slot | None:
        """What an older incarnation left is gone, but for a root that is to be booted in place. Returns its slot if its
        connections are to go on."""
        held, in_place = self._holdings.get(order.sandbox), _is_in_place(order)
        if in_place and (held is None or not held.container.paths.root.exists()):
            raise SandboxLost(order.sandbox, "its disk is gone too")
        if held is None:
            return None
        slot = held.container.slot
        with anyio.CancelScope(shield=True):
            await self._clear(order.sandbox, held, keep_root=in_place)
            if slot is not None and (order.cold or isinstance(order, CreateOrder)):
                # A booted guest knows nothing of old connections: they must break, not meet a stranger.
                await self._containers.slots.release(slot)
                slot = None
        kept = slot
        if kept is not None:
            await steps.do("kept slot", nothing(), undo=lambda: self._teardown.keep_slot(order, kept))
        return kept

    async def _take_warm(self, steps: Steps, order: PlaceOrder) -> Container | None:
        if order.cold or isinstance(order, ResumeOrder):
            return None
        while warm := self._pool.take(order.source, order.size):
            runtime = self._containers.engine_of(warm)
            if not (await runtime.inspect(warm.journal.container)).alive:
                await self._pool.discard(warm)
                continue
            paths = self._containers.volume.sandbox(order.sandbox)

            async def unmake(paths: ContainerPaths = paths, warm: Container = warm) -> None:
                await self._containers.remove(paths, warm.journal)
                await self._pool.discard(warm)

            return await steps.do("claim", self._claim(warm, paths, order), undo=unmake)
        return None

    async def _claim(self, warm: Container, paths: ContainerPaths, order: PlaceOrder) -> Container:
        journal = replace(warm.journal, phase=Phase.MAKING, sandbox=order.sandbox, incarnation=order.incarnation)

        def rename() -> None:
            inventory.write(warm.paths, journal)
            warm.paths.home.rename(paths.home)
            group = subvolumes.quota_group(order.sandbox)
            subvolumes.make_group(self._containers.volume.home, group, (order.size.disk_mb << 20) or None)
            subvolumes.join_group(paths.root, group)

        await to_thread.run_sync(rename)
        assert warm.slot is not None
        await self._containers.slots.set_egress(warm.slot, order.egress)
        await self._containers.engine_of(warm).thaw(warm.journal.container)
        return Container(paths, journal, warm.slot)

    async def _make(self, steps: Steps, order: PlaceOrder, kept_slot: Slot | None) -> Container:
        await self._dozing.make_room_for(order)
        clone = Clone(
            paths=self._containers.volume.sandbox(order.sandbox),
            name=f"{order.sandbox}-{order.incarnation}",
            source=order.source,
            size=order.size,
            cold=order.cold,
            in_place=_is_in_place(order),
            continues=isinstance(order, ResumeOrder),
            slot=kept_slot,
            sandbox=order.sandbox,
            incarnation=order.incarnation,
            egress=order.egress,
            proves=isinstance(order, ResumeOrder),
        )
        return await self._containers.make(steps, clone)

    async def _clear(self, sandbox: SandboxId, held: Held, *, keep_root: bool) -> None:
        """An older incarnation's remains are gone, but for its slot and a root that is still wanted."""
        held.rest()
        self._teardown.unpark(sandbox)
        if keep_root:
            await self._containers.end_processes(held.container.journal)
            held.container = await self._containers.note(replace(held.container, slot=None), slot=None)
        else:
            await self._containers.remove(held.container.paths, held.container.journal)
            self._holdings.forget(sandbox)

    async def _placed(self, container: Container, order: PlaceOrder) -> Placed:
        assert container.slot is not None
        lost: tuple[str, ...] = ()
        if order.cold and not _is_in_place(order):
            with contextlib.suppress(RoostError):
                lost = (await to_thread.run_sync(self._containers.load, order.source)).processes
        return Placed(container.slot.address, order.cold, lost)


def _is_in_place(order: PlaceOrder) -> bool:
    return isinstance(order, CreateOrder) and order.in_place
