"""SQLite's connections and the disk: who waits for it, who is told when, what a failure of it means."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
import sqlalchemy as sa

from roost.domain.errors import Unavailable
from roost.drivers.store.dialect import SQLITE
from roost.drivers.store.sql import sqlite_url
from roost.drivers.store.sqlite import CHECKPOINT_COMMITS, SqliteConnections

pytestmark = pytest.mark.anyio

INSERT = sa.text("INSERT INTO numbers VALUES (:number)")
COUNT = sa.select(sa.func.count().label("count")).select_from(sa.table("numbers"))


class SlowDisk:
    """Takes one wait at a time, each for as long as the test says."""

    def __init__(self) -> None:
        self.begun = 0
        self.error: OSError | None = None
        self._steps = threading.Semaphore(0)

    def sync(self, _: Path) -> None:
        self.begun += 1
        assert self._steps.acquire(timeout=60)
        if self.error is not None:
            raise self.error

    def step(self) -> None:
        self._steps.release()


@pytest.fixture
def disk() -> SlowDisk:
    return SlowDisk()


@pytest.fixture
async def connections(tmp_path: Path, disk: SlowDisk) -> AsyncIterator[SqliteConnections]:
    connections = SqliteConnections(sqlite_url(tmp_path / "roost.db"), SQLITE, 5.0, sync=disk.sync)
    async with connections.writing(durable=False) as session:
        await session.run(sa.text("CREATE TABLE numbers (number INTEGER)"))
    yield connections
    for _ in range(100):
        disk.step()
    await connections.close()


class Writers:
    """Each commits a number, durably or not, and is told of."""

    def __init__(self, connections: SqliteConnections) -> None:
        self._connections = connections
        self.written: list[int] = []
        self.told: list[int] = []

    async def write(self, number: int, durable: bool = True) -> None:
        async def tell() -> None:
            self.told.append(number)

        async with self._connections.writing(durable=durable, then=tell) as session:
            await session.run(INSERT, {"number": number})
            self.written.append(number)


async def until(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(60):
        while not condition():
            await anyio.lowlevel.checkpoint()


async def count(connections: SqliteConnections) -> int:
    async with connections.reading() as session:
        return (await session.run(COUNT)).value


async def test_commits_that_come_while_the_disk_is_busy_share_the_next_wait(
    connections: SqliteConnections, disk: SlowDisk
) -> None:
    writers = Writers(connections)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(writers.write, 0)
        await until(lambda: disk.begun == 1)
        for number in range(1, 20):
            tasks.start_soon(writers.write, number, number % 3 > 0)
        await until(lambda: len(writers.written) == 20)
        assert writers.told == []
        disk.step()
        await until(lambda: writers.told == [0] and disk.begun == 2)
        disk.step()
    assert writers.told == writers.written
    assert disk.begun == 2


async def test_nobody_reads_what_is_not_on_the_disk_yet(connections: SqliteConnections, disk: SlowDisk) -> None:
    writers = Writers(connections)
    seen: list[int] = []

    async def look(way: Callable[[], Awaitable[int]]) -> None:
        seen.append(await way())

    async def look_in_turn() -> int:
        async with connections.writing() as session:
            return (await session.run(COUNT)).value

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(writers.write, 1)
        await until(lambda: disk.begun == 1)
        tasks.start_soon(look, lambda: count(connections))
        tasks.start_soon(look, look_in_turn)
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        assert seen == []
        disk.step()
    assert seen == [1, 1]
    assert disk.begun == 1, "who only reads has nothing to be synced"


async def test_what_need_not_be_durable_waits_for_no_disk(connections: SqliteConnections, disk: SlowDisk) -> None:
    writers = Writers(connections)
    await writers.write(1, durable=False)
    assert (writers.told, disk.begun, await count(connections)) == ([1], 0, 1)


async def test_one_that_is_torn_away_from_the_wait_keeps_nobody_from_being_told(
    connections: SqliteConnections, disk: SlowDisk
) -> None:
    writers = Writers(connections)
    first = asyncio.get_running_loop().create_task(writers.write(1))
    await until(lambda: disk.begun == 1)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(writers.write, 2)
        await until(lambda: len(writers.written) == 2)
        first.cancel()
        await asyncio.wait([first])
        disk.step()
        disk.step()
    assert writers.told == [2], "the store tells of what was left out: it sees the gap"
    assert await count(connections) == 2


async def test_a_disk_that_fails_is_not_written_to_again(connections: SqliteConnections, disk: SlowDisk) -> None:
    """What it was to write is dropped, and the next wait would say that all is well."""
    writers = Writers(connections)
    disk.error = OSError(5, "Input/output error")
    disk.step()
    with pytest.raises(Unavailable, match="Input/output error"):
        await writers.write(1)
    disk.error = None
    with pytest.raises(Unavailable, match="Input/output error"):
        await writers.write(2)
    assert writers.told == []


async def test_the_log_is_moved_into_the_database_and_does_not_grow_for_ever(tmp_path: Path) -> None:
    connections = SqliteConnections(sqlite_url(tmp_path / "roost.db"), SQLITE, 5.0, sync=lambda _: None)
    async with connections.writing(durable=False) as session:
        await session.run(sa.text("CREATE TABLE numbers (number INTEGER)"))
    writers = Writers(connections)
    sizes: list[int] = []
    for number in range(4 * CHECKPOINT_COMMITS):
        await writers.write(number)
        if number % CHECKPOINT_COMMITS == 0:
            sizes.append((tmp_path / "roost.db-wal").stat().st_size)
    assert sizes[3] < 1.2 * sizes[1]
    assert await count(connections) == 4 * CHECKPOINT_COMMITS
    await connections.close()
