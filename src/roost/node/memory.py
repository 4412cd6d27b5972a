"""Out of memory inside a sandbox kills processes inside it, not the sandbox: one, and more at a time if one is not enough.

Left alone, the kernel's killer takes the largest process of the cgroup, and that is the engine itself: the whole machine of an
agent would be gone because of one greedy command. So the node hears of it first. On cgroup v1 the killer is off and the node
is told when an allocation has to wait; it lends a little memory, has the guest's largest process killed, and takes the loan
back. On v2 it is told when the soft limit holds allocations up, which comes before the hard one.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import math
import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Protocol

import anyio
import structlog

from roost.contracts.runtime import GuestProcess, Runtime
from roost.domain.errors import RoostError
from roost.domain.sandbox import Size
from roost.node.meter import CGROUPS
from roost.node.steps import both
from roost.node.stillness import Hold, Stillness

LOAN_BYTES = 64 << 20  # what the engine needs to carry out the kill
MOST_LOANS = 16
CALM_S = 5.0  # so long after a relief the next alarm is another emergency
_HARDER, _HARDEST_BYTES = 4, 1 << 30  # how much more is killed each time within one, and the most
_LOOKS_EVERY_S = 0.02
RELIEF_LIMIT_S = 2.0
_FULL_SHARE = 0.97  # of the soft limit, in memory that cannot be reclaimed
_IN_MODIFY, _IN_NONBLOCK_CLOEXEC = 0x2, 0o2004000

log = structlog.get_logger(__name__)


class Alarm(Protocol):
    """Rings when a container is out of memory."""

    def is_out(self) -> bool: ...
    def lend(self, more_bytes: int) -> None: ...
    def take_back(self) -> bool: ...
    def give_up(self) -> None: ...
    def listen(self) -> contextlib.AbstractAsyncContextManager[asyncio.Event]: ...


class MemoryGuard:
    """Watches one container."""

    def __init__(
        self,
        *,
        runtime: Runtime,
        container: str,
        alarm: Alarm,
        stillness: Stillness,
        relief_limit_s: float = RELIEF_LIMIT_S,
        calm_s: float = CALM_S,
    ) -> None:
        self._runtime = runtime
        self._container = container
        self._alarm = alarm
        self._stillness = stillness
        self._loans = 0
        self._wanted_bytes = 0
        self._relieved_at = -math.inf
        self._relief_limit_s = relief_limit_s
        self._calm_s = calm_s

    async def run(self) -> None:
        """Guards until cancelled or the container is gone."""
        try:
            async with self._alarm.listen() as rung:
                while True:
                    await rung.wait()
                    rung.clear()
                    while self._alarm.is_out():
                        if not await self._relieve():
                            self._alarm.give_up()
                            break
        except (RoostError, OSError) as error:
            log.info("no longer guarding memory", container=self._container, reason=str(error))

    async def _relieve(self) -> bool:
        """Processes are killed, the largest first, until the loan could be taken back. False when there is none left but the
        agent: then the kernel may have its way."""
        if anyio.current_time() - self._relieved_at >= self._calm_s:
            self._wanted_bytes = 0
        self._lend()
        while True:
            killed = anyio.Event()
            victims, _ = await both(self._kill_largest(killed, self._wanted()), self._lend_until(killed))
            if not victims:
                return False
            log.warning(
                "out of memory: killed the largest processes",
                container=self._container,
                processes=len(victims),
                largest=victims[0].command[:200],
                memory_mb=sum(each.memory_bytes for each in victims) >> 20,
            )
            with anyio.move_on_after(self._relief_limit_s):
                while not self._alarm.take_back():  # noqa: ASYNC110  the engine gives memory up when it can: nothing tells
                    await anyio.sleep(_LOOKS_EVERY_S)
                self._loans = 0
                self._relieved_at = anyio.current_time()
                return True

    async def _lend_until(self, done: anyio.Event) -> None:
        """What is greedy may eat a loan before the engine has stopped it, and an engine that waits for memory stops nothing."""
        while True:
            with anyio.move_on_after(_LOOKS_EVERY_S):
                await done.wait()
                return
            if self._alarm.is_out():
                self._lend()

    def _lend(self) -> None:
        if self._loans < MOST_LOANS:
            self._loans += 1
            self._alarm.lend(self._loans * LOAN_BYTES)

    def _wanted(self) -> int:
        """How much the next victims must hold. First the largest alone, whatever it holds; but among a thousand small ones,
        most of whose memory is shared, one at a time would take minutes."""
        wanted, self._wanted_bytes = self._wanted_bytes, max(LOAN_BYTES, self._wanted_bytes * _HARDER)
        return min(wanted, _HARDEST_BYTES)

    async def _kill_largest(self, killed: anyio.Event, wanted_bytes: int) -> list[GuestProcess]:
        hold = Hold(self._stillness)
        victims: list[GuestProcess] = []
        held_bytes = 0
        try:
            await hold.take()
            listed = await self._runtime.processes(self._container)
            for each in sorted(listed, key=lambda each: -each.memory_bytes):
                if victims and held_bytes >= wanted_bytes:
                    break
                if each.pid != 1:
                    await self._runtime.signal(self._container, each.pid, signal.SIGKILL)
                    victims.append(each)
                    held_bytes += each.memory_bytes
            return victims
        finally:
            killed.set()
            await hold.let_go()  # shielded: whatever ends the guard, the guest must not stay frozen


def alarm_for(cgroup: str, size: Size, cgroups: Path = CGROUPS) -> Alarm | None:
    """The alarm of a container's cgroup; None where its memory has no limit."""
    if not size.memory_mb:
        return None
    limit = size.memory_mb << 20
    if (cgroups / "cgroup.controllers").exists():
        return UnifiedAlarm(cgroups / cgroup.lstrip("/"), limit)
    return SplitAlarm(cgroups / "memory" / cgroup.lstrip("/"), limit)


class SplitAlarm:
    """cgroup v1: the killer is off, allocations wait, and an eventfd tells."""

    def __init__(self, folder: Path, limit_bytes: int) -> None:
        self._folder = folder
        self._limit_bytes = limit_bytes

    def is_out(self) -> bool:
        return "under_oom 1" in (self._folder / "memory.oom_control").read_text()

    def lend(self, more_bytes: int) -> None:
        (self._folder / "memory.limit_in_bytes").write_text(str(self._limit_bytes + more_bytes))

    def take_back(self) -> bool:
        try:
            (self._folder / "memory.limit_in_bytes").write_text(str(self._limit_bytes))
        except OSError:
            return False  # more than that is in use still
        return True

    def give_up(self) -> None:
        """The kernel's killer is on again."""
        (self._folder / "memory.oom_control").write_text("0")

    @contextlib.asynccontextmanager
    async def listen(self) -> AsyncIterator[asyncio.Event]:
        rung = asyncio.Event()
        bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        try:
            with (self._folder / "memory.oom_control").open() as control:
                (self._folder / "cgroup.event_control").write_text(f"{bell} {control.fileno()}")
            (self._folder / "memory.oom_control").write_text("1")
            self.take_back()  # what a server lent that died meanwhile
            with _reading(bell, rung):
                yield rung
        finally:
            os.close(bell)
            # Nobody listens any more: better the kernel's killer than waiting for ever.
            with contextlib.suppress(OSError):
                (self._folder / "memory.oom_control").write_text("0")


class UnifiedAlarm:
    """cgroup v2: above the soft limit allocations are slowed and `memory.events` changes."""

    def __init__(self, folder: Path, limit_bytes: int) -> None:
        self._folder = folder
        self._limit_bytes = limit_bytes

    def is_out(self) -> bool:
        figures = dict(line.split() for line in (self._folder / "memory.stat").read_text().splitlines())
        held = int(figures.get("anon", 0)) + int(figures.get("shmem", 0))
        return held >= self._limit_bytes * _FULL_SHARE

    def lend(self, more_bytes: int) -> None:
        (self._folder / "memory.max").write_text(str(self._limit_bytes + more_bytes))
        (self._folder / "memory.high").write_text("max")

    def take_back(self) -> bool:
        if self.is_out():
            return False
        (self._folder / "memory.high").write_text(str(self._limit_bytes))
        (self._folder / "memory.max").write_text(str(self._limit_bytes + LOAN_BYTES))
        return True

    def give_up(self) -> None:
        """Nothing to do: at the hard limit the kernel's killer was never off."""

    @contextlib.asynccontextmanager
    async def listen(self) -> AsyncIterator[asyncio.Event]:
        rung = asyncio.Event()
        libc = ctypes.CDLL(None, use_errno=True)
        watch = libc.inotify_init1(_IN_NONBLOCK_CLOEXEC)
        if watch < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")
        try:
            if libc.inotify_add_watch(watch, os.fsencode(self._folder / "memory.events"), _IN_MODIFY) < 0:
                raise OSError(ctypes.get_errno(), "inotify_add_watch")
            (self._folder / "memory.max").write_text(str(self._limit_bytes + LOAN_BYTES))
            (self._folder / "memory.high").write_text(str(self._limit_bytes))
            with _reading(watch, rung):
                yield rung
        finally:
            os.close(watch)


@contextlib.contextmanager
def _reading(descriptor: int, rung: asyncio.Event) -> Iterator[None]:
    def ring() -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(descriptor, 4096)
        rung.set()

    loop = asyncio.get_running_loop()
    loop.add_reader(descriptor, ring)
    try:
        yield
    finally:
        loop.remove_reader(descriptor)
