"""A sandbox that outgrows its size loses processes, not its engine.

Left alone, the kernel's killer takes the largest process of the cgroup, and that is the engine itself: the whole machine of an
agent would be gone because of one greedy command. An engine that is only refused memory, or a thread, dies as well. So the
sandbox's size is where a bell rings, with the wall far above (`alarms`). Then the guest is frozen, those who have to end are
chosen (`domain.victims`) to cover all of the excess, they are killed, and only then the guest goes on.
"""

from __future__ import annotations

import contextlib
import math
import signal
from collections.abc import AsyncIterator, Collection

import anyio
import structlog
from anyio import to_thread

from roost.contracts.runtime import Runtime
from roost.domain import victims
from roost.domain.errors import RoostError
from roost.domain.sandbox import Size
from roost.domain.victims import GuestProcess, MemoryExcess
from roost.node.engine.alarms import MemoryAlarm
from roost.node.engine.freezing import FreezeHold, FreezeLock

CALM_S = 5.0  # so long after a relief the next ring is another emergency
STALL_S = 0.3  # memory that does not get less for so long was not given back, or was taken again
_STRIKES = 2  # after so many in one emergency a family goes as a whole
_PATIENCE = 10  # stalls until nothing more is expected of those that were killed
_LOOKS_EVERY_S = 0.02
_FULL_S = 0.25  # between two looks at one that is full of what no killed process gives back
_SPACING_S = 0.05  # a guest that reads large files makes its bell ring without end
_MARGIN_SHARE, _LEAST_MARGIN_BYTES = 16, 16 << 20
_SMALL_SHARE = 8  # all processes together that hold less than such a part of the limit are not what fills it

log = structlog.get_logger(__name__)


class Guard:
    """Watches one container."""

    def __init__(
        self, *, runtime: Runtime, container: str, size: Size, alarm: MemoryAlarm, freeze_lock: FreezeLock,
        stall_s: float = STALL_S, calm_s: float = CALM_S,
    ) -> None:  # fmt: skip
        self._runtime = runtime
        self._container = container
        self._alarm = alarm
        self._freeze_lock = freeze_lock
        self._limit_bytes = (size.memory_mb << 20) or math.inf
        self._most_tasks = size.pids or math.inf
        self._level_bytes = self._limit_bytes  # above it somebody has to end
        self._margin_bytes = max(_LEAST_MARGIN_BYTES, (size.memory_mb << 20) // _MARGIN_SHARE)
        self._condemned: frozenset[int] = frozenset()
        self._relieved_at = -math.inf
        self._strikes = 0
        self._is_first = True  # nobody was killed yet
        self._stall_s = stall_s
        self._calm_s = calm_s

    async def run(self) -> None:
        """Guards until cancelled or the container is gone."""
        try:
            await self._alarm.listen()
            look_in_s: float | None = None
            while True:
                with anyio.move_on_after(look_in_s):
                    await self._alarm.rung.wait()
                self._alarm.rung.clear()
                look_in_s = await self._tend()
                await anyio.sleep(_SPACING_S)
        except (RoostError, OSError) as error:
            log.info("no longer guarding memory", container=self._container, reason=str(error))

    async def _tend(self) -> float | None:
        """All is within its limits, or as near to it as can be. How soon to look again unasked."""
        if self._alarm.tasks() > self._most_tasks:
            await self._end_crowd()
        if math.isinf(self._limit_bytes):
            return None
        held = self._alarm.look().held_bytes
        if held > self._level_bytes:
            await self._end_hogs()
        elif held <= self._limit_bytes:
            self._level_bytes = self._limit_bytes
        look_in_s = await to_thread.run_sync(self._alarm.settle, int(self._level_bytes))
        return look_in_s if self._level_bytes == self._limit_bytes else _FULL_S

    # Memory

    async def _end_hogs(self) -> None:
        """Processes are killed until memory is below the limit again."""
        self._alarm.ease()
        if anyio.current_time() - self._relieved_at >= self._calm_s:
            self._strikes = 0
        patience = _PATIENCE
        while (before := self._alarm.look()).held_bytes > self._level_bytes:
            self._strikes += 1
            ended = await self._kill_hogs(again=self._strikes > _STRIKES)
            if ended:
                _tell("out of memory", self._container, ended)
                patience = _PATIENCE
            elif not (patience := patience - 1):
                # Files in memory (/tmp, /dev/shm) fill it. Whoever wrote them has ended; there is nobody left to blame.
                self._level_bytes = before.held_bytes + self._margin_bytes
                log.warning("memory is full of files", container=self._container, held_mb=before.held_bytes >> 20)
            await self._wait_while_falling()
        self._relieved_at = anyio.current_time()
        self._condemned = frozenset()  # their numbers will be others'

    async def _kill_hogs(self, *, again: bool) -> tuple[GuestProcess, ...]:
        async with _still(self._freeze_lock):
            listed = await self._runtime.processes(self._container)
            held = self._alarm.look()  # it grew until it stood still
            self._condemned &= {each.pid for each in listed}
            need = MemoryExcess(int(held.held_bytes - self._limit_bytes), held.guest_bytes, self._margin_bytes)
            is_first, self._is_first = self._is_first, False
            if is_first and victims.most_to_regain(listed) < max(need.missing_bytes, self._limit_bytes / _SMALL_SHARE):
                # Files fill it, and one that wakes or is adopted has them from before: whoever runs in it now did not write them.
                # A writer that goes on is killed the next time.
                self._level_bytes = held.held_bytes + self._margin_bytes
                return ()
            chosen = victims.over_memory(listed, need=need, condemned=self._condemned, again=again)
            await self._kill(chosen)
            return chosen

    async def _wait_while_falling(self) -> None:
        """The engine gives memory back when it can, and nothing tells."""
        least, since = math.inf, anyio.current_time()
        while (held := self._alarm.look().held_bytes) > self._limit_bytes:
            if held < least:
                least, since = held, anyio.current_time()
            elif anyio.current_time() - since > self._stall_s:
                return
            await anyio.sleep(_LOOKS_EVERY_S)

    # Tasks

    async def _end_crowd(self) -> None:
        """A fork bomb makes processes faster than signals reach them; frozen, it makes none."""
        if not await self._crowd():
            return
        async with _still(self._freeze_lock):
            chosen = await self._crowd()
            await self._kill(chosen)
        if chosen:
            _tell("too many processes", self._container, chosen)

    async def _crowd(self) -> tuple[GuestProcess, ...]:
        listed = await self._runtime.processes(self._container, in_full=False)
        self._condemned &= {each.pid for each in listed}
        going_on = [each for each in listed if each.pid not in self._condemned]
        return victims.over_tasks(going_on, limit=int(self._most_tasks))

    async def _kill(self, chosen: Collection[GuestProcess]) -> None:
        for each in chosen:
            await self._runtime.signal(self._container, each.pid, signal.SIGKILL)
        self._condemned |= {each.pid for each in chosen}


@contextlib.asynccontextmanager
async def _still(freeze_lock: FreezeLock) -> AsyncIterator[None]:
    hold = FreezeHold(freeze_lock)
    try:
        await hold.take()
        yield
    finally:
        await hold.let_go()  # shielded: whatever ends the guard, the guest must not stay frozen


def _tell(why: str, container: str, ended: Collection[GuestProcess]) -> None:
    first = next(iter(ended))
    log.warning(
        f"{why}: killed processes inside",
        container=container,
        processes=len(ended),
        first=first.command[:200],
        memory_mb=sum(each.memory_bytes for each in ended) >> 20,
    )
