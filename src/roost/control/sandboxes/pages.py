"""Lists in pages. A cursor is opaque, belongs to one question, and stays good while rows come and go."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from roost.contracts.store import Query, R, Reader
from roost.control.sandboxes.checks import check_limit
from roost.domain.errors import Invalid

T = TypeVar("T")
_BATCH = 100


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    items: tuple[T, ...]
    next_cursor: str | None = None  # None: this was the last


async def read_page(
    reader: Reader,
    kind: type[R],
    query: Query,
    *,
    limit: int,
    cursor: str | None,
    matches: Callable[[R], bool] = lambda _: True,
) -> Page[R]:
    """The next `limit` rows that match the query and, of those, `matches`, which is for what the store cannot ask."""
    check_limit(limit)
    question = _digest(query)
    after = _decode(cursor, question) if cursor is not None else None
    found: list[R] = []
    while len(found) <= limit:
        rows = await reader.find(kind, replace(query, after=after, limit=max(_BATCH, limit + 1)))
        found += [row for row in rows if matches(row)]
        if len(rows) < max(_BATCH, limit + 1):
            break
        after = (rows[-1].created_at, rows[-1].id)
    if len(found) <= limit:
        return Page(tuple(found))
    last = found[limit - 1]
    return Page(tuple(found[:limit]), _encode(last.created_at, last.id, question))


def _digest(query: Query) -> str:
    return hashlib.sha256(repr(query).encode()).hexdigest()[:16]


def _checksum(content: list[object]) -> str:
    return hashlib.sha256(b"roost cursor" + json.dumps(content).encode()).hexdigest()[:16]


def _encode(created_at: float, id: str, question: str) -> str:
    content: list[object] = [created_at, id, question]
    return base64.urlsafe_b64encode(json.dumps([*content, _checksum(content)]).encode()).decode().rstrip("=")


def _decode(cursor: str, question: str) -> tuple[float, str]:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        *content, checksum = json.loads(base64.urlsafe_b64decode(padded.encode()))
        created_at, id, asked = content
        if checksum == _checksum(content) and asked == question:
            return float(created_at), str(id)
    except (binascii.Error, ValueError, TypeError):
        pass
    raise Invalid(
        "cursor_invalid",
        "The cursor is not one that this list gave for this question. Start again without one.",
        cursor=cursor[:100],
    )
