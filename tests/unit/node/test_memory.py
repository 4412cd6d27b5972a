"""The guard, on a runtime and an alarm in memory: whatever happens, the guest is never left frozen."""

from __future__ import annotations

import asyncio
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from roost.domain.sandbox import Size
from roost.domain.victims import GuestProcess
from roost.node.engine.alarms import MemoryHeld
from roost.node.engine.freezing import FreezeHold, FreezeLock
from roost.node.engine.memory import Guard
from roost.testing.runtime import FakeRuntime

pytestmark = pytest.mark.anyio


class Guest(FakeRuntime):
    """One container with processes to kill, which tells whether it stands still."""

    def __init__(self, *sizes_mb: int, program: str = "worker") -> None:
        super().__init__()
        self.frozen = False
        self.program = program
        self.alive = {number + 2: size << 20 for number, size in enumerate(sizes_mb)}
        self.files_bytes = 0
        self.killed: list[list[int]] = []
        self.reached = anyio.Event()
        self.go_on = anyio.Event()
        self.go_on.set()

    @property
    def held_bytes(self) -> int:
        return sum(self.alive.values()) + self.files_bytes

    async def freeze(self, container: str, *, deep: bool = False) -> None:
        await super().freeze(container)
        self.frozen = True
        self.killed.append([])

    async def thaw(self, container: str) -> None:
        await super().thaw(container)
        self.frozen = False

    async def processes(self, container: str, *, in_full: bool = True) -> tuple[GuestProcess, ...]:
        self.reached.set()
        await self.go_on.wait()
        agent = GuestProcess(1, "agent", 0)
        workers = (GuestProcess(pid, self.program, size, 2, 0, self.program) for pid, size in self.alive.items())
        return (agent, *workers)

    async def signal(self, container: str, pid: int, number: int) -> None:
        assert self.frozen, "a running guest could spawn faster than it is killed"
        self.alive.pop(pid)
        self.killed[-1].append(pid)


class Bell:
    """An alarm for a guest that may hold so much."""

    def __init__(self, guest: Guest, limit_mb: int) -> None:
        self._guest = guest
        self._limit = limit_mb << 20
        self.rung = asyncio.Event()
        self.is_eased = False
        self.settled = anyio.Event()
        self.levels: list[int] = []

    async def listen(self) -> None:
        self.rung.set()

    def look(self) -> MemoryHeld:
        held = self._guest.held_bytes
        return MemoryHeld(held, held, held)

    def tasks(self) -> int:
        return 2 * len(self._guest.alive)

    def ease(self) -> None:
        self.is_eased = True

    def settle(self, level_bytes: int) -> float | None:
        self.is_eased = False
        self.levels.append(level_bytes)
        self.settled.set()
        return None

    def close(self, *, lower_wall: bool) -> None: ...


async def started(guest: Guest, tmp_path: Path) -> FreezeLock:
    (tmp_path / "config.json").write_text("{}")
    await guest.start("one", tmp_path)
    return FreezeLock(guest, "one")


def guard(guest: Guest, bell: Bell, freeze_lock: FreezeLock, limit_mb: int, *, pids: int = 0, calm_s: float = 5.0) -> Guard:
    size = Size(memory_mb=limit_mb, pids=pids)
    return Guard(runtime=guest, container="one", size=size, alarm=bell, freeze_lock=freeze_lock, stall_s=0.05, calm_s=calm_s)


async def until_settled(guard: Guard, bell: Bell) -> None:
    bell.settled = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(guard.run)
        with anyio.fail_after(30):
            await bell.settled.wait()
        tasks.cancel_scope.cancel()


async def test_the_largest_goes_and_it_is_listened_again(tmp_path: Path) -> None:
    guest = Guest(10, 300, 20)
    bell = Bell(guest, 100)
    await until_settled(guard(guest, bell, await started(guest, tmp_path), 100), bell)
    assert sorted(size >> 20 for size in guest.alive.values()) == [10, 20]
    assert bell.levels == [100 << 20] and not bell.is_eased and not guest.frozen


async def test_of_many_small_ones_as_many_go_at_once_as_cover_the_whole_excess(tmp_path: Path) -> None:
    guest = Guest(*[13] * 200)
    bell = Bell(guest, 1500)
    await until_settled(guard(guest, bell, await started(guest, tmp_path), 1500), bell)
    assert [len(round) for round in guest.killed] == [92], "frozen once; 1,100 MB and a margin are 92 of them"


async def test_who_comes_back_at_once_goes_as_a_whole_the_third_time(tmp_path: Path) -> None:
    guest = Guest()
    bell = Bell(guest, 100)
    patient = guard(guest, bell, await started(guest, tmp_path), 100)
    for _ in range(3):
        guest.alive |= {1000 + len(guest.alive) + number: 20 << 20 for number in range(8 - len(guest.alive))}
        await until_settled(patient, bell)
    assert [len(round) for round in guest.killed] == [4, 4, 8]


async def test_who_is_greedy_again_and_again_is_killed_alone_each_time(tmp_path: Path) -> None:
    guest = Guest(*[20] * 4)
    bell = Bell(guest, 100)
    patient = guard(guest, bell, await started(guest, tmp_path), 100, calm_s=0)
    for greedy in range(100, 106):
        guest.alive[greedy] = 300 << 20
        await until_settled(patient, bell)
        assert len(guest.alive) == 4 and greedy not in guest.alive


async def test_files_in_memory_are_nobodys_fault_and_the_next_process_lives(tmp_path: Path) -> None:
    guest = Guest(10)
    bell = Bell(guest, 100)
    patient = guard(guest, bell, await started(guest, tmp_path), 100)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(patient.run)
        await anyio.wait_all_tasks_blocked()
        for files_bytes in (200 << 20, 300 << 20):  # the first time it could be old ones; a writer that goes on is killed
            guest.files_bytes = files_bytes
            bell.rung.set()
            while not bell.levels or bell.levels[-1] <= files_bytes:
                await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
    assert not guest.alive
    guest.alive = {7: 5 << 20}  # comes to remove them
    await until_settled(patient, bell)
    assert guest.alive and not guest.frozen
    guest.files_bytes = 0
    await until_settled(patient, bell)
    assert bell.levels[-1] == 100 << 20


async def test_files_that_were_there_before_cost_nobody(tmp_path: Path) -> None:
    """It slept with them, and woke."""
    guest = Guest(10)
    guest.files_bytes = 200 << 20
    bell = Bell(guest, 100)
    await until_settled(guard(guest, bell, await started(guest, tmp_path), 100), bell)
    assert guest.alive and not guest.frozen and bell.levels[-1] > 200 << 20


async def test_a_crowd_goes_as_a_whole(tmp_path: Path) -> None:
    guest = Guest(*[1] * 60)
    bell = Bell(guest, 1000)
    await until_settled(guard(guest, bell, await started(guest, tmp_path), 1000, pids=50), bell)
    assert not guest.alive and not guest.frozen


async def test_machine_tasks_that_the_engine_keeps_are_no_crowd(tmp_path: Path) -> None:
    guest = Guest(*[1] * 40)
    bell = Bell(guest, 1000)
    await until_settled(guard(guest, bell, await started(guest, tmp_path), 1000, pids=50), bell)
    assert len(guest.alive) == 40, "80 of the machine's, 41 of the guest's"


async def test_a_guard_that_is_ended_midway_leaves_the_guest_running(tmp_path: Path) -> None:
    guest = Guest(300)
    guest.go_on = anyio.Event()
    freeze_lock = await started(guest, tmp_path)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(guard(guest, Bell(guest, 100), freeze_lock, 100).run)
        await guest.reached.wait()
        assert guest.frozen
        tasks.cancel_scope.cancel()
    assert not guest.frozen


async def test_a_guard_at_work_does_not_set_going_what_a_capture_holds(tmp_path: Path) -> None:
    guest = Guest(300)
    bell = Bell(guest, 100)
    freeze_lock = await started(guest, tmp_path)
    hold = FreezeHold(freeze_lock)
    await hold.take()
    await until_settled(guard(guest, bell, freeze_lock, 100), bell)
    assert guest.frozen, "the capture is not done with it"
    await hold.let_go()
    await hold.let_go()
    assert not guest.frozen


async def test_a_cancelled_caller_still_lets_go(tmp_path: Path) -> None:
    guest = Guest()
    hold = FreezeHold(await started(guest, tmp_path))
    await hold.take()
    with anyio.CancelScope() as scope:
        scope.cancel()
        await hold.let_go()
    assert not guest.frozen
