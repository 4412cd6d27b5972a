"""Everything that differs between SQLite and PostgreSQL. What is not here is the same for both."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from roost.domain.errors import Invalid
from roost.drivers.store import one_hop

CHANGE_ORDER_LOCK = 0x726F6F7374  # "roost"


class Trouble:
    """What a failure of the database means for whoever asked."""

    BUSY = "is being changed by another process"
    FULL = "has no room left on its disk"
    UNREADABLE = "cannot be reached"
    DAMAGED = "is damaged"
    LATER = (BUSY, FULL, UNREADABLE)


@dataclass(frozen=True, slots=True, eq=False)
class Dialect:
    name: str
    begin_writing: str | None  # None: the driver says BEGIN itself
    begin_reading: str | None
    order_changes: str | None  # makes numbers of the log become visible in their order
    next_change: str | None  # gives one; None: the newest and one more
    savepoint_before_conflict: bool  # a violated constraint would end the whole transaction
    on_connect: Callable[[bool, float], tuple[str, ...]]  # (durable, busy timeout in seconds)
    engine_options: Mapping[str, Any]
    insert_or_skip: Callable[[sa.Table], sa.Insert]  # by primary key
    has_pairs: Callable[[sa.ColumnElement[Any], Mapping[str, str]], sa.ColumnElement[bool]]
    trouble: Callable[[BaseException], str | None]


def _sqlite_on_connect(durable: bool, busy_timeout_s: float) -> tuple[str, ...]:
    return (
        f"PRAGMA busy_timeout = {round(busy_timeout_s * 1000)}",
        "PRAGMA journal_mode = WAL",
        f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}",
        "PRAGMA foreign_keys = ON",
    )


def _sqlite_has_pairs(column: sa.ColumnElement[Any], pairs: Mapping[str, str]) -> sa.ColumnElement[bool]:
    """Key and value are both bound: a path in json_extract has no way to quote every key."""
    conditions: list[sa.ColumnElement[bool]] = []
    for key, value in pairs.items():
        each = sa.func.json_each(column).table_valued("key", "value")
        conditions.append(sa.exists(sa.select(sa.literal(1)).where(each.c.key == key, each.c.value == value)))
    return sa.and_(sa.true(), *conditions)


_SQLITE_TROUBLE = {
    sqlite3.SQLITE_BUSY: Trouble.BUSY,
    sqlite3.SQLITE_LOCKED: Trouble.BUSY,
    sqlite3.SQLITE_FULL: Trouble.FULL,
    sqlite3.SQLITE_IOERR: Trouble.UNREADABLE,
    sqlite3.SQLITE_CANTOPEN: Trouble.UNREADABLE,
    sqlite3.SQLITE_READONLY: Trouble.UNREADABLE,
    sqlite3.SQLITE_PERM: Trouble.UNREADABLE,
    sqlite3.SQLITE_CORRUPT: Trouble.DAMAGED,
    sqlite3.SQLITE_NOTADB: Trouble.DAMAGED,
}


def _sqlite_trouble(error: BaseException) -> str | None:
    code = getattr(error, "sqlite_errorcode", None)
    return _SQLITE_TROUBLE.get(code & 0xFF) if code is not None else None


SQLITE = Dialect(
    name="sqlite",
    begin_writing="BEGIN IMMEDIATE",  # a lock taken only at the first write could come too late to be given
    begin_reading="BEGIN",
    order_changes=None,  # there is one writer
    next_change=None,
    savepoint_before_conflict=False,
    on_connect=_sqlite_on_connect,
    engine_options={
        "connect_args": {
            "async_creator_fn": one_hop.connect,
            "isolation_level": None,  # we say BEGIN ourselves
            "cached_statements": 256,
        }
    },
    insert_or_skip=lambda table: sqlite.insert(table).on_conflict_do_nothing(index_elements=list(table.primary_key)),
    has_pairs=_sqlite_has_pairs,
    trouble=_sqlite_trouble,
)


def _postgresql_on_connect(durable: bool, busy_timeout_s: float) -> tuple[str, ...]:
    return (
        f"SET lock_timeout = {round(busy_timeout_s * 1000)}",
        f"SET synchronous_commit = {'on' if durable else 'off'}",
    )


def _postgresql_has_pairs(column: sa.ColumnElement[Any], pairs: Mapping[str, str]) -> sa.ColumnElement[bool]:
    return column.op("@>", return_type=sa.Boolean())(sa.cast(dict(pairs), postgresql.JSONB))


_POSTGRESQL_TROUBLE = {
    "40001": Trouble.BUSY,  # serialization failure
    "40P01": Trouble.BUSY,  # deadlock
    "55P03": Trouble.BUSY,  # lock timeout
    "53100": Trouble.FULL,
    "53300": Trouble.BUSY,  # too many connections
    "57P01": Trouble.UNREADABLE,  # shut down
    "57P03": Trouble.UNREADABLE,  # starting up
    "25006": Trouble.UNREADABLE,  # read only
    "XX001": Trouble.DAMAGED,
    "XX002": Trouble.DAMAGED,
}


def _postgresql_trouble(error: BaseException) -> str | None:
    state = getattr(error, "sqlstate", None)
    if state is None:
        return Trouble.UNREADABLE if isinstance(error, OSError) else None
    return Trouble.UNREADABLE if state.startswith("08") else _POSTGRESQL_TROUBLE.get(state)


POSTGRESQL = Dialect(
    name="postgresql",
    begin_writing=None,
    begin_reading=None,
    order_changes=f"SELECT pg_advisory_xact_lock({CHANGE_ORDER_LOCK})",
    next_change="SELECT nextval('changes_sequence')",  # what a transaction sees may be older than the newest
    savepoint_before_conflict=True,
    on_connect=_postgresql_on_connect,
    engine_options={"isolation_level": "SERIALIZABLE"},
    insert_or_skip=lambda table: postgresql.insert(table).on_conflict_do_nothing(index_elements=list(table.primary_key)),
    has_pairs=_postgresql_has_pairs,
    trouble=_postgresql_trouble,
)

_DIALECTS = {dialect.name: dialect for dialect in (SQLITE, POSTGRESQL)}


def dialect_of(url: sa.URL) -> Dialect:
    dialect = _DIALECTS.get(url.get_backend_name())
    if dialect is None:
        raise Invalid(
            "database_unsupported",
            f"Roost keeps its records in SQLite or PostgreSQL, not in {url.get_backend_name()}. Set another database.",
            database=url.get_backend_name(),
        )
    return dialect
