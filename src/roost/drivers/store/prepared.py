"""SQLAlchemy's statements as the text and values that SQLite takes, worked out once for each statement.

SQLAlchemy says what a statement is; it does not run it. Its way of running one takes longer than SQLite itself.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import pydantic_core
import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from roost.drivers.store.connections import StatementResult, Values


def to_json(value: Any) -> str:
    return pydantic_core.to_json(value).decode()


DIALECT = sqlite.dialect(paramstyle="named", json_serializer=to_json, json_deserializer=pydantic_core.from_json)


class Prepared:
    """Ready to be run, with other values each time."""

    def __init__(self, statement: sa.Executable) -> None:
        assert isinstance(statement, sa.ClauseElement)
        compiled = statement.compile(dialect=DIALECT)
        self.sql = str(compiled)
        self._fixed = {name: value for name, value in (compiled.params or {}).items() if value is not None}
        binds = compiled.binds if isinstance(compiled, sa.sql.compiler.SQLCompiler) else {}
        self._binders = _present({name: _impl(bind.type).bind_processor(DIALECT) for name, bind in binds.items()})
        columns = list(statement.selected_columns) if isinstance(statement, sa.Select) else []
        self._names = [column.name for column in columns]
        self._readers = _present({c.name: _impl(c.type).result_processor(DIALECT, None) for c in columns})

    def run(self, connection: sqlite3.Connection, values: Values | None) -> StatementResult:
        """Blocks for as long as SQLite takes. Raises what it raises."""
        cursor = connection.cursor()
        try:
            if values is None or isinstance(values, Mapping):
                cursor.execute(self.sql, self.bound(values or {}))
            else:
                cursor.executemany(self.sql, [self.bound(each) for each in values])
            rows = [self._row(row) for row in cursor.fetchall()] if cursor.description else []
            return StatementResult(rows, cursor.rowcount)
        finally:
            cursor.close()

    def bound(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values as SQLite takes them."""
        bound = {**self._fixed, **values}
        for name, binder in self._binders.items():
            if name in bound:
                bound[name] = binder(bound[name])
        return bound

    def _row(self, row: tuple[Any, ...]) -> dict[str, Any]:
        values = dict(zip(self._names, row, strict=True))
        for name, reader in self._readers.items():
            values[name] = reader(values[name])
        return values


@lru_cache(maxsize=512)
def prepared(statement: sa.Executable) -> Prepared:
    """By the statement itself, not by what it says: statements that are run often are made once."""
    return Prepared(statement)


def _impl(type_: sa.types.TypeEngine[Any]) -> sa.types.TypeEngine[Any]:
    return type_.dialect_impl(DIALECT)


def _present(processors: dict[str, Any]) -> dict[str, Any]:
    return {name: processor for name, processor in processors.items() if processor is not None}
