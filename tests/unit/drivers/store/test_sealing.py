"""Whoever reads the database's files learns no secret; whoever has its key loses none."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command

from roost.contracts.store import Idempotency
from roost.domain.egress import Egress
from roost.domain.errors import Fault
from roost.domain.ids import SandboxId
from roost.domain.proxy import Proxy
from roost.domain.sandbox import Ingress, Sandbox
from roost.domain.snapshot import Snapshot
from roost.drivers.store.schema import alembic_config
from roost.drivers.store.sealing import Seals
from roost.drivers.store.sql import SqlStore, sqlite_url
from roost.testing.conformance.records import keep, read, sandbox, snapshot

pytestmark = pytest.mark.anyio

KEY, OTHER = Seals(bytes(32)), Seals(bytes(31) + b"1")
SECRETS = (
    "token of the agent",
    "token of the ports",
    "Bearer of the key",
    "word of the proxy",
    "value of the variable",
    "a digest",
)
FULL = sandbox(
    1,
    access_token=SECRETS[0],
    ingress=Ingress(public=False, token=SECRETS[1]),
    egress=Egress(
        rules={"api.example.com": {"Authorization": SECRETS[2]}}, proxy=Proxy("proxy.example.com:1080", "ada", SECRETS[3])
    ),
    env={"API_KEY": SECRETS[4]},
)
KEPT = snapshot(1, env={"API_KEY": SECRETS[4]})
ASKED = Idempotency("default/once", SECRETS[5], SandboxId("i1"), 1.0)


@asynccontextmanager
async def opened(path: Path, seals: Seals = KEY) -> AsyncIterator[SqlStore]:
    store = SqlStore(sqlite_url(path), seals=seals)
    try:
        await store.migrate()
        yield store
    finally:
        await store.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "roost.db"


def learned(path: Path) -> list[str]:
    """The secrets that are in the files, whichever of them."""
    content = b"".join(file.read_bytes() for file in path.parent.glob("roost.db*"))
    return [secret for secret in SECRETS if secret.encode() in content]


async def test_no_secret_reaches_the_files(path: Path) -> None:
    async with opened(path) as store:
        await keep(store, FULL, KEPT, ASKED)
        assert learned(path) == [], "while it is open, in its log"
        assert await read(store, Sandbox, FULL.id) == replace(FULL, revision=1)
        assert await read(store, Snapshot, KEPT.id) == replace(KEPT, revision=1)
        assert await read(store, Idempotency, ASKED.id) == replace(ASKED, revision=1)
    assert learned(path) == []
    assert SECRETS[0] not in repr(FULL) and SECRETS[2] not in repr(FULL) and SECRETS[3] not in repr(FULL)


async def test_another_key_opens_nothing_and_says_so(path: Path) -> None:
    async with opened(path) as store:
        await keep(store, FULL)
    with pytest.raises(Fault, match="store-key") as caught:
        async with opened(path, OTHER):
            pass
    assert caught.value.code == "secrets_unreadable"
    async with opened(path) as store:
        assert await read(store, Sandbox, FULL.id) == replace(FULL, revision=1)


async def test_a_sealed_value_opens_in_its_own_place_alone(path: Path) -> None:
    """Whoever can write the file cannot give one sandbox the headers of another."""
    async with opened(path) as store:
        await keep(store, FULL, replace(FULL, id=SandboxId("i2")))
    with closing(sqlite3.connect(path)) as database:
        body = json.loads(database.execute("SELECT body FROM sandboxes WHERE id = ?", (FULL.id,)).fetchone()[0])
        theirs = json.loads(database.execute("SELECT body FROM sandboxes WHERE id = 'i2'").fetchone()[0])
        theirs["egress"]["rules"] = body["egress"]["rules"]
        database.execute("UPDATE sandboxes SET body = ? WHERE id = 'i2'", (json.dumps(theirs),))
        database.commit()
    with pytest.raises(Fault, match="i2"):
        async with opened(path) as store:
            await read(store, Sandbox, "i2")


@pytest.mark.parametrize("schema", ["0003", "0004"])
async def test_a_database_of_an_older_roost_is_sealed_and_cleared_out(path: Path, schema: str) -> None:
    async with opened(path) as store:
        await keep(store, FULL, KEPT, ASKED)
    _make_older(path, schema)
    assert set(learned(path)) == set(SECRETS)
    async with opened(path) as store:
        assert learned(path) == []
        assert await read(store, Sandbox, FULL.id) == replace(FULL, revision=1)
        assert await read(store, Snapshot, KEPT.id) == replace(KEPT, revision=1)
        assert await read(store, Idempotency, ASKED.id) == replace(ASKED, revision=1)
    async with opened(path) as store:
        assert await read(store, Sandbox, FULL.id) == replace(FULL, revision=1)
        told = {change.id: change.record for change in await store.changes(0) if change.kind is Sandbox}
        assert told == ({FULL.id: replace(FULL, revision=1)} if schema == "0004" else {})


def _make_older(path: Path, schema: str) -> None:
    """As 0.1.0 left it (0003), or a Roost with a log of changes (0004): everything in the clear."""
    with closing(sqlite3.connect(path)) as database:
        for table in ("sandboxes", "snapshots", "idempotency"):
            for id, body in database.execute(f"SELECT id, body FROM {table}").fetchall():
                clear = json.dumps(KEY.open(table, id, json.loads(body)))
                database.execute(f"UPDATE {table} SET body = ? WHERE id = ?", (clear, id))
        for table in ("builds", "build_plans", "build_logs", "layers", "uploads"):
            database.execute(f"DROP TABLE {table}")
        if schema == "0003":
            database.execute("DROP TABLE changes")
        else:
            tables = {"sandbox": "sandboxes", "snapshot": "snapshots", "idempotency": "idempotency"}
            for sequence, kind, id, body in database.execute("SELECT sequence, kind, record, body FROM changes").fetchall():
                clear = json.dumps(KEY.open(tables[kind], id, json.loads(body)))
                database.execute("UPDATE changes SET body = ? WHERE sequence = ?", (clear, sequence))
        database.commit()
    config, engine = alembic_config(), sa.create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.stamp(config, schema)
    engine.dispose()
