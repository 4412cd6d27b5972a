"""Background work on single sandboxes: once for each at a time, and not again soon after it failed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from anyio.abc import TaskGroup

from roost.contracts.clock import Clock
from roost.control.lifecycle.guard import guard
from roost.domain.ids import SandboxId

TRY_AGAIN_AFTER_S = 60.0


class SandboxTasks:
    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._group: TaskGroup | None = None
        self._at_work: set[SandboxId] = set()
        self._not_before: dict[SandboxId, float] = {}

    def start_in(self, group: TaskGroup) -> None:
        self._group = group

    def spawn(self, work: Callable[..., Awaitable[None]], *args: object) -> None:
        """Work that is no single sandbox's, or is its own guard against running twice."""
        if self._group is not None:
            self._group.start_soon(guard, work, *args)

    def start(self, sandbox: SandboxId, work: Callable[[SandboxId], Awaitable[None]]) -> None:
        if self._group is None or sandbox in self._at_work or self._not_before.get(sandbox, 0.0) > self._clock.now():
            return
        self._at_work.add(sandbox)
        self._group.start_soon(self._run, sandbox, work)

    async def _run(self, sandbox: SandboxId, work: Callable[[SandboxId], Awaitable[None]]) -> None:
        try:
            done = await guard(work, sandbox)
        finally:
            self._at_work.discard(sandbox)
        if done:
            self._not_before.pop(sandbox, None)
        else:
            self._not_before[sandbox] = self._clock.now() + TRY_AGAIN_AFTER_S
