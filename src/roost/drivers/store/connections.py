"""What the store asks of its connections: one writer at a time, a few readers beside it. `sqlite` and `pooled` are the two ways.

A caller may be cancelled anywhere; a block that is left is committed or rolled back, and its connection can be used again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import sqlalchemy as sa

from roost.drivers.store.dialect import Dialect

READERS = 4

AfterCommit = Callable[[], Awaitable[None]]
Values = Mapping[str, Any] | Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class StatementResult:
    """What a statement gave."""

    rows: Sequence[Mapping[str, Any]]
    rowcount: int

    @property
    def value(self) -> Any:
        """The first column of the first row; None without one."""
        return next(iter(self.rows[0].values())) if self.rows else None


class Session(Protocol):
    """A connection inside a transaction. Statements raise our errors, or `failures.ConstraintViolated`."""

    @property
    def dialect(self) -> Dialect: ...

    async def run(self, statement: sa.Executable, values: Values | None = None) -> StatementResult: ...

    async def run_savepoint(self, statement: sa.Executable, values: Mapping[str, Any]) -> StatementResult:
        """As `run`, but the transaction goes on after a violated constraint, whatever the database."""
        ...


class Connections(Protocol):
    """The open connections to one database. They are made when first needed and kept."""

    @property
    def closed(self) -> bool: ...

    def writing(self, *, durable: bool = True, then: AfterCommit | None = None) -> AbstractAsyncContextManager[Session]:
        """A transaction that commits when the block ends and rolls back when it raises. `then` follows a commit, in the order of
        commits.

        `durable=False` is for what may be lost in a power cut: it does not wait for the disk, and still never tears.
        """
        ...

    def reading(self) -> AbstractAsyncContextManager[Session]:
        """Sees what was committed when the block's first statement ran. Waits for no writer."""
        ...

    async def close(self) -> None:
        """Lets those who are inside finish. Nobody gets in afterwards; the threads behind the connections have ended."""
        ...
