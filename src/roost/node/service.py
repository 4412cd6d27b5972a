"""The node: carries out orders on this machine. `contracts.cluster.Node`.

Orders for one sandbox run one after the other, by its lock; each looks at what is there first, so a repeated order finishes what
a crash left, or returns what is already true. What a restart finds is in `adoption`.
"""

from __future__ import annotations

import contextlib
import errno
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from weakref import WeakValueDictionary

import anyio
import structlog
from anyio import to_thread
from anyio.abc import TaskGroup

from roost.contracts.guest import Guest
from roost.contracts.guest_builds import BuildGuest
from roost.domain.errors import GuestUnreachable, NodeFull, SandboxLost
from roost.domain.ids import NodeId, SandboxId
from roost.domain.node import (
    Captured,
    CaptureOrder,
    CreateOrder,
    Departure,
    EgressOrder,
    InformOrder,
    KillOrder,
    NodeReport,
    Placed,
    Ran,
    ResumeOrder,
    RunOrder,
)
from roost.node.adoption import Adopted, Adoption
from roost.node.builds import BuildService
from roost.node.engine.alarms import Alarms, MemoryAlarm
from roost.node.engine.captures import Captures
from roost.node.engine.containers import Containers
from roost.node.engine.dozing import Dozing
from roost.node.engine.guest_setup import GuestSetup
from roost.node.engine.meter import memory_free_bytes
from roost.node.engine.pool import Busy, Pool
from roost.node.engine.teardown import Teardown
from roost.node.holdings import Held, Holdings
from roost.node.inventory import Phase
from roost.node.network.guest_listener import GuestListener
from roost.node.placing import Placing
from roost.node.reporting import Reporting
from roost.node.steps import CrashPoint, Steps, never, nothing
from roost.node.storage import subvolumes
from roost.node.storage.caches import Caches
from roost.node.storage.pulled import ImageSources, PulledImages
from roost.node.storage.snapshots import SnapshotService
from roost.node.storage.uploads import Uploads

PARKED_LIMIT = 512  # slots kept for sleepers: two namespaces each, and no sleeper may cost a newcomer its own
_ANSWER_FIRST_S = 0.01  # to end a sleeper's process takes the processor: whoever waits for the sleep is told of it before

log = structlog.get_logger(__name__)


class NodeService:
    def __init__(
        self, *, id: NodeId, containers: Containers, guest: Guest, build_guest: BuildGuest, now: Callable[[], float],
        tasks: TaskGroup, crash_point: CrashPoint = never, parked_limit: int = PARKED_LIMIT, doze_bytes: int = 0,
        free_bytes: Callable[[], int] = memory_free_bytes, roots: Mapping[str, Path] | None = None, images: ImageSources,
        upload_limit_bytes: int = 1 << 30,
    ) -> None:  # fmt: skip
        self.id = id
        self._containers = containers
        self._guest = guest
        self._now = now
        self._tasks = tasks
        self._crash_point = crash_point
        self._busy = Busy()
        self._pool = Pool(containers=containers, busy=self._busy)
        self._captures = Captures(containers=containers, guest=guest, now=now)
        self._guest_setup = GuestSetup(guest=guest, slots=containers.slots)
        self._alarms = Alarms()
        self._holdings = Holdings(containers=containers, alarms=self._alarms, tasks=tasks)
        self.door = GuestListener(slots=containers.slots, holdings=self._holdings)
        self._teardown = Teardown(
            containers=containers, holdings=self._holdings, captures=self._captures, guest=guest, tasks=tasks,
            order=self._order, crash_point=crash_point, parked_limit=parked_limit,
        )  # fmt: skip
        self._dozing = Dozing(
            containers=containers, holdings=self._holdings, teardown=self._teardown, guest_setup=self._guest_setup,
            order=self._order, crash_point=crash_point, limit_bytes=doze_bytes, free_bytes=free_bytes,
        )  # fmt: skip
        self._placing = Placing(
            containers=containers, holdings=self._holdings, pool=self._pool, dozing=self._dozing, teardown=self._teardown,
            guest_setup=self._guest_setup, crash_point=crash_point,
        )  # fmt: skip
        self._reporting = Reporting(containers=containers, holdings=self._holdings, dozing=self._dozing, now=now)
        self._locks: WeakValueDictionary[SandboxId, anyio.Lock] = WeakValueDictionary()
        self._pulled = PulledImages(volume=containers.volume, sources=images, now=now)
        self.snapshots = SnapshotService(containers=containers, pool=self._pool, roots=roots or {}, images=self._pulled, now=now)
        self._caches = Caches(containers.volume.home, now=now)
        self._uploads = Uploads(containers.volume.home, limit_bytes=upload_limit_bytes)
        self.builds = BuildService(holdings=self._holdings, guest=build_guest, uploads=self._uploads, caches=self._caches)

    # Life of the node

    async def open(self) -> None:
        """Adopts what still runs, takes back what was half done, keeps the slots of those asleep."""
        try:
            adopted = await Adoption(self._containers).run()
            await self._pulled.open()
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self._containers.slots.close(remove=False)
            raise
        for each in adopted:
            frozen = each.container.journal.phase is Phase.FROZEN  # guarded when it wakes, if it does
            alarm = self._arm_adopted(each) if each.alive and not frozen else None
            self._holdings.add(each.sandbox, each.container, alive=each.alive, size=each.size, alarm=alarm)
            if each.container.journal.phase is Phase.ASLEEP:
                self._teardown.park(each.sandbox)
        await to_thread.run_sync(self._uploads.sweep)
        await to_thread.run_sync(self._caches.sweep)
        self._tasks.start_soon(self._alarms.run)
        self._tasks.start_soon(self._containers.removals.run)
        self._tasks.start_soon(self._dozing.run)
        self._tasks.start_soon(self._pool.run)

    async def close(self) -> bool:
        """Sandboxes that run live on, with their slots: True. When none runs, nothing of this instance is left on the machine but
        the volume: False."""
        await self._pool.close()
        await self._dozing.close()
        await self._holdings.close()
        await self._containers.removals.close()
        lives_on = self._holdings.any_alive
        await self._containers.slots.close(remove=not lives_on)
        if not lives_on:
            await to_thread.run_sync(self._containers.sweep_cgroups, ())
            await to_thread.run_sync(self._containers.attachments.close)
        return lives_on

    # Orders

    async def create(self, order: CreateOrder) -> Placed:
        async with self._order(order.sandbox, "create"):
            return await self._placing.place(order, "create")

    async def resume(self, order: ResumeOrder) -> Placed:
        async with self._order(order.sandbox, "resume"):
            return await self._placing.place(order, "resume")

    async def pause(self, order: CaptureOrder) -> Captured:
        async with self._order(order.sandbox, "pause"):
            if done := await self._captures.find(order):
                return done
            held = await self._capturable(order)
            if not held.alive:
                return await self._capture_disk(held, order, "pause")
            async with Steps("pause", self._crash_point) as steps:
                await steps.do("note", nothing(), undo=lambda: self._note(held, phase=Phase.RUNNING, snapshot=None))
                captured = await self._captures.capture(steps, held.source, order, thaw=False)
                steps.keep()
            # Not on disk: there the manifest says it. Once that stands nothing may fail or be cancelled any more.
            self._crash_point("pause.published")
            held.container = held.container.at(phase=Phase.FROZEN, snapshot=order.snapshot)
            self._crash_point("pause.frozen")
            return captured

    async def snapshot(self, order: CaptureOrder) -> Captured:
        async with self._order(order.sandbox, "snapshot"):
            if done := await self._captures.find(order):
                return done
            held = await self._capturable(order)
            if not held.alive:
                return await self._capture_disk(held, order, "snapshot")
            async with Steps("snapshot", self._crash_point) as steps:
                await steps.do("note", nothing(), undo=lambda: self._note(held, phase=Phase.RUNNING, snapshot=None))
                captured = await self._captures.capture(steps, held.source, order, thaw=True)
                steps.keep()
            self._crash_point("snapshot.published")
            self._crash_point("snapshot.done")
            return captured

    async def kill(self, order: KillOrder) -> Captured | None:
        async with self._order(order.sandbox, "kill"):
            held = self._holdings.get(order.sandbox)
            if held is None:
                if not order.asleep:  # one whose slot was let go in its sleep still has its quota group
                    await to_thread.run_sync(
                        subvolumes.drop_group, self._containers.volume.home, subvolumes.quota_group(order.sandbox)
                    )
                return await self._captures.find(order.keep) if order.keep else None
            if held.container.journal.incarnation > order.incarnation:
                return None
            kept: Captured | None = None
            with anyio.CancelScope(shield=True):
                if order.asleep and held.container.slot is not None:
                    await anyio.sleep(_ANSWER_FIRST_S)
                    if not await self._dozing.keep(order.sandbox, held):
                        await self._teardown.end_asleep(order.sandbox, held)
                else:
                    await self._teardown.end(held, keep=order.keep)
                    kept = await self._teardown.keep_disk(held, order.keep) if order.keep else None
                    await self._teardown.remove(order.sandbox, held, kept=kept)
            self._crash_point("kill.done")
            return kept

    async def set_egress(self, order: EgressOrder) -> None:
        async with self._order(order.sandbox, "egress"):
            held = self._holdings.get(order.sandbox)
            if held is None or not held.alive or held.container.journal.incarnation != order.incarnation:
                return
            if held.container.journal.phase is Phase.FROZEN:  # it is told when it wakes, if it does
                return
            assert held.container.slot is not None
            await self._containers.slots.set_egress(held.container.slot, order.egress)
            await self._guest_setup.explain(held.container.slot, order.egress)

    async def inform(self, order: InformOrder) -> bool:
        async with self._order(order.sandbox, "inform"):
            held = self._holdings.get(order.sandbox)
            if held is None or not held.alive or held.container.journal.incarnation != order.incarnation:
                return False
            if held.container.journal.phase is not Phase.RUNNING or held.container.slot is None:
                return False
            await self._guest.set_token(held.container.slot.address, order.access_token)
            await self._guest.set_driver(held.container.slot.address, order.driver)
            return True

    async def run(self, order: RunOrder) -> Ran:
        held = self._holdings.get(order.sandbox)
        if held is None or not held.alive or held.container.journal.incarnation != order.incarnation:
            raise SandboxLost(order.sandbox, "this node does not run it")
        assert held.container.slot is not None
        with _told_of(order.sandbox):
            code, output = await self._guest.run(
                held.container.slot.address, order.command, user=order.user, timeout_s=order.timeout_s
            )
        return Ran(code, output)

    # Looking

    async def report(self) -> NodeReport:
        return await self._reporting.report(self.id, self._pool.counts())

    def watch(self) -> AsyncIterator[Departure]:
        return self._holdings.departures

    # Small things

    @contextlib.asynccontextmanager
    async def _order(self, sandbox: SandboxId, work: str) -> AsyncIterator[None]:
        lock = self._locks.setdefault(sandbox, anyio.Lock())
        with self._busy:
            async with lock:
                self._crash_point(f"{work}.begin")
                with _told_of(sandbox):
                    yield

    async def _capture_disk(self, held: Held, order: CaptureOrder, work: str) -> Captured:
        async with Steps(work, self._crash_point) as steps:
            captured = await self._captures.capture_disk(steps, held.source, order)
            steps.keep()
        return captured

    async def _capturable(self, order: CaptureOrder) -> Held:
        held = self._holdings.get(order.sandbox)
        if held is None or held.dozing:
            raise SandboxLost(order.sandbox, "this node runs nothing of it")
        if held.alive and held.container.journal.incarnation != order.incarnation:
            raise SandboxLost(order.sandbox, f"this node runs its incarnation {held.container.journal.incarnation} by now")
        if not held.alive and (order.keep_memory or not held.container.paths.root.exists()):
            raise SandboxLost(order.sandbox, "its process has ended")
        return held

    async def _note(self, held: Held, **changes: object) -> None:
        held.container = await self._containers.note(held.container, **changes)

    def _arm_adopted(self, adopted: Adopted) -> MemoryAlarm | None:
        """One that runs already is not ended because nothing can guard it, but that is said."""
        try:
            return self._holdings.arm(adopted.container, adopted.size)
        except NodeFull as error:
            log.error("a sandbox runs unguarded: at its memory limit it ends", sandbox=adopted.sandbox, reason=error.message)
            return None


@contextlib.contextmanager
def _told_of(sandbox: SandboxId) -> Iterator[None]:
    """Those below know containers and addresses; whoever gave the order knows the sandbox."""
    try:
        yield
    except GuestUnreachable as error:
        raise GuestUnreachable(sandbox, str(error.facts["detail"])) from error
    except SandboxLost as error:
        raise SandboxLost(sandbox, str(error.facts["detail"])) from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise NodeFull("disk space", "more", "none") from error
        raise
