"""Brings a database to the newest schema, off the loop: Alembic blocks, and imports its scripts."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from roost.domain.errors import Fault
from roost.drivers.store.dialect import Dialect
from roost.drivers.store.failures import name_of, translated, unreachable
from roost.drivers.store.pooled import WRITER, open_engine
from roost.drivers.store.sealing import Seals
from roost.drivers.store.tables import SANDBOXES

SCRIPTS = "roost.drivers.store:migrations"


def upgrade(url: sa.URL, dialect: Dialect, seals: Seals, busy_timeout_s: float) -> None:
    """Blocks. All migrations that are missing are applied in one transaction: a crash leaves the old schema. Raises Fault when
    the database is a newer Roost's, or its secrets are sealed with another key."""
    with translated(dialect, url):
        if dialect.name == "sqlite":
            _upgrade_file(Path(url.database or ""), url, seals, busy_timeout_s)
        else:
            asyncio.run(_upgrade_server(url, seals, busy_timeout_s))  # the driver has no other way


def alembic_config() -> Config:
    config = Config()
    config.set_main_option("script_location", SCRIPTS)
    config.set_main_option("path_separator", "os")
    return config


def _upgrade_file(path: Path, url: sa.URL, seals: Seals, busy_timeout_s: float) -> None:
    _create_private(path, url)
    options = {"timeout": busy_timeout_s, "isolation_level": None}  # we say BEGIN ourselves
    engine = sa.create_engine(sa.URL.create("sqlite", database=str(path)), poolclass=sa.NullPool, connect_args=options)
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA journal_mode = WAL")
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        try:
            migrated = _apply(connection, url, seals)
            connection.exec_driver_sql("COMMIT")
        except BaseException:
            connection.exec_driver_sql("ROLLBACK")
            raise
    if migrated:
        _clear_out(path, busy_timeout_s)


async def _upgrade_server(url: sa.URL, seals: Seals, busy_timeout_s: float) -> None:
    engine = open_engine(url, WRITER, busy_timeout_s)
    try:
        async with engine.begin() as connection:
            await connection.run_sync(_apply, url, seals)
    finally:
        await engine.dispose()


def _apply(connection: sa.Connection, url: sa.URL, seals: Seals) -> bool:
    """True if there was something to migrate."""
    config = alembic_config()
    scripts = ScriptDirectory.from_config(config)
    known = {script.revision for script in scripts.walk_revisions()}
    found = set(MigrationContext.configure(connection).get_current_heads())
    if not found <= known:
        theirs, ours = ", ".join(sorted(found - known)), scripts.get_current_head()
        raise Fault(
            "database_from_newer_roost",
            f"The database {name_of(url)} was last used by a newer Roost (its schema is {theirs}; this one knows up to {ours})."
            " Start the newer Roost, or put back the copy of the database from before the upgrade.",
            database=name_of(url),
            schema=theirs,
            newest_known=ours,
        )
    config.attributes["connection"] = connection
    config.attributes["seals"] = seals
    command.upgrade(config, "head")
    _try_key(connection, seals)
    return found != {scripts.get_current_head()}


def _try_key(connection: sa.Connection, seals: Seals) -> None:
    """One record is enough to tell whether this is the key that its database was sealed with. Raises Fault."""
    newest = sa.select(SANDBOXES.c.id, SANDBOXES.c.body).order_by(SANDBOXES.c.created_at.desc()).limit(1)
    for id, body in connection.execute(newest):
        seals.open(SANDBOXES.name, id, body)


def _clear_out(database: Path, busy_timeout_s: float) -> None:
    """What was overwritten or deleted leaves the files too: the clear text of secrets among it."""
    with closing(sqlite3.connect(database, timeout=busy_timeout_s, isolation_level=None)) as connection:
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _create_private(path: Path, url: sa.URL) -> None:
    """The database holds access tokens: nobody else reads it. SQLite gives its side files the mode of the main one."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise unreachable(url, error) from error
