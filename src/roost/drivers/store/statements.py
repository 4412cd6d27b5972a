"""Queries to SQL. Every value is bound; field names are checked against the record's."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa

from roost.contracts.store import EventQuery, Query
from roost.domain.errors import Fault
from roost.domain.lifecycle import State
from roost.drivers.store.dialect import Dialect
from roost.drivers.store.records import BODY, Shape
from roost.drivers.store.tables import EVENTS, SANDBOXES, USAGE

CAN_EXPIRE = State.RUNNING


@cache
def select_one(shape: Shape[Any]) -> sa.Select[Any]:
    return sa.select(shape.table).where(shape.table.c.id == sa.bindparam("record_id"))


def select_page(shape: Shape[Any], query: Query, dialect: Dialect) -> sa.Select[Any]:
    table = shape.table
    conditions = [_equal(shape, name, value) for name, value in query.equal.items()]
    conditions += [_one_of(shape, name, values) for name, values in query.one_of.items()]
    if query.metadata:
        _only_for_sandboxes(shape, "metadata")
        conditions.append(dialect.has_pairs(table.c.metadata, query.metadata))
    if query.created_from is not None:
        conditions.append(table.c.created_at >= query.created_from)
    if query.due_before is not None:
        _only_for_sandboxes(shape, "due_before")
        conditions += [SANDBOXES.c.state == CAN_EXPIRE.value, SANDBOXES.c.expires_at <= query.due_before]
    order = (table.c.created_at, table.c.id)
    if query.after is not None:
        place, last = sa.tuple_(*order), sa.tuple_(*query.after)
        conditions.append(place > last if query.oldest_first else place < last)
    page = sa.select(table).where(*conditions)
    page = page.order_by(*(column.asc() if query.oldest_first else column.desc() for column in order))
    return page if query.limit is None else page.limit(query.limit)


@cache
def insert_record(shape: Shape[Any], dialect: Dialect) -> sa.Insert:
    """Adds no row when the id is there already."""
    return dialect.insert_or_skip(shape.table)


@cache
def update_record(shape: Shape[Any]) -> sa.Update:
    """Changes no row when the revision is another."""
    table = shape.table
    new = {column.name: sa.bindparam(column.name) for column in table.columns if column.name != "id"}
    at = sa.and_(table.c.id == sa.bindparam("record_id"), table.c.revision == sa.bindparam("expected_revision"))
    return sa.update(table).where(at).values(new)


@cache
def delete_record(shape: Shape[Any]) -> sa.Delete:
    return sa.delete(shape.table).where(shape.table.c.id == sa.bindparam("record_id"))


def select_events(query: EventQuery) -> sa.Select[Any]:
    conditions = [EVENTS.c.sequence > query.after]
    if query.before is not None:
        conditions.append(EVENTS.c.sequence < query.before)
    if query.team is not None:
        conditions.append(EVENTS.c.team == query.team)
    if query.sandbox is not None:
        conditions.append(EVENTS.c.sandbox == query.sandbox)
    if query.kinds:
        conditions.append(EVENTS.c.kind.in_([kind.value for kind in query.kinds]))
    order = EVENTS.c.sequence.desc() if query.newest_first else EVENTS.c.sequence.asc()
    return sa.select(EVENTS).where(*conditions).order_by(order).limit(query.limit)


HOLDER_OF_NAME = sa.select(SANDBOXES.c.id).where(
    SANDBOXES.c.team == sa.bindparam("team"),
    SANDBOXES.c.name == sa.bindparam("name"),
    SANDBOXES.c.state != State.DEAD.value,
)


def select_usage(sandbox: str, start: float, end: float, limit: int) -> sa.Select[Any]:
    inside = sa.and_(USAGE.c.sandbox == sandbox, USAGE.c.at >= start, USAGE.c.at <= end)
    return sa.select(USAGE).where(inside).order_by(USAGE.c.at).limit(limit)


def _equal(shape: Shape[Any], name: str, value: Any) -> sa.ColumnElement[bool]:
    column = _field(shape, name, value)
    return column.is_(None) if value is None else column == _plain(value)


def _one_of(shape: Shape[Any], name: str, values: Sequence[Any]) -> sa.ColumnElement[bool]:
    present = [value for value in values if value is not None]
    found = _field(shape, name, present[0] if present else None).in_([_plain(value) for value in present])
    return sa.or_(found, _field(shape, name, None).is_(None)) if len(present) < len(values) else found


def _field(shape: Shape[Any], name: str, value: Any) -> sa.ColumnElement[Any]:
    """The column of a field, or its place in the body, read as the type it is compared with."""
    if name not in shape.fields:
        raise Fault(
            "query_field_unknown", f"A {shape.noun} has no field {name!r} to ask for. This is a mistake in Roost.", field=name
        )
    if name in shape.table.columns:
        return shape.table.c[name]
    inside = shape.table.c[BODY][name]
    match value:
        case bool():
            return inside.as_boolean()
        case int() | float():
            return inside.as_float()
        case _:
            return inside.as_string()


def _plain(value: Any) -> Any:
    """Enums are kept as their words."""
    return str(value) if isinstance(value, str) else value


def _only_for_sandboxes(shape: Shape[Any], condition: str) -> None:
    if shape.table is not SANDBOXES:
        raise Fault("query_condition_unknown", f"Only sandboxes can be asked for by {condition}, not a {shape.noun}.")
