"""Records to try a store with: plain ones by number, and any at all; and the shortest ways to put and read them."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any, Literal, NewType, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from roost.contracts.store import Idempotency, Query, Store
from roost.domain.access import FULL, OPERATOR, READ_ONLY, Role, Scope
from roost.domain.builds import Build, BuildLog, BuildPlan, Layer, Upload
from roost.domain.egress import Egress
from roost.domain.events import Event, EventKind
from roost.domain.ids import NodeId, SandboxId, SnapshotId, TeamId
from roost.domain.lifecycle import State
from roost.domain.link import Link
from roost.domain.proxy import Proxy
from roost.domain.question import Picture, Question
from roost.domain.sandbox import Sandbox, Size
from roost.domain.snapshot import Purpose, Snapshot, SnapshotKind
from roost.domain.team import ApiKey
from roost.domain.template import Template

TEAM = TeamId("default")
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXT,
    int: st.integers(-(2**63), 2**63 - 1),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    type(None): st.none(),
}
NETWORKS = st.lists(st.ip_addresses(v=4).map(str) | st.ip_addresses(v=4).map(lambda one: f"{one}/32"), max_size=3).map(tuple)
CHECKED: dict[Any, st.SearchStrategy[Any]] = {
    Egress: st.builds(Egress, internet=st.booleans(), allow=NETWORKS, deny=NETWORKS)
    | st.builds(
        Egress,
        internet=st.just(False),
        allow=st.just(("api.example.com", "*.example.org")),
        dns=st.none() | st.just(()) | st.just(("203.0.113.53",)),
        rules=st.sampled_from(({"X-Key": "value"}, {"X-Key": "sealed:1:value"}, {})).map(lambda one: {"api.example.com": one}),
        plain=st.just(()) | st.just(("api.example.com",)),
        proxy=st.none()
        | st.builds(
            Proxy,
            address=st.just("proxy.example.com:1080"),
            username=st.just("ada"),
            password=st.just("pw") | st.just("sealed:1:pw"),
        ),
    ),
    Scope: st.sampled_from((OPERATOR, FULL, READ_ONLY, Scope(Role.SANDBOX, SandboxId("i" + "0" * 20)))),
}
"""Types that refuse to be made of just anything."""
RECORDS = (Sandbox, Snapshot, Template, ApiKey, Idempotency, Link, Question, Picture, Build, BuildPlan, BuildLog, Layer, Upload)


def values_of(kind: Any) -> st.SearchStrategy[Any]:
    """Anything of this type, with every field filled: a field added later is tried too."""
    if kind in SCALARS:
        return SCALARS[kind]
    if kind in CHECKED:
        return CHECKED[kind]
    if isinstance(kind, NewType):
        return values_of(kind.__supertype__)
    if get_origin(kind) in (Union, types.UnionType):
        return st.one_of([values_of(part) for part in get_args(kind)])
    if get_origin(kind) is Literal:
        return st.sampled_from(get_args(kind))
    if get_origin(kind) is tuple and get_args(kind)[-1] is not Ellipsis:
        return st.tuples(*(values_of(part) for part in get_args(kind)))
    if get_origin(kind) is tuple:
        return st.lists(values_of(get_args(kind)[0]), max_size=3).map(tuple)
    if isinstance(get_origin(kind), type) and issubclass(get_origin(kind), Mapping):
        key, value = get_args(kind)
        return st.dictionaries(values_of(key), values_of(value), max_size=4)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from(kind)
    assert isinstance(kind, type) and is_dataclass(kind), f"no way to make a {kind}"
    hints = get_type_hints(kind)
    return st.builds(kind, **{field.name: values_of(hints[field.name]) for field in fields(kind)})


def sandbox(number: int, **changes: Any) -> Sandbox:
    plain = Sandbox(
        id=SandboxId(f"i{number:020d}"),
        team=TEAM,
        name=None,
        template="base",
        origin=SnapshotId("s1"),
        node=NodeId("n1"),
        state=State.RUNNING,
        incarnation=1,
        size=Size(),
        access_token="secret",
        created_at=float(number),
        started_at=float(number),
        changed_at=float(number),
    )
    return replace(plain, **changes)


def event(number: int, **changes: Any) -> Event:
    return replace(Event(EventKind.CREATED, TEAM, float(number), SandboxId(f"i{number}")), **changes)


def snapshot(number: int, **changes: Any) -> Snapshot:
    plain = Snapshot(SnapshotId(f"s{number}"), TEAM, NodeId("n1"), SnapshotKind.MEMORY, Purpose.SLEEP, "base", float(number))
    return replace(plain, **changes)


def two_versions() -> st.SearchStrategy[tuple[Any, Any]]:
    """A record of any kind and a later version of it."""

    def versions(kind: Any) -> st.SearchStrategy[tuple[Any, Any]]:
        pairs = st.tuples(values_of(kind), values_of(kind))
        return pairs.map(lambda pair: (pair[0], replace(pair[1], id=pair[0].id)))

    return st.sampled_from(RECORDS).flatmap(versions)


async def keep(store: Store, *records: Any) -> list[Any]:
    async with store.transaction() as transaction:
        return [await transaction.put(record, expect_revision=None) for record in records]


async def read(store: Store, kind: type[Any], id: str) -> Any:
    async with store.transaction() as transaction:
        return await transaction.get(kind, id)


async def numbers(store: Store, **conditions: Any) -> list[int]:
    async with store.transaction() as transaction:
        return [int(found.id[1:]) for found in await transaction.find(Sandbox, Query(**conditions))]


async def append(store: Store, *events: Event) -> list[Event]:
    async with store.transaction() as transaction:
        return [await transaction.append(one) for one in events]
