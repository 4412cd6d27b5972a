"""What differs between the SQL of SQLite and of PostgreSQL. What is not here is the same for both."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from roost.domain.errors import Invalid

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
    order_changes: str | None  # makes numbers of the log become visible in their order
    next_change: str | None  # gives one; None: the newest and one more
    insert_or_skip: Callable[[sa.Table], sa.Insert]  # by primary key
    has_pairs: Callable[[sa.ColumnElement[Any], sa.BindParameter[Any]], sa.ColumnElement[bool]]
    trouble: Callable[[BaseException], str | None]


def _sqlite_has_pairs(column: sa.ColumnElement[Any], pairs: sa.BindParameter[Any]) -> sa.ColumnElement[bool]:
    """Keys and values are bound: a path in json_extract has no way to quote every key."""
    had, wanted = (sa.func.json_each(each).table_valued("key", "value") for each in (column, pairs))
    found = sa.exists(sa.select(sa.literal_column("1")).where(had.c.key == wanted.c.key, had.c.value == wanted.c.value))
    return ~sa.exists(sa.select(sa.literal_column("1")).select_from(wanted).where(~found))


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
    order_changes=None,  # there is one writer
    next_change=None,
    insert_or_skip=lambda table: sqlite.insert(table).on_conflict_do_nothing(index_elements=list(table.primary_key)),
    has_pairs=_sqlite_has_pairs,
    trouble=_sqlite_trouble,
)


def _postgresql_has_pairs(column: sa.ColumnElement[Any], pairs: sa.BindParameter[Any]) -> sa.ColumnElement[bool]:
    return column.op("@>", return_type=sa.Boolean())(sa.cast(pairs, postgresql.JSONB))


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
    order_changes=f"SELECT pg_advisory_xact_lock({CHANGE_ORDER_LOCK})",
    next_change="SELECT nextval('changes_sequence')",  # what a transaction sees may be older than the newest
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
