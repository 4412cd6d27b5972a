"""The sandboxes that this node holds something of, and the watch over those that live: who ends unasked is told."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Awaitable, Callable, ItemsView
from dataclasses import dataclass

import anyio
import structlog
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream

from roost.domain.ids import SandboxId
from roost.domain.node import Departure
from roost.domain.sandbox import Size
from roost.node.engine.alarms import Alarms, MemoryAlarm
from roost.node.engine.captures import CaptureSource
from roost.node.engine.containers import Container, Containers
from roost.node.engine.freezing import FreezeLock
from roost.node.engine.memory import Guard
from roost.node.inventory import Phase

ENDED_MARK = "var/lib/roost/ended"  # written by the agent when it ends in order

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Held:
    """A sandbox that this node holds something of."""

    container: Container
    alive: bool
    size: Size
    freeze_lock: FreezeLock
    alarm: MemoryAlarm | None = None
    dozing: bool = False  # its sandbox sleeps; its frozen process is kept. Written by `Holdings`
    watch: anyio.CancelScope | None = None

    @property
    def source(self) -> CaptureSource:
        """It, as what is captured."""
        return CaptureSource(self.container, self.size, self.freeze_lock)

    def rest(self) -> None:
        """Its process is about to be ended, and nobody is to be told."""
        self.alive = self.dozing = False
        self.unwatch()

    def unwatch(self) -> None:
        if self.watch is not None:
            self.watch.cancel()
            self.watch = None


class Holdings:
    def __init__(self, *, containers: Containers, alarms: Alarms, tasks: TaskGroup) -> None:
        self._containers = containers
        self._alarms = alarms
        self._tasks = tasks
        self._held: dict[SandboxId, Held] = {}
        self._departed, self._departures = anyio.create_memory_object_stream[Departure](float("inf"))

    @property
    def departures(self) -> MemoryObjectReceiveStream[Departure]:
        return self._departures

    @property
    def any_alive(self) -> bool:
        return any(held.alive and not held.dozing for held in self._held.values())

    def get(self, sandbox: SandboxId) -> Held | None:
        return self._held.get(sandbox)

    def items(self) -> ItemsView[SandboxId, Held]:
        return self._held.items()

    def forget(self, sandbox: SandboxId) -> None:
        self._held.pop(sandbox, None)

    def arm(self, container: Container, size: Size) -> MemoryAlarm | None:
        """What tells when its processes outgrow the size. Raises NodeFull: what cannot be guarded is not to run."""
        return self._alarms.arm(self._containers.cgroup(container.journal.container), size)

    def add(
        self, sandbox: SandboxId, container: Container, *, alive: bool, size: Size, alarm: MemoryAlarm | None = None
    ) -> None:  # fmt: skip
        """Held from now on, in the place of what was held of it before, and watched if it lives."""
        runtime = self._containers.engines.of(container.journal.engine) or self._containers.engines.current
        frozen = container.journal.phase is Phase.FROZEN
        held = Held(container, alive, size, FreezeLock(runtime, container.journal.container, frozen=frozen), alarm)
        self._held[sandbox] = held
        if alive:
            self._start_watch(sandbox, held)

    def doze(self, sandbox: SandboxId, held: Held, end: Callable[[SandboxId], Awaitable[None]]) -> None:
        """Its sandbox sleeps: it needs no guard, and `end` is called in place of telling anybody if its process ends."""
        if held.alarm is not None:
            self._alarms.disarm(held.alarm, lower_wall=False)
            held.alarm = None
        held.unwatch()
        held.dozing = True
        held.watch = anyio.CancelScope()
        self._tasks.start_soon(self._watch_dozer, sandbox, held, held.watch, end)

    def rouse(self, sandbox: SandboxId, held: Held) -> None:
        """It is about to run again: guarded and watched. Raises NodeFull when nothing can guard it."""
        if held.alarm is None:
            held.alarm = self.arm(held.container, held.size)
            held.unwatch()
            held.dozing = False
            self._start_watch(sandbox, held)

    async def close(self) -> None:
        """Nobody is watched any more; those who live, live on."""
        for held in self._held.values():
            held.unwatch()
        await self._departed.aclose()
        await self._departures.aclose()

    def _start_watch(self, sandbox: SandboxId, held: Held) -> None:
        held.watch = anyio.CancelScope()
        self._tasks.start_soon(self._watch, sandbox, held, held.watch)

    async def _watch_dozer(
        self, sandbox: SandboxId, held: Held, scope: anyio.CancelScope, end: Callable[[SandboxId], Awaitable[None]]
    ) -> None:
        with scope:
            await self._containers.engine_of(held.container).wait(held.container.journal.container)
            held.alive, held.watch = False, None
            with anyio.CancelScope(shield=True):
                await end(sandbox)

    async def _watch(self, sandbox: SandboxId, held: Held, scope: anyio.CancelScope) -> None:
        with scope:
            await self._wait_for_end(held)
            held.alive = False
            journal = held.container.journal
            log.warning("a sandbox's process ended by itself", sandbox=sandbox, incarnation=journal.incarnation)
            in_order = _left_in_order(held)
            detail = "it was shut down from inside" if in_order else "its process ended unexpectedly"
            with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                self._departed.send_nowait(Departure(sandbox, journal.incarnation, detail, in_order=in_order))

    async def _wait_for_end(self, held: Held) -> None:
        """Returns when the container's process has ended; until then its memory is guarded."""
        runtime, name, alarm = self._containers.engine_of(held.container), held.container.journal.container, held.alarm
        try:
            async with anyio.create_task_group() as tasks:
                if alarm is not None:
                    size, freeze_lock = held.size, held.freeze_lock
                    guard = Guard(runtime=runtime, container=name, size=size, alarm=alarm, freeze_lock=freeze_lock)
                    tasks.start_soon(guard.run)
                await runtime.wait(name)
                tasks.cancel_scope.cancel()
        finally:
            if alarm is not None:
                self._alarms.disarm(alarm)


def _left_in_order(held: Held) -> bool:
    """Whether PID 1 ended because it was told to, inside: it leaves a mark. Anything else is a loss."""
    return os.path.lexists(held.container.paths.root / ENDED_MARK)
