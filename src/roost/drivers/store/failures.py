"""The database's exceptions in our words, said once, at the edge."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa
from sqlalchemy import exc

from roost.domain.errors import Fault, RoostError, Unavailable
from roost.drivers.store.dialect import Dialect, Trouble

_NEXT = {
    Trouble.BUSY: "Try again; if it stays so, look for another program that has the database open.",
    Trouble.FULL: "Free some space, then try again; nothing was changed.",
    Trouble.UNREADABLE: "Check that it exists, that this user may write it and that its disk is well, then try again.",
    Trouble.DAMAGED: "Stop the server and put back a copy of the database from a backup.",
}


class ConstraintViolated(Exception):
    """Of a table. Whoever ran the statement knows what that means."""


def name_of(url: sa.URL) -> str:
    """How people know the database: the file, or the address without the password."""
    return url.database or url.render_as_string() if url.get_backend_name() == "sqlite" else url.render_as_string()


def closed(url: sa.URL) -> Unavailable:
    database = name_of(url)
    return Unavailable(
        "store_closed",
        f"The database {database} is closed: the server is stopping. Ask again when it is back.",
        database=database,
    )


def unreachable(url: sa.URL, error: OSError) -> Unavailable:
    return _later(Trouble.UNREADABLE, url, error)


@contextmanager
def translated(dialect: Dialect, url: sa.URL) -> Iterator[None]:
    """Every failure becomes ours, but for a violated constraint: ConstraintViolated."""
    try:
        yield
    except (exc.IntegrityError, sqlite3.IntegrityError) as error:
        raise ConstraintViolated(str(error.orig if isinstance(error, exc.IntegrityError) else error)) from error
    except exc.DBAPIError as error:
        raise _meaning(error.orig or error, dialect, url) from error
    except OSError as error:
        raise unreachable(url, error) from error
    except (exc.SQLAlchemyError, sqlite3.Error) as error:
        raise _meaning(error, dialect, url) from error


def _meaning(error: BaseException, dialect: Dialect, url: sa.URL) -> RoostError:
    database = name_of(url)
    trouble = dialect.trouble(error)
    if trouble is not None and trouble in Trouble.LATER:
        return _later(trouble, url, error)
    if trouble is not None:
        return Fault("database_damaged", f"The database {database} {trouble} ({error}). {_NEXT[trouble]}", database=database)
    return Fault(
        "database_failed",
        f"The database {database} refused a statement: {error}. This is a mistake in Roost; please report it.",
        database=database,
    )


def _later(trouble: str, url: sa.URL, error: BaseException) -> Unavailable:
    database = name_of(url)
    return Unavailable(
        "database_unavailable", f"The database {database} {trouble} ({error}). {_NEXT[trouble]}", database=database
    )
