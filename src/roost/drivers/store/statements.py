"""Queries to SQL. Every value is bound; field names are checked against the record's."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import sqlalchemy as sa

from roost.contracts.store import EventQuery, Query
from roost.domain.errors import Fault
from roost.domain.lifecycle import State
from roost.drivers.store.dialect import Dialect
from roost.drivers.store.records import BODY, Shape
from roost.drivers.store.tables import EVENTS, SANDBOXES, USAGE, Json

CAN_EXPIRE = State.RUNNING


@cache
def select_one(shape: Shape[Any]) -> sa.Select[Any]:
    return sa.select(shape.table).where(shape.table.c.id == sa.bindparam("record_id"))


@dataclass(frozen=True, slots=True)
class _Field:
    """A field that is asked for: how it is compared, not with what."""

    name: str
    type: type[Any]  # the Python type of what it is compared with
    values: int  # how many it may have
    null: bool = False  # it may have none


@dataclass(frozen=True, slots=True)
class _Form:
    """A query but for its values: what is the same here is the same SQL."""

    fields: tuple[_Field, ...]
    metadata: bool
    created_from: bool
    due_before: bool
    after: bool
    oldest_first: bool
    limit: bool


def select_page(shape: Shape[Any], query: Query, dialect: Dialect) -> tuple[sa.Select[Any], dict[str, Any]]:
    """The statement, and its values."""
    asked = [(name, [value]) for name, value in query.equal.items()] + [(n, list(v)) for n, v in query.one_of.items()]
    fields: list[_Field] = []
    values: dict[str, Any] = {}
    for place, (name, wanted) in enumerate(asked):
        present = [_plain(value) for value in wanted if value is not None]
        values |= {f"field_{place}_{number}": value for number, value in enumerate(present)}
        fields.append(_Field(name, type(present[0]) if present else str, len(present), null=len(present) < len(wanted)))
    if query.metadata:
        values["metadata"] = dict(query.metadata)
    if query.after is not None:
        values |= {"after_at": query.after[0], "after_id": query.after[1]}
    given = {"created_from": query.created_from, "due_before": query.due_before, "limit": query.limit}
    values |= {name: value for name, value in given.items() if value is not None}
    form = _Form(
        tuple(fields), bool(query.metadata), query.created_from is not None, query.due_before is not None,
        query.after is not None, query.oldest_first, query.limit is not None,
    )  # fmt: skip
    return _page(shape, form, dialect), values


@lru_cache(maxsize=256)
def _page(shape: Shape[Any], form: _Form, dialect: Dialect) -> sa.Select[Any]:
    table = shape.table
    conditions = [_is(shape, field, place) for place, field in enumerate(form.fields)]
    if form.metadata:
        _only_for_sandboxes(shape, "metadata")
        conditions.append(dialect.has_pairs(table.c.metadata, sa.bindparam("metadata", type_=Json)))
    if form.created_from:
        conditions.append(table.c.created_at >= sa.bindparam("created_from"))
    if form.due_before:
        _only_for_sandboxes(shape, "due_before")
        conditions += [SANDBOXES.c.state == CAN_EXPIRE.value, SANDBOXES.c.expires_at <= sa.bindparam("due_before")]
    order = (table.c.created_at, table.c.id)
    if form.after:
        last = sa.tuple_(sa.bindparam("after_at", type_=sa.Double), sa.bindparam("after_id", type_=sa.Text))
        place = sa.tuple_(*order)
        conditions.append(place > last if form.oldest_first else place < last)
    page = sa.select(table).where(*conditions)
    page = page.order_by(*(column.asc() if form.oldest_first else column.desc() for column in order))
    return page.limit(sa.bindparam("limit", type_=sa.Integer)) if form.limit else page


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


INSERT_EVENT = sa.insert(EVENTS)
DELETE_EVENTS = sa.delete(EVENTS).where(EVENTS.c.at < sa.bindparam("before"))


def select_events(query: EventQuery) -> tuple[sa.Select[Any], dict[str, Any]]:
    """The statement, and its values."""
    given = {"before": query.before, "team": query.team, "sandbox": query.sandbox}
    given = {name: value for name, value in given.items() if value is not None}
    kinds = {f"kind_{number}": kind.value for number, kind in enumerate(query.kinds)}
    values = {"after": query.after, "limit": query.limit, **given, **kinds}
    return _events(tuple(given), len(kinds), query.newest_first), values


@lru_cache(maxsize=64)
def _events(given: tuple[str, ...], kinds: int, newest_first: bool) -> sa.Select[Any]:
    conditions = [EVENTS.c.sequence > sa.bindparam("after")]
    if "before" in given:
        conditions.append(EVENTS.c.sequence < sa.bindparam("before"))
    conditions += [EVENTS.c[name] == sa.bindparam(name) for name in given if name != "before"]
    if kinds:
        conditions.append(EVENTS.c.kind.in_([sa.bindparam(f"kind_{number}") for number in range(kinds)]))
    order = EVENTS.c.sequence.desc() if newest_first else EVENTS.c.sequence.asc()
    return sa.select(EVENTS).where(*conditions).order_by(order).limit(sa.bindparam("limit", type_=sa.Integer))


HOLDER_OF_NAME = sa.select(SANDBOXES.c.id).where(
    SANDBOXES.c.team == sa.bindparam("team"),
    SANDBOXES.c.name == sa.bindparam("name"),
    SANDBOXES.c.state != State.DEAD.value,
)


SELECT_USAGE = (
    sa.select(USAGE)
    .where(
        USAGE.c.sandbox == sa.bindparam("sandbox"),
        USAGE.c.at >= sa.bindparam("start"),
        USAGE.c.at <= sa.bindparam("end"),
    )
    .order_by(USAGE.c.at)
    .limit(sa.bindparam("limit", type_=sa.Integer))
)
DELETE_USAGE = sa.delete(USAGE).where(USAGE.c.at < sa.bindparam("before"))


@cache
def insert_usage(dialect: Dialect) -> sa.Insert:
    return dialect.insert_or_skip(USAGE)


def _is(shape: Shape[Any], field: _Field, place: int) -> sa.ColumnElement[bool]:
    column = _column(shape, field)
    binds = [sa.bindparam(f"field_{place}_{number}", type_=column.type) for number in range(field.values)]
    conditions = [column == binds[0] if len(binds) == 1 else column.in_(binds)] if binds else []
    return sa.or_(sa.false(), *conditions, *([column.is_(None)] if field.null else []))


def _column(shape: Shape[Any], field: _Field) -> sa.ColumnElement[Any]:
    """The column of a field, or its place in the body, read as the type it is compared with."""
    name = field.name
    if name not in shape.fields:
        raise Fault(
            "query_field_unknown", f"A {shape.noun} has no field {name!r} to ask for. This is a mistake in Roost.", field=name
        )
    if name in shape.table.columns:
        return shape.table.c[name]
    inside = shape.table.c[BODY][name]
    if issubclass(field.type, bool):
        return inside.as_boolean()
    return inside.as_float() if issubclass(field.type, int | float) else inside.as_string()


def _plain(value: Any) -> Any:
    """Enums are kept as their words."""
    return str(value) if isinstance(value, str) else value


def _only_for_sandboxes(shape: Shape[Any], condition: str) -> None:
    if shape.table is not SANDBOXES:
        raise Fault("query_condition_unknown", f"Only sandboxes can be asked for by {condition}, not a {shape.noun}.")
