"""Records to rows and back.

A field that has a column of its name goes there, all others into `body`. Reading is lenient in one way only: a field that an
older Roost did not write takes its default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType
from typing import Any, Generic, TypeVar

import sqlalchemy as sa
from pydantic import TypeAdapter

from roost.contracts.store import Idempotency
from roost.domain.builds import Build, BuildLog, BuildPlan, Layer, Upload
from roost.domain.errors import Fault, Invalid
from roost.domain.events import Event
from roost.domain.link import Link
from roost.domain.node import Usage
from roost.domain.question import Picture, Question
from roost.domain.sandbox import Sandbox
from roost.domain.snapshot import Snapshot
from roost.domain.team import ApiKey
from roost.domain.template import Template
from roost.drivers.store import tables
from roost.drivers.store.sealing import Seals

T = TypeVar("T")
Dumped = dict[str, Any]
BODY = "body"


class Shape(Generic[T]):
    """How one kind of record lies in its table."""

    def __init__(self, kind: type[T], table: sa.Table) -> None:
        self.kind = kind
        self.table = table
        self.noun = kind.__name__.lower()
        self._adapter = TypeAdapter(kind)
        self.fields = frozenset(field.name for field in fields(kind))  # pyright: ignore[reportArgumentType]
        self._columns = tuple(column.name for column in table.columns if column.name != BODY)
        self._rest = tuple(sorted(self.fields.difference(self._columns)))
        self._has_body = BODY in table.columns

    def dump(self, record: T, seals: Seals) -> Dumped:
        """All of it in one value, secrets sealed: as the log keeps it. Raises Invalid for text that no database keeps."""
        _check_text(record, self.noun)  # before pydantic, which would replace half a pair by something else
        dumped = self._adapter.dump_python(record, mode="json")
        return seals.seal(self.table.name, dumped.get("id", ""), dumped)

    def row(self, dumped: Dumped) -> dict[str, Any]:
        """Column name to value."""
        row = {name: dumped[name] for name in self._columns}
        if self._has_body:
            row[BODY] = {name: dumped[name] for name in self._rest}
        return row

    def load(self, dumped: Any, seals: Seals) -> T:
        return self._adapter.validate_python(seals.open(self.table.name, dumped.get("id", ""), dumped))

    def decode(self, row: Mapping[str, Any], seals: Seals) -> T:
        values = dict(row)
        if self._has_body:
            values.update(seals.open(self.table.name, values.get("id", ""), values.pop(BODY)))
        return self._adapter.validate_python(values)


def _check_text(value: Any, noun: str) -> None:
    """PostgreSQL keeps no NUL, and neither database a lone surrogate: refuse both everywhere, so that both behave the same."""
    kind = type(value)
    if kind is str:
        if "\0" in value or not _encodable(value):
            raise _not_text(noun)
    elif kind in _WITHOUT_TEXT:
        return
    elif kind is dict or isinstance(value, Mapping):
        for key, item in value.items():
            _check_text(key, noun)
            _check_text(item, noun)
    elif kind is tuple or kind is list:
        for item in value:
            _check_text(item, noun)
    else:
        for name in _field_names(kind):
            _check_text(getattr(value, name), noun)


_WITHOUT_TEXT = frozenset({int, float, bool, NoneType})


@cache
def _field_names(kind: type[Any]) -> tuple[str, ...]:
    """Of a dataclass; none of an enum, whose words are ours."""
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else ()


def _encodable(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _not_text(noun: str) -> Invalid:
    return Invalid(
        "text_invalid",
        f"A text of this {noun} holds a NUL or half a surrogate pair, which is no Unicode text. Take that character out.",
        kind=noun,
    )


SHAPES: Mapping[type[Any], Shape[Any]] = {
    Sandbox: Shape(Sandbox, tables.SANDBOXES),
    Snapshot: Shape(Snapshot, tables.SNAPSHOTS),
    Template: Shape(Template, tables.TEMPLATES),
    ApiKey: Shape(ApiKey, tables.KEYS),
    Idempotency: Shape(Idempotency, tables.IDEMPOTENCY),
    Question: Shape(Question, tables.QUESTIONS),
    Picture: Shape(Picture, tables.PICTURES),
    Link: Shape(Link, tables.LINKS),
    Build: Shape(Build, tables.BUILDS),
    BuildPlan: Shape(BuildPlan, tables.BUILD_PLANS),
    BuildLog: Shape(BuildLog, tables.BUILD_LOGS),
    Layer: Shape(Layer, tables.LAYERS),
    Upload: Shape(Upload, tables.UPLOADS),
}
EVENT_SHAPE = Shape(Event, tables.EVENTS)
USAGE_COLUMNS = tuple(field.name for field in fields(Usage))


def shape_of(kind: type[T]) -> Shape[T]:
    shape = SHAPES.get(kind)
    if shape is None:
        raise Fault("kind_unknown", f"The store keeps no {kind.__name__}. It keeps {', '.join(k.__name__ for k in SHAPES)}.")
    return shape
