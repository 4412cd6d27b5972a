from __future__ import annotations

import re
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import anyio
import pytest
import sqlalchemy as sa
from alembic.script import ScriptDirectory

from roost.domain.errors import Fault, Unavailable
from roost.domain.lifecycle import State
from roost.domain.sandbox import Sandbox
from roost.drivers.store.schema import alembic_config
from roost.drivers.store.sealing import Seals
from roost.drivers.store.sql import SqlStore, sqlite_url
from roost.drivers.store.tables import METADATA, SANDBOXES

pytestmark = pytest.mark.anyio


def _layout(path: Path) -> dict[str, str]:
    """Every table and index as SQL, in one spelling."""
    with closing(sqlite3.connect(path)) as database:
        rows = database.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    spelled = {name: re.sub(r"[\s\"]+", " ", sql).strip() for name, sql in rows}
    return {name: sql for name, sql in spelled.items() if name != "alembic_version"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "roost.db"


async def _migrate(path: Path) -> None:
    store = SqlStore(sqlite_url(path), seals=Seals(bytes(32)), busy_timeout_s=60)
    await store.migrate()
    await store.close()


async def test_the_migrations_lead_to_the_tables(path: Path, tmp_path: Path) -> None:
    await _migrate(path)
    expected = tmp_path / "expected.db"
    engine = sa.create_engine(f"sqlite:///{expected}")
    METADATA.create_all(engine)
    engine.dispose()
    assert _layout(path) == _layout(expected)


async def test_the_state_check_is_the_lifecycle(path: Path) -> None:
    await _migrate(path)
    words = re.search(r"state IN \(([^)]*)\)", _layout(path)["sandboxes"])
    assert words is not None
    assert re.findall(r"'(\w+)'", words[1]) == [state.value for state in State]
    columns = [column.name for column in SANDBOXES.columns]
    values = [1.0 if isinstance(column.type, sa.Double) else "{}" for column in SANDBOXES.columns]
    values[columns.index("state")] = "forking"
    with closing(sqlite3.connect(path)) as database, pytest.raises(sqlite3.IntegrityError, match="sandboxes_state"):
        database.execute(f"INSERT INTO sandboxes VALUES ({', '.join('?' * len(values))})", values)


def test_the_migrations_are_one_line() -> None:
    scripts = ScriptDirectory.from_config(alembic_config())
    assert len(scripts.get_heads()) == 1
    assert len(scripts.get_bases()) == 1


async def test_many_migrate_at_once(path: Path) -> None:
    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(_migrate, path)
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT count(*) FROM alembic_version").fetchone() == (1,)


async def test_a_database_of_a_newer_roost_is_left_alone(path: Path) -> None:
    await _migrate(path)
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
        database.commit()
    before = _layout(path)
    with pytest.raises(Fault, match=r"newer Roost .*9999.*knows up to \d{4}") as caught:
        await _migrate(path)
    assert caught.value.code == "database_from_newer_roost"
    assert str(path) in caught.value.message
    assert _layout(path) == before


async def test_the_file_is_private(path: Path) -> None:
    store = SqlStore(sqlite_url(path), seals=Seals(bytes(32)))
    await store.migrate()
    async with store.transaction() as transaction:
        await transaction.delete(Sandbox, "nothing")
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.glob("roost.db*")}
    await store.close()
    assert modes == {"roost.db": 0o600, "roost.db-wal": 0o600, "roost.db-shm": 0o600}


async def test_no_directory_to_make_it_in(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="cannot be reached") as caught:
        await _migrate(tmp_path / "missing" / "roost.db")
    assert "missing" in caught.value.message


async def test_a_file_that_is_no_database(path: Path) -> None:
    text = b"this is not a database, whatever its name says. " * 100
    await anyio.Path(path).write_bytes(text)
    with pytest.raises(Fault, match="is damaged") as caught:
        await _migrate(path)
    assert caught.value.code == "database_damaged"
    assert await anyio.Path(path).read_bytes() == text
