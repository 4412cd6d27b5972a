from __future__ import annotations

import asyncio
import resource
import sqlite3
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
import sqlalchemy as sa
from alembic import command

from roost.contracts.store import Change, EventQuery, Query
from roost.domain.errors import Fault, Invalid, Unavailable
from roost.domain.ids import SandboxId
from roost.domain.node import Usage
from roost.domain.sandbox import Sandbox
from roost.domain.snapshot import Snapshot
from roost.drivers.store.schema import alembic_config
from roost.drivers.store.sealing import Seals
from roost.drivers.store.sql import SqlStore, sqlite_url
from roost.drivers.store.sqlite import connect
from roost.testing.conformance.records import append, event, keep, numbers, read, sandbox

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "roost.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqlStore]:
    store = SqlStore(sqlite_url(path), seals=Seals(bytes(32)), busy_timeout_s=0.05)
    await store.migrate()
    yield store
    await store.close()


KILLED_AFTER_COMMIT = """
import asyncio, os, signal, sys
from pathlib import Path
from roost.drivers.store.schema import alembic_config
from roost.drivers.store.sealing import Seals
from roost.drivers.store.sql import SqlStore, sqlite_url
from roost.testing.conformance.records import event, keep, sandbox

async def main():
    store = SqlStore(sqlite_url(Path(sys.argv[1])), seals=Seals(bytes(32)))
    await store.migrate()
    async with store.transaction() as transaction:
        await transaction.put(sandbox(1), expect_revision=None)
        await transaction.append(event(1))
    async with store.transaction() as transaction:
        await transaction.put(sandbox(2), expect_revision=None)
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


async def test_a_killed_process_keeps_what_it_committed_and_nothing_else(path: Path) -> None:
    done = await anyio.run_process([sys.executable, "-c", KILLED_AFTER_COMMIT, str(path)], check=False, stderr=subprocess.PIPE)
    assert done.returncode == -9, done.stderr
    store = SqlStore(sqlite_url(path), seals=Seals(bytes(32)))
    await store.migrate()
    assert await numbers(store) == [1]
    assert len(await store.events(EventQuery())) == 1
    await store.close()


async def test_the_next_store_on_the_file_goes_on_counting(path: Path) -> None:
    sequences: list[int] = []
    for number in range(3):
        store = SqlStore(sqlite_url(path), seals=Seals(bytes(32)))
        await store.migrate()
        sequences += [one.sequence for one in await append(store, event(number))]
        await store.close()
    assert sequences == sorted(set(sequences))


async def test_settings_of_every_connection(path: Path) -> None:
    with closing(connect(path, 5.0)) as connection:
        for pragma, value in (
            ("journal_mode", "wal"),
            ("foreign_keys", 1),
            ("synchronous", 1),  # to wait for the disk is `disk`'s
            ("wal_autocheckpoint", 0),  # so are checkpoints, on a thread
            ("busy_timeout", 0),  # nothing blocks the loop
        ):
            assert connection.execute(f"PRAGMA {pragma}").fetchone() == (value,)


async def test_locked_by_another_process_is_unavailable_until_it_lets_go(store: SqlStore, path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable, match="being changed by another process") as caught:
            await keep(store, sandbox(1))
        assert caught.value.code == "database_unavailable"
        assert await store.events(EventQuery()) == []  # readers do not care
        other.execute("ROLLBACK")
    await keep(store, sandbox(1))


async def test_no_room_is_unavailable_until_there_is_some(store: SqlStore) -> None:
    await keep(store, sandbox(1))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))
    try:
        with pytest.raises(Unavailable) as caught:
            await keep(store, sandbox(2, metadata={"big": "x" * 1_000_000}))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.code == "database_unavailable"
    assert await numbers(store) == [1]
    await keep(store, sandbox(2, metadata={"big": "x" * 1_000_000}))
    assert await numbers(store) == [2, 1]


async def test_a_bare_task_cancel_anywhere_leaves_a_working_store(store: SqlStore) -> None:
    async def write(number: int) -> None:
        async with store.transaction() as transaction:
            await transaction.put(sandbox(number), expect_revision=None)
            await transaction.append(event(number))

    for number in range(40):
        task = asyncio.get_running_loop().create_task(write(number))
        for _ in range(number):
            await anyio.lowlevel.checkpoint()
        task.cancel()
        await asyncio.wait([task])
    kept = await numbers(store, oldest_first=True)
    assert kept == [int(one.at) for one in await store.events(EventQuery(limit=1000))]
    await keep(store, sandbox(1000))


async def test_cancelled_readers_leave_their_seats(store: SqlStore) -> None:
    for _ in range(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(store.changes, 0, wait=True))
            tasks.start_soon(store.events, EventQuery())
            for _ in range(3):
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
    assert await store.events(EventQuery()) == []


async def test_close_ends_the_threads_and_lets_nobody_in(path: Path) -> None:
    before = set(threading.enumerate())
    store = SqlStore(sqlite_url(path), seals=Seals(bytes(32)))
    await store.migrate()
    await keep(store, sandbox(1))
    await store.add_usage(SandboxId("i1"), [Usage(1.0, 1.0, 1, 1, 1, 1)])
    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(store.events, EventQuery())
    workers = {thread for thread in set(threading.enumerate()) - before if "roost-store" in thread.name}
    assert workers
    await store.close()
    for worker in workers:
        await anyio.to_thread.run_sync(worker.join, 60)
    assert not any(worker.is_alive() for worker in workers)
    assert not path.with_name("roost.db-wal").exists()
    for refused in (store.events(EventQuery()), store.migrate(), keep(store, sandbox(2)), store.changes(0)):
        with pytest.raises(Unavailable, match="is closed"):
            await refused


async def test_close_waits_for_a_transaction_and_tells_those_who_wait_for_changes(store: SqlStore) -> None:
    told: list[str] = []

    async def watch() -> None:
        with pytest.raises(Unavailable) as caught:
            await store.changes(10, wait=True)
        told.append(caught.value.code)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        async with store.transaction() as transaction:
            tasks.start_soon(store.close)
            await anyio.lowlevel.checkpoint()
            await transaction.put(sandbox(1), expect_revision=None)
    assert told == ["store_closed"]


@pytest.mark.parametrize("text", ["a\0b", "half \ud800"])
async def test_text_that_is_none_is_refused(store: SqlStore, text: str) -> None:
    for record in (sandbox(1, template=text), sandbox(1, env={"KEY": text}), sandbox(1, metadata={text: ""})):
        with pytest.raises(Invalid) as caught:
            await keep(store, record)
        assert caught.value.code == "text_invalid"
    with pytest.raises(Invalid):
        await append(store, event(1, facts={"why": text}))
    assert await numbers(store) == []


async def test_a_row_of_an_older_roost_takes_the_defaults_of_newer_fields(store: SqlStore, path: Path) -> None:
    [written] = await keep(store, sandbox(1, reason="killed"))
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE sandboxes SET body = json_remove(body, '$.reason', '$.policy')")
        database.commit()
    assert await read(store, Sandbox, written.id) == replace(written, reason=None)


async def test_mistakes_in_a_query_are_named(store: SqlStore) -> None:
    async with store.transaction() as transaction:
        with pytest.raises(Fault, match="no field 'colour'"):
            await transaction.find(Sandbox, Query(equal={"colour": "red"}))
        with pytest.raises(Fault, match="Only sandboxes"):
            await transaction.find(Snapshot, Query(due_before=1.0))


async def test_a_transaction_inside_a_transaction_is_refused_and_does_not_hang(store: SqlStore) -> None:
    with anyio.fail_after(60), pytest.raises(RuntimeError):
        async with store.transaction(), store.transaction():
            pass
    await keep(store, sandbox(1))


def test_other_databases_are_refused() -> None:
    with pytest.raises(Invalid, match="mysql"):
        SqlStore("mysql://localhost/roost", seals=Seals(bytes(32)))


async def test_two_stores_on_one_database_tell_each_other(path: Path) -> None:
    """As two processes would: what one commits the other reads, and its listeners hear it in order with their own."""
    one, other = SqlStore(sqlite_url(path), seals=Seals(bytes(32))), SqlStore(sqlite_url(path), seals=Seals(bytes(32)))
    await one.migrate()
    heard: list[Change] = []
    one.subscribe(heard.extend)
    await keep(one, sandbox(1))
    await keep(other, sandbox(2), sandbox(3))
    await keep(one, sandbox(4))
    assert [change.id for change in heard] == [sandbox(number).id for number in (1, 2, 3, 4)]
    assert heard == await other.changes(0) == await one.changes(0)
    await one.close()
    await other.close()


async def test_events_of_an_older_roost_are_followed_by_higher_numbers(path: Path) -> None:
    """The log begins behind the events that were there before it was kept, those that were dropped too."""
    with closing(sqlite3.connect(path)) as old:
        engine = sa.create_engine(f"sqlite:///{path}")
        with engine.begin() as connection:
            config = alembic_config()
            config.attributes["connection"] = connection
            command.upgrade(config, "0003")
        engine.dispose()
        for at in (1.0, 2.0, 3.0):
            old.execute("INSERT INTO events (kind, team, at, facts) VALUES ('sandbox.died', 't', ?, '{}')", (at,))
        old.execute("DELETE FROM events WHERE sequence > 1")
        old.commit()
    store = SqlStore(sqlite_url(path), seals=Seals(bytes(32)))
    await store.migrate()
    assert await store.last_change() == 3
    async with store.transaction() as transaction:
        written = await transaction.append(event(4))
    assert written.sequence == 4
    assert [change.record for change in await store.changes(3, wait=True)] == [written]
    await store.close()
