"""Cost follows the answer, not the table: which index answers which question."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from roost.contracts.store import EventQuery, Idempotency, Query
from roost.domain.lifecycle import LIVING, MOVING, State
from roost.domain.link import Link
from roost.domain.question import Picture, Question, QuestionState
from roost.domain.sandbox import Sandbox
from roost.domain.snapshot import Purpose, Snapshot
from roost.domain.team import ApiKey
from roost.domain.template import Template
from roost.drivers.store import statements
from roost.drivers.store.dialect import SQLITE
from roost.drivers.store.prepared import Prepared
from roost.drivers.store.records import shape_of
from roost.drivers.store.sealing import Seals
from roost.drivers.store.sql import SqlStore, sqlite_url
from roost.drivers.store.sqlite import connect

pytestmark = pytest.mark.anyio


@pytest.fixture
async def plan(tmp_path: Path) -> Any:
    store = SqlStore(sqlite_url(tmp_path / "roost.db"), seals=Seals(bytes(32)))
    await store.migrate()
    await store.close()

    def explain(statement: sa.Select[Any], values: dict[str, Any]) -> str:
        """With the text and the values that the store hands over."""
        ready = Prepared(statement)
        with closing(connect(tmp_path / "roost.db", 1.0)) as connection:
            return "; ".join(row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {ready.sql}", ready.bound(values)))

    return explain


PAGE = {"limit": 100, "after": (5.0, "i1")}


@pytest.mark.parametrize(
    ("kind", "query", "index"),
    [
        (Sandbox, Query(equal={"team": "a"}, **PAGE), "sandboxes_team_created"),
        (Sandbox, Query(equal={"team": "a"}, metadata={"k": "v"}, **PAGE), "sandboxes_team_created"),
        (Sandbox, Query(**PAGE), "sandboxes_created"),
        (Sandbox, Query(equal={"state": State.DEAD}, oldest_first=True, limit=100), "sandboxes_state"),
        (Sandbox, Query(equal={"node": "n1"}, **PAGE), "sandboxes_node"),
        (Snapshot, Query(equal={"team": "a"}, **PAGE), "snapshots_team_created"),
        (Snapshot, Query(equal={"sandbox": "i1"}, **PAGE), "snapshots_sandbox"),
        (Snapshot, Query(equal={"purpose": Purpose.FORK}, **PAGE), "snapshots_purpose"),
        (ApiKey, Query(equal={"team": "a"}, **PAGE), "api_keys_team_created"),
        (Idempotency, Query(oldest_first=True, limit=10), "idempotency_created"),
        (Link, Query(equal={"sandbox": "i1"}), "links_sandbox"),
        (Question, Query(equal={"team": "a"}, **PAGE), "questions_team_created"),
        (Question, Query(equal={"team": "a", "state": QuestionState.OPEN}, **PAGE), "questions_team_state"),
        (Question, Query(equal={"state": QuestionState.OPEN}), "questions_state"),
        (Question, Query(equal={"sandbox": "i1", "state": QuestionState.OPEN}, limit=100), "questions_sandbox"),
        (Question, Query(oldest_first=True, limit=100), "questions_created"),
    ],
)
async def test_a_page_is_read_off_an_index_without_sorting(plan: Any, kind: type[Any], query: Query, index: str) -> None:
    found = plan(*statements.select_page(shape_of(kind), query, SQLITE))
    assert f"USING INDEX {index}" in found
    assert "TEMP B-TREE" not in found


@pytest.mark.parametrize(
    ("kind", "query", "index"),
    [
        (Sandbox, Query(equal={"team": "a", "name": "web"}), "sandboxes_team_name (team=? AND name=?)"),
        (
            Sandbox,
            Query(equal={"team": "a", "name": "web"}, one_of={"state": sorted(LIVING)}),
            "sandboxes_team_name (team=? AND name=?)",
        ),
        (Sandbox, Query(one_of={"state": sorted(MOVING)}), "sandboxes_state (state=?)"),
        (Sandbox, Query(due_before=5.0), "sandboxes_expiring (state=? AND expires_at<?)"),
        (Sandbox, Query(equal={"snapshot": "s1"}), "sandboxes_snapshot (snapshot=?)"),
        (Snapshot, Query(equal={"parent": "s1"}), "snapshots_parent (parent=?)"),
        (Snapshot, Query(equal={"team": "a", "name": "x"}), "snapshots_team_name (team=? AND name=?)"),
        (Template, Query(equal={"name": "base"}), "templates_name (name=?)"),
        (Template, Query(equal={"snapshot": "s1"}), "templates_snapshot (snapshot=?)"),
        (ApiKey, Query(equal={"digest": "d"}), "api_keys_digest (digest=?)"),
        (Link, Query(equal={"digest": "d"}, limit=1), "links_digest (digest=?)"),
    ],
)
async def test_a_few_are_found_by_an_index(plan: Any, kind: type[Any], query: Query, index: str) -> None:
    assert index in plan(*statements.select_page(shape_of(kind), query, SQLITE))


@pytest.mark.parametrize("kind", [Sandbox, Snapshot, Template, ApiKey, Idempotency, Question, Picture, Link])
async def test_one_is_found_by_its_key(plan: Any, kind: type[Any]) -> None:
    assert "(id=?)" in plan(statements.select_one(shape_of(kind)), {"record_id": "x"})


@pytest.mark.parametrize(
    ("query", "index"),
    [
        (EventQuery(after=5), "INTEGER PRIMARY KEY (rowid>?)"),
        (EventQuery(team="a", after=5), "events_team (team=? AND sequence>?)"),  # pyright: ignore[reportArgumentType]
        (EventQuery(sandbox="i", newest_first=True), "events_sandbox (sandbox=? AND sequence>?)"),  # pyright: ignore[reportArgumentType]
    ],
)
async def test_events_are_read_off_an_index_without_sorting(plan: Any, query: EventQuery, index: str) -> None:
    found = plan(*statements.select_events(query))
    assert index in found
    assert "TEMP B-TREE" not in found


async def test_usage_is_read_off_its_key(plan: Any) -> None:
    found = plan(statements.SELECT_USAGE, {"sandbox": "i1", "start": 0.0, "end": 9.0, "limit": 10})
    assert "PRIMARY KEY (sandbox=? AND at>? AND at<?)" in found
    assert "TEMP B-TREE" not in found
