"""The bells of a node's sandboxes: one rings when what runs in a cgroup outgrows the sandbox's size.

The size is no wall. An engine that is refused a page or a thread dies, and the whole machine of an agent with it; so the wall
(the cgroup's hard limit) stands far above, by a headroom, and the guard (`memory`) acts in between. On cgroup v1 an eventfd
rings at the size, on v2 `memory.high` does, and one inotify instance hears all sandboxes of the node: users have few of them.
Nothing rings when processes become too many, so their number is looked at, once a second for the whole node.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import anyio
import structlog
from anyio import to_thread

from roost.domain.errors import NodeFull
from roost.domain.placement import headroom_bytes
from roost.domain.sandbox import Size
from roost.node.engine.meter import CGROUPS, cache_bytes, memory_stat, memory_total_bytes

_TASKS_EVERY_S = 1.0
_ENGINE_TASKS = 4  # of the machine's for one of the guest's: two as a rule, more of one that runs on many processors
_LEAST_TASKS = 1024
_CACHE_SLACK_BYTES = 128 << 20  # so much of the files' cache must be left to give way when the wall is lowered for a moment
_START_LOOKS_EVERY_S = 0.005
_NEAR_S = 0.05  # between two looks at a sandbox that is nearly full, of which no edge tells
_IN_MODIFY, _IN_NONBLOCK_CLOEXEC = 0x2, 0o2004000
_EVENT = struct.Struct("iIII")

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class MemoryHeld:
    """What a cgroup holds now."""

    all_bytes: int
    held_bytes: int  # without the cache of files, which gives way by itself
    guest_bytes: int  # the guest's own memory; the rest is the engine's


class MemoryAlarm(Protocol):
    """The bell of one sandbox, with its wall raised, until it is closed."""

    rung: asyncio.Event

    async def listen(self) -> None:
        """It rings from now on, at once if it is full already. Raises OSError."""
        ...

    def look(self) -> MemoryHeld: ...

    def tasks(self) -> int:
        """The machine's tasks in it. The engine reuses them and gives none back: the guest may have far fewer by now."""
        ...

    def ease(self) -> None:
        """The engine is not slowed while it is helped."""
        ...

    def settle(self, level_bytes: int) -> float | None:
        """Rings again above this level. How soon to look again where no ring tells; None: it rings. May block for a moment."""
        ...

    def close(self, *, lower_wall: bool) -> None:
        """Nobody listens any more. With the wall lowered, the size is it."""
        ...


class Alarms:
    """Those of one node. `run` hears for all of them."""

    def __init__(self, cgroups: Path = CGROUPS, *, headroom: int | None = None) -> None:
        self._cgroups = cgroups
        self._unified = (cgroups / "cgroup.controllers").exists()
        self._headroom_bytes = headroom_bytes(memory_total_bytes()) if headroom is None else headroom
        self._armed: dict[MemoryAlarm, int] = {}
        self._ears: _Ears | None = None

    def arm(self, cgroup: str, size: Size) -> MemoryAlarm | None:
        """The bell of this cgroup, whose processes run; None where it has no limits. Raises NodeFull when the machine cannot
        give one: an unguarded sandbox is not to be had."""
        if not size.memory_mb and not size.pids:
            return None
        limit = (size.memory_mb << 20) or None
        wall = limit + self._headroom_bytes if limit else None
        try:
            alarm = self._make(cgroup.lstrip("/"), limit, wall)
            alarm.raise_tasks(size.pids)
        except OSError as error:
            raise NodeFull("what guards a sandbox's memory", "one more", f"none ({error})") from error
        self._armed[alarm] = size.pids
        return alarm

    def disarm(self, alarm: MemoryAlarm, *, lower_wall: bool = True) -> None:
        """May be repeated. A wall that is not lowered stays for one that cannot grow: to lower it may take a while."""
        if self._armed.pop(alarm, None) is not None:
            with contextlib.suppress(OSError):  # its cgroup is gone
                alarm.close(lower_wall=lower_wall)

    async def run(self) -> None:
        """Rings for those that have too many tasks, until cancelled."""
        try:
            while True:
                await anyio.sleep(_TASKS_EVERY_S)
                for alarm, limit in self._armed.items():
                    if limit and alarm.tasks() > limit:
                        alarm.rung.set()
        finally:
            for alarm in list(self._armed):
                self.disarm(alarm)
            if self._ears is not None:
                self._ears.close()
                self._ears = None

    def _make(self, cgroup: str, limit: int | None, wall: int | None) -> SplitAlarm | UnifiedAlarm:
        if not self._unified:
            return SplitAlarm(self._cgroups / "memory" / cgroup, self._cgroups / "pids" / cgroup, limit, wall)
        if self._ears is None:
            self._ears = _Ears()
        return UnifiedAlarm(self._cgroups / cgroup, self._ears, limit, wall)


async def raise_wall(cgroup: str, size: Size, cgroups: Path = CGROUPS) -> None:
    """For an image that nearly fills its size: the engine needs more than that to load it. Run beside the engine's start, it
    ends when the wall is up: as soon as the engine has read the cgroup's limit, which it shows the guest as its memory."""
    unified = (cgroups / "cgroup.controllers").exists()
    folder = (cgroups if unified else cgroups / "memory") / cgroup.lstrip("/")
    while not any(_has_read_limit(pid) for pid in _pids(folder)):  # noqa: ASYNC110  nothing tells
        await anyio.sleep(_START_LOOKS_EVERY_S)
    wall = (size.memory_mb << 20) + headroom_bytes(memory_total_bytes())
    (folder / ("memory.max" if unified else "memory.limit_in_bytes")).write_text(str(wall))


def _pids(folder: Path) -> list[str]:
    try:
        return (folder / "cgroup.procs").read_text().split()
    except OSError:  # not made yet
        return []


def _has_read_limit(pid: str) -> bool:
    try:
        return b"--total-memory" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False


class _Files:
    """The files of a cgroup that both kinds of bell read and write."""

    def __init__(self, memory: Path, tasks: Path) -> None:
        self.rung = asyncio.Event()
        self._memory = memory
        self._pids = tasks
        self._count = -1

    def raise_tasks(self, limit: int) -> None:
        """A thread that the engine cannot have ends it: the wall stands far above what the guest may have."""
        if not limit:
            return
        most = int(Path("/proc/sys/kernel/pid_max").read_text()) // 2
        wall = max(min(_ENGINE_TASKS * limit, most), limit + _LEAST_TASKS)
        (self._pids / "pids.max").write_text(str(wall))
        self._count = os.open(self._pids / "pids.current", os.O_RDONLY | os.O_CLOEXEC)

    def tasks(self) -> int:
        try:
            return int(os.pread(self._count, 32, 0)) if self._count >= 0 else 0
        except (OSError, ValueError):
            return 0

    def _shut(self) -> None:
        if self._count >= 0:
            os.close(self._count)
            self._count = -1

    def _held(self, usage_file: str) -> MemoryHeld:
        stat, usage = memory_stat(self._memory), int((self._memory / usage_file).read_text())
        return MemoryHeld(usage, usage - cache_bytes(stat), stat.get("shmem", 0))


class SplitAlarm(_Files):
    """cgroup v1: an eventfd rings when memory crosses the limit, upwards or downwards."""

    def __init__(self, folder: Path, tasks: Path, limit_bytes: int | None, wall_bytes: int | None) -> None:
        super().__init__(folder, tasks)
        self._limit_bytes = limit_bytes
        self._wall_bytes = wall_bytes
        self._bell = -1
        if limit_bytes is None:
            return
        self._write("memory.oom_control", 0)  # a server of an older Roost put the kernel's killer off
        self._write("memory.limit_in_bytes", wall_bytes)
        self._bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)

    async def listen(self) -> None:
        if self._bell < 0:
            return
        await to_thread.run_sync(self._register)  # the kernel takes 15 ms for it
        asyncio.get_running_loop().add_reader(self._bell, self._ring)
        self.rung.set()

    def look(self) -> MemoryHeld:
        return self._held("memory.usage_in_bytes")

    def ease(self) -> None:
        """Nothing slows it."""

    def settle(self, level_bytes: int) -> float | None:
        assert self._limit_bytes is not None and self._wall_bytes is not None
        held = self.look()
        if held.all_bytes < self._limit_bytes:
            return None
        if held.held_bytes + _CACHE_SLACK_BYTES > self._limit_bytes:
            return _NEAR_S
        # Only files that were read fill it. Below the limit it can be heard again: half of their cache gives way.
        with contextlib.suppress(OSError):
            self._write("memory.limit_in_bytes", held.held_bytes + (self._limit_bytes - held.held_bytes) // 2)
        self._write("memory.limit_in_bytes", self._wall_bytes)
        return None if self.look().all_bytes < self._limit_bytes else _NEAR_S

    def close(self, *, lower_wall: bool) -> None:
        self._shut()
        if self._bell < 0:
            return
        asyncio.get_running_loop().remove_reader(self._bell)
        os.close(self._bell)
        self._bell = -1
        if lower_wall:
            self._write("memory.limit_in_bytes", self._limit_bytes)

    def _register(self) -> None:
        with (self._memory / "memory.usage_in_bytes").open() as usage:
            self._write("cgroup.event_control", f"{self._bell} {usage.fileno()} {self._limit_bytes}")

    def _ring(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._bell)
        self.rung.set()

    def _write(self, name: str, value: object) -> None:
        (self._memory / name).write_text(str(value))


class UnifiedAlarm(_Files):
    """cgroup v2: above `memory.high` allocations are slowed, and `memory.events` changes. Files' cache gives way by itself."""

    def __init__(self, folder: Path, ears: _Ears, limit_bytes: int | None, wall_bytes: int | None) -> None:
        super().__init__(folder, folder)
        self._limit_bytes = limit_bytes
        self._ears = ears
        self._watch = -1
        if limit_bytes is None:
            return
        self._watch = ears.listen(folder / "memory.events", self.rung)
        try:
            (folder / "memory.max").write_text(str(wall_bytes))
            (folder / "memory.high").write_text(str(limit_bytes))
        except OSError:
            ears.forget(self._watch)
            raise

    async def listen(self) -> None:
        self.rung.set()

    def look(self) -> MemoryHeld:
        return self._held("memory.current")

    def ease(self) -> None:
        (self._memory / "memory.high").write_text("max")

    def settle(self, level_bytes: int) -> float | None:
        (self._memory / "memory.high").write_text(str(level_bytes))
        return None if self.look().held_bytes < level_bytes else _NEAR_S

    def close(self, *, lower_wall: bool) -> None:
        """What is slowed at its limit does no harm until somebody listens again."""
        self._shut()
        if self._watch >= 0:
            self._ears.forget(self._watch)
            self._watch = -1
            if lower_wall:
                (self._memory / "memory.high").write_text(str(self._limit_bytes))


class _Ears:
    """One inotify instance for all: a user may have 128 of them, and far more watches."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = self._libc.inotify_init1(_IN_NONBLOCK_CLOEXEC)
        if self._descriptor < 0:
            raise OSError(ctypes.get_errno(), "no inotify instance is left (fs.inotify.max_user_instances)")
        self._bells: dict[int, asyncio.Event] = {}
        asyncio.get_running_loop().add_reader(self._descriptor, self._hear)

    def listen(self, file: Path, bell: asyncio.Event) -> int:
        watch = self._libc.inotify_add_watch(self._descriptor, os.fsencode(file), _IN_MODIFY)
        if watch < 0:
            raise OSError(ctypes.get_errno(), f"{file} cannot be watched (fs.inotify.max_user_watches)")
        self._bells[watch] = bell
        return watch

    def forget(self, watch: int) -> None:
        if self._bells.pop(watch, None) is not None:
            self._libc.inotify_rm_watch(self._descriptor, watch)

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._descriptor)
        os.close(self._descriptor)

    def _hear(self) -> None:
        with contextlib.suppress(BlockingIOError):
            for watch in _watches(os.read(self._descriptor, 1 << 16)):
                if watch < 0:  # the queue ran over: whoever rang is not known
                    for bell in self._bells.values():
                        bell.set()
                elif bell := self._bells.get(watch):
                    bell.set()


def _watches(events: bytes) -> Iterator[int]:
    at = 0
    while at < len(events):
        watch, _, _, length = _EVENT.unpack_from(events, at)
        yield watch
        at += _EVENT.size + length
