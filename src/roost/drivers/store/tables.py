"""What the database looks like now.

A record's fields that are asked for are columns; all others are in `body`, so that a record can grow a field without a migration.
There are no foreign keys: records are deleted in any order, and who still needs what is decided in `control`.
A change here needs a migration; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Iterable

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from roost.domain.lifecycle import State

METADATA = sa.MetaData()

Json = sa.JSON().with_variant(JSONB(), "postgresql")


def _one_of(column: str, values: Iterable[str]) -> str:
    return f"{column} IN ({', '.join(repr(str(value)) for value in values)})"


SANDBOXES = sa.Table(
    "sandboxes",
    METADATA,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("team", sa.Text, nullable=False),
    sa.Column("name", sa.Text),
    sa.Column("template", sa.Text, nullable=False),
    sa.Column("origin", sa.Text, nullable=False),
    sa.Column("node", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("incarnation", sa.BigInteger, nullable=False),
    sa.Column("snapshot", sa.Text),
    sa.Column("parent", sa.Text),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("started_at", sa.Double, nullable=False),
    sa.Column("changed_at", sa.Double, nullable=False),
    sa.Column("expires_at", sa.Double),
    sa.Column("metadata", Json, nullable=False),
    sa.Column("body", Json, nullable=False),
    sa.Column("revision", sa.BigInteger, nullable=False),
    sa.CheckConstraint(_one_of("state", State), name="sandboxes_state"),
)
_living_and_named = sa.and_(SANDBOXES.c.state != State.DEAD.value, SANDBOXES.c.name.is_not(None))
_expiring = SANDBOXES.c.expires_at.is_not(None)
sa.Index(
    "sandboxes_living_name",
    SANDBOXES.c.team,
    SANDBOXES.c.name,
    unique=True,
    sqlite_where=_living_and_named,
    postgresql_where=_living_and_named,
)
sa.Index("sandboxes_team_created", SANDBOXES.c.team, SANDBOXES.c.created_at, SANDBOXES.c.id)
sa.Index("sandboxes_created", SANDBOXES.c.created_at, SANDBOXES.c.id)
# Of the dead too, and in the order of a page: else SQLite takes the index above and walks over the whole team.
sa.Index("sandboxes_team_name", SANDBOXES.c.team, SANDBOXES.c.name, SANDBOXES.c.created_at, SANDBOXES.c.id)
# Not only of the moving states: a partial index serves only a query that spells its condition out, and parameters are bound.
sa.Index("sandboxes_state", SANDBOXES.c.state, SANDBOXES.c.created_at, SANDBOXES.c.id)
# The state comes first although few queries need it: without it SQLite prefers the index above, and walks over all that run.
sa.Index("sandboxes_expiring", SANDBOXES.c.state, SANDBOXES.c.expires_at, sqlite_where=_expiring, postgresql_where=_expiring)
sa.Index("sandboxes_snapshot", SANDBOXES.c.snapshot)
sa.Index("sandboxes_node", SANDBOXES.c.node, SANDBOXES.c.created_at, SANDBOXES.c.id)

SNAPSHOTS = sa.Table(
    "snapshots",
    METADATA,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("team", sa.Text, nullable=False),
    sa.Column("node", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("purpose", sa.Text, nullable=False),
    sa.Column("template", sa.Text, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("sandbox", sa.Text),
    sa.Column("parent", sa.Text),
    sa.Column("name", sa.Text),
    sa.Column("body", Json, nullable=False),
    sa.Column("revision", sa.BigInteger, nullable=False),
)
sa.Index("snapshots_team_created", SNAPSHOTS.c.team, SNAPSHOTS.c.created_at, SNAPSHOTS.c.id)
sa.Index("snapshots_created", SNAPSHOTS.c.created_at, SNAPSHOTS.c.id)
sa.Index("snapshots_sandbox", SNAPSHOTS.c.sandbox, SNAPSHOTS.c.created_at, SNAPSHOTS.c.id)
sa.Index("snapshots_purpose", SNAPSHOTS.c.purpose, SNAPSHOTS.c.created_at, SNAPSHOTS.c.id)
sa.Index("snapshots_team_name", SNAPSHOTS.c.team, SNAPSHOTS.c.name, SNAPSHOTS.c.created_at, SNAPSHOTS.c.id)
sa.Index("snapshots_parent", SNAPSHOTS.c.parent)

TEMPLATES = sa.Table(
    "templates",
    METADATA,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("team", sa.Text),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("snapshot", sa.Text, nullable=False),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("body", Json, nullable=False),
    sa.Column("revision", sa.BigInteger, nullable=False),
)
sa.Index("templates_created", TEMPLATES.c.created_at, TEMPLATES.c.id)
sa.Index("templates_name", TEMPLATES.c.name, TEMPLATES.c.team)
sa.Index("templates_snapshot", TEMPLATES.c.snapshot)

KEYS = sa.Table(
    "api_keys",
    METADATA,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("team", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("body", Json, nullable=False),
    sa.Column("revision", sa.BigInteger, nullable=False),
)
sa.Index("api_keys_digest", KEYS.c.digest)
sa.Index("api_keys_team_created", KEYS.c.team, KEYS.c.created_at, KEYS.c.id)

IDEMPOTENCY = sa.Table(
    "idempotency",
    METADATA,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("sandbox", sa.Text, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("body", Json, nullable=False),
    sa.Column("revision", sa.BigInteger, nullable=False),
)
sa.Index("idempotency_created", IDEMPOTENCY.c.created_at, IDEMPOTENCY.c.id)
sa.Index("idempotency_sandbox", IDEMPOTENCY.c.sandbox)

LINKS = sa.Table(
    "links",
    METADATA,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("sandbox", sa.Text, nullable=False),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("body", Json, nullable=False),
    sa.Column("revision", sa.BigInteger, nullable=False),
)
sa.Index("links_digest", LINKS.c.digest)
sa.Index("links_sandbox", LINKS.c.sandbox, LINKS.c.created_at, LINKS.c.id)

QUESTIONS = sa.Table(
    "questions",
    METADATA,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("team", sa.Text, nullable=False),
    sa.Column("sandbox", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("expires_at", sa.Double, nullable=False),
    sa.Column("body", Json, nullable=False),
    sa.Column("revision", sa.BigInteger, nullable=False),
)
sa.Index("questions_team_state", QUESTIONS.c.team, QUESTIONS.c.state, QUESTIONS.c.created_at, QUESTIONS.c.id)
sa.Index("questions_team_created", QUESTIONS.c.team, QUESTIONS.c.created_at, QUESTIONS.c.id)
sa.Index("questions_state", QUESTIONS.c.state, QUESTIONS.c.created_at, QUESTIONS.c.id)
sa.Index("questions_created", QUESTIONS.c.created_at, QUESTIONS.c.id)
sa.Index("questions_sandbox", QUESTIONS.c.sandbox, QUESTIONS.c.created_at, QUESTIONS.c.id)

PICTURES = sa.Table(
    "question_pictures",
    METADATA,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("body", Json, nullable=False),
    sa.Column("revision", sa.BigInteger, nullable=False),
)

BUILDS = sa.Table(
    "builds",
    METADATA,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("team", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("body", Json, nullable=False),
    sa.Column("revision", sa.BigInteger, nullable=False),
)
sa.Index("builds_team_created", BUILDS.c.team, BUILDS.c.created_at, BUILDS.c.id)
sa.Index("builds_team_name", BUILDS.c.team, BUILDS.c.name, BUILDS.c.created_at, BUILDS.c.id)
sa.Index("builds_state", BUILDS.c.state, BUILDS.c.created_at, BUILDS.c.id)
sa.Index("builds_created", BUILDS.c.created_at, BUILDS.c.id)

BUILD_PLANS = sa.Table(
    "build_plans",
    METADATA,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("team", sa.Text, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("body", Json, nullable=False),
    sa.Column("revision", sa.BigInteger, nullable=False),
)

BUILD_LOGS = sa.Table(
    "build_logs",
    METADATA,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("build", sa.Text, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("body", Json, nullable=False),
    sa.Column("revision", sa.BigInteger, nullable=False),
)
sa.Index("build_logs_build", BUILD_LOGS.c.build, BUILD_LOGS.c.created_at, BUILD_LOGS.c.id)

LAYERS = sa.Table(
    "layers",
    METADATA,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("team", sa.Text, nullable=False),
    sa.Column("snapshot", sa.Text, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("body", Json, nullable=False),
    sa.Column("revision", sa.BigInteger, nullable=False),
)
sa.Index("layers_team_created", LAYERS.c.team, LAYERS.c.created_at, LAYERS.c.id)
sa.Index("layers_created", LAYERS.c.created_at, LAYERS.c.id)
sa.Index("layers_snapshot", LAYERS.c.snapshot)

UPLOADS = sa.Table(
    "uploads",
    METADATA,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("team", sa.Text, nullable=False),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("body", Json, nullable=False),
    sa.Column("revision", sa.BigInteger, nullable=False),
)
sa.Index("uploads_digest", UPLOADS.c.digest)
sa.Index("uploads_created", UPLOADS.c.created_at, UPLOADS.c.id)

# SQLite keeps rows by their number only when the column is exactly INTEGER.
Sequence = sa.BigInteger().with_variant(sa.Integer, "sqlite")

CHANGES = sa.Table(
    "changes",
    METADATA,
    sa.Column("sequence", Sequence, primary_key=True, autoincrement=False),  # given by `log`; never twice
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("record", sa.Text, nullable=False),  # its id
    sa.Column("body", Json),  # null: deleted
)

EVENTS = sa.Table(
    "events",
    METADATA,
    sa.Column("sequence", Sequence, primary_key=True, autoincrement=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("team", sa.Text, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("sandbox", sa.Text),
    sa.Column("facts", Json, nullable=False),
    sqlite_autoincrement=True,  # a sequence is never given twice, not even after its row is gone
)
sa.Index("events_team", EVENTS.c.team, EVENTS.c.sequence)
sa.Index("events_sandbox", EVENTS.c.sandbox, EVENTS.c.sequence)
sa.Index("events_at", EVENTS.c.at)

USAGE = sa.Table(
    "usage",
    METADATA,
    sa.Column("sandbox", sa.Text, primary_key=True),
    sa.Column("at", sa.Double, primary_key=True),
    sa.Column("cpu_s", sa.Double, nullable=False),
    sa.Column("memory_bytes", sa.BigInteger, nullable=False),
    sa.Column("disk_bytes", sa.BigInteger, nullable=False),
    sa.Column("received_bytes", sa.BigInteger, nullable=False),
    sa.Column("sent_bytes", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
sa.Index("usage_at", USAGE.c.at)
