"""The one background loop. It runs chores: each says when it is due, and which committed records make it due sooner.

What the chores do is what callers ask for, by the same moves. A chore that fails is reported and tried again; it never stops the
others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import anyio
from anyio.abc import TaskStatus

from roost.contracts.clock import Clock
from roost.contracts.store import Change, Followed
from roost.control.lifecycle.alarm import DeadlineTimer
from roost.control.lifecycle.guard import guard
from roost.control.lifecycle.recovery import Recovery
from roost.control.lifecycle.sandbox_tasks import SandboxTasks

AFTER_FAILURE_S = 5.0


class Chore(Protocol):
    async def run(self) -> float | None:
        """Does what is due. Returns when it wants to run next at the latest; None: when a record makes it due."""
        ...

    def due_by(self, record: Followed) -> float | None:
        """When this record, just committed, makes it due; None: it does not. Never blocks."""
        ...

    async def stop(self) -> None:
        """The server ends in an orderly way: saves what would be lost."""
        ...


class Keeper:
    def __init__(
        self, *, clock: Clock, alarm: DeadlineTimer, recovery: Recovery, tasks: SandboxTasks, chores: Sequence[Chore]
    ) -> None:
        self._clock = clock
        self._alarm = alarm
        self._recovery = recovery
        self._tasks = tasks
        self._due: dict[Chore, float] = dict.fromkeys(chores, 0.0)

    def hear(self, changes: Sequence[Change]) -> None:
        """For the feed of changes. Never blocks."""
        for change in changes:
            if change.record is not None:
                for chore in self._due:
                    if (at := chore.due_by(change.record)) is not None:
                        self._bring_forward(chore, at)

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Recovers, says that it is ready, and keeps until cancelled. `Flights.run` must be running."""
        await self.recover()
        try:
            async with anyio.create_task_group() as group:
                self._tasks.start_in(group)
                task_status.started()
                await self._keep()
        finally:
            with anyio.CancelScope(shield=True):
                for chore in self._due:
                    await guard(chore.stop)

    async def recover(self) -> None:
        """See `Recovery.recover`."""
        await self._recovery.recover()

    async def _keep(self) -> None:
        while True:
            now = self._clock.now()
            for chore, at in list(self._due.items()):
                if at <= now:
                    self._due[chore] = now + AFTER_FAILURE_S  # before it runs: a record may bring it forward meanwhile
                    await self._run(chore)
            await self._alarm.wait(min(self._due.values()))

    async def _run(self, chore: Chore) -> None:
        wanted: list[float | None] = []

        async def run() -> None:
            wanted.append(await chore.run())

        before = self._due[chore]
        if await guard(run, name=type(chore).__name__) and self._due[chore] == before:
            self._due[chore] = float("inf")
        for at in wanted:
            if at is not None:
                self._bring_forward(chore, at)

    def _bring_forward(self, chore: Chore, at: float) -> None:
        self._due[chore] = min(self._due[chore], at)
        self._alarm.ring_by(at)
