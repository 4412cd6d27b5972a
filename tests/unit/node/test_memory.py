"""The memory guard, on a runtime and an alarm in memory: whatever happens, the guest is never left frozen."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from roost.contracts.runtime import GuestProcess
from roost.node.memory import LOAN_BYTES, MOST_LOANS, MemoryGuard
from roost.node.stillness import Hold, Stillness
from roost.testing.runtime import FakeRuntime

pytestmark = pytest.mark.anyio


class Guest(FakeRuntime):
    """One container with processes to kill, which tells whether it stands still."""

    def __init__(self, *sizes_mb: int) -> None:
        super().__init__()
        self.frozen = False
        self.alive = {number + 2: size << 20 for number, size in enumerate(sizes_mb)}
        self.reached = anyio.Event()
        self.go_on = anyio.Event()
        self.go_on.set()

    async def freeze(self, container: str) -> None:
        await super().freeze(container)
        self.frozen = True

    async def thaw(self, container: str) -> None:
        await super().thaw(container)
        self.frozen = False

    async def processes(self, container: str) -> tuple[GuestProcess, ...]:
        self.reached.set()
        await self.go_on.wait()
        return (GuestProcess(1, "agent", 99 << 20), *(GuestProcess(pid, f"p{pid}", size) for pid, size in self.alive.items()))

    async def signal(self, container: str, pid: int, number: int) -> None:
        assert self.frozen, "a running guest could spawn faster than it is killed"
        self.alive.pop(pid)


class Bell:
    """An alarm for a guest that may hold `limit_mb`."""

    def __init__(self, guest: Guest, limit_mb: int) -> None:
        self._guest = guest
        self._limit = limit_mb << 20
        self.lent = False
        self.gave_up = anyio.Event()
        self.relieved = anyio.Event()

    def is_out(self) -> bool:
        return sum(self._guest.alive.values()) > self._limit and not self.gave_up.is_set()

    def lend(self, more_bytes: int) -> None:
        self.lent = True

    def take_back(self) -> bool:
        if sum(self._guest.alive.values()) > self._limit:
            return False
        self.lent = False
        self.relieved.set()
        return True

    def give_up(self) -> None:
        self.gave_up.set()

    @contextlib.asynccontextmanager
    async def listen(self) -> AsyncIterator[asyncio.Event]:
        rung = asyncio.Event()
        rung.set()
        yield rung


async def started(guest: Guest, tmp_path: Path) -> Stillness:
    (tmp_path / "config.json").write_text("{}")
    await guest.start("one", tmp_path)
    return Stillness(guest, "one")


def guard(guest: Guest, bell: Bell, stillness: Stillness, **patience: float) -> MemoryGuard:
    return MemoryGuard(runtime=guest, container="one", alarm=bell, stillness=stillness, **patience)


async def test_the_largest_goes_and_the_loan_is_taken_back(tmp_path: Path) -> None:
    guest = Guest(10, 300, 20)
    bell = Bell(guest, 100)
    stillness = await started(guest, tmp_path)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(guard(guest, bell, stillness).run)
        await bell.relieved.wait()
        tasks.cancel_scope.cancel()
    assert sorted(size >> 20 for size in guest.alive.values()) == [10, 20]
    assert not bell.lent and not guest.frozen


async def test_of_many_small_ones_more_go_each_time(tmp_path: Path) -> None:
    guest = Guest(*[13] * 200)
    bell = Bell(guest, 1500)
    left: list[int] = []

    class Watched(Stillness):
        async def thaw(self) -> None:
            left.append(len(guest.alive))
            await super().thaw()

    await started(guest, tmp_path)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(guard(guest, bell, Watched(guest, "one"), relief_limit_s=0.05).run)
        await bell.relieved.wait()
        tasks.cancel_scope.cancel()
    assert left == [199, 194, 174, 95]
    assert not bell.lent and not guest.frozen


async def test_who_is_greedy_again_and_again_is_killed_alone_each_time(tmp_path: Path) -> None:
    guest = Guest(*[20] * 4)
    bell = Bell(guest, 100)
    stillness = await started(guest, tmp_path)
    patient = guard(guest, bell, stillness, calm_s=0)  # each alarm comes long after the last
    for greedy in range(100, 106):
        guest.alive[greedy] = 300 << 20
        bell.relieved = anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(patient.run)
            await bell.relieved.wait()
            tasks.cancel_scope.cancel()
        assert len(guest.alive) == 4 and greedy not in guest.alive


async def test_when_there_is_nobody_left_to_kill_the_kernel_has_its_way(tmp_path: Path) -> None:
    guest = Guest()
    guest.alive = {}
    bell = Bell(guest, -1)  # files fill it, no process does
    stillness = await started(guest, tmp_path)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(guard(guest, bell, stillness).run)
        await bell.gave_up.wait()
        tasks.cancel_scope.cancel()
    assert not guest.frozen


async def test_a_guard_that_is_ended_midway_leaves_the_guest_running(tmp_path: Path) -> None:
    guest = Guest(300)
    guest.go_on = anyio.Event()
    stillness = await started(guest, tmp_path)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(guard(guest, Bell(guest, 100), stillness).run)
        await guest.reached.wait()
        assert guest.frozen
        tasks.cancel_scope.cancel()
    assert not guest.frozen


async def test_a_guard_at_work_does_not_set_going_what_a_capture_holds(tmp_path: Path) -> None:
    guest = Guest(300)
    bell = Bell(guest, 100)
    stillness = await started(guest, tmp_path)
    hold = Hold(stillness)
    await hold.take()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(guard(guest, bell, stillness).run)
        await bell.relieved.wait()
        tasks.cancel_scope.cancel()
    assert guest.frozen, "the capture is not done with it"
    await hold.let_go()
    await hold.let_go()
    assert not guest.frozen


async def test_a_cancelled_caller_still_lets_go(tmp_path: Path) -> None:
    guest = Guest()
    hold = Hold(await started(guest, tmp_path))
    await hold.take()
    with anyio.CancelScope() as scope:
        scope.cancel()
        await hold.let_go()
    assert not guest.frozen


class Greedy(Guest):
    """Eats what is lent before the engine gets to stop it, up to so much."""

    def __init__(self, eats_bytes: int) -> None:
        super().__init__(300)
        self.eats_bytes = eats_bytes
        self.is_stopped = anyio.Event()

    async def freeze(self, container: str) -> None:
        await self.is_stopped.wait()
        await super().freeze(container)


class Purse(Bell):
    def __init__(self, guest: Greedy, limit_mb: int) -> None:
        super().__init__(guest, limit_mb)
        self._greedy = guest
        self.loans: list[int] = []

    def lend(self, more_bytes: int) -> None:
        super().lend(more_bytes)
        self.loans.append(more_bytes)
        if more_bytes > self._greedy.eats_bytes or len(self.loans) == MOST_LOANS:
            self._greedy.is_stopped.set()


@pytest.mark.parametrize(("eats", "loans"), [(0, 1), (2, 3), (100, MOST_LOANS)])
async def test_an_engine_that_waits_for_memory_itself_is_lent_more_within_bounds(tmp_path: Path, eats: int, loans: int) -> None:
    guest = Greedy(eats * LOAN_BYTES)
    bell = Purse(guest, 100)
    stillness = await started(guest, tmp_path)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(guard(guest, bell, stillness).run)
        with anyio.fail_after(60):
            await bell.relieved.wait()
        tasks.cancel_scope.cancel()
    assert bell.loans[:loans] == [LOAN_BYTES * count for count in range(1, loans + 1)]
    assert len(bell.loans) <= MOST_LOANS
    assert not bell.lent and not guest.frozen
