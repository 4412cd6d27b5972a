"""The first schema."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0001"
down_revision = None

# Spelled out, not taken from the code of today: this is what the schema was.
STATES = "'creating', 'running', 'pausing', 'paused', 'resuming', 'snapshotting', 'killing', 'dead'"


def upgrade() -> None:
    json = sa.JSON().with_variant(JSONB(), "postgresql")
    create_sandboxes(json)
    create_snapshots(json)
    create_templates(json)
    create_keys(json)
    create_idempotency(json)
    create_events(json)
    create_usage()


def create_sandboxes(json: sa.types.TypeEngine) -> None:
    op.create_table(
        "sandboxes",
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
        sa.Column("metadata", json, nullable=False),
        sa.Column("body", json, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.CheckConstraint(f"state IN ({STATES})", name="sandboxes_state"),
    )
    living = sa.text("state != 'dead' AND name IS NOT NULL")
    expiring = sa.text("expires_at IS NOT NULL")
    op.create_index(
        "sandboxes_living_name", "sandboxes", ["team", "name"], unique=True, sqlite_where=living, postgresql_where=living
    )
    op.create_index("sandboxes_team_created", "sandboxes", ["team", "created_at", "id"])
    op.create_index("sandboxes_created", "sandboxes", ["created_at", "id"])
    op.create_index("sandboxes_team_name", "sandboxes", ["team", "name", "created_at", "id"])
    op.create_index("sandboxes_state", "sandboxes", ["state", "created_at", "id"])
    op.create_index("sandboxes_expiring", "sandboxes", ["state", "expires_at"], sqlite_where=expiring, postgresql_where=expiring)
    op.create_index("sandboxes_snapshot", "sandboxes", ["snapshot"])
    op.create_index("sandboxes_node", "sandboxes", ["node", "created_at", "id"])


def create_snapshots(json: sa.types.TypeEngine) -> None:
    op.create_table(
        "snapshots",
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
        sa.Column("body", json, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
    )
    op.create_index("snapshots_team_created", "snapshots", ["team", "created_at", "id"])
    op.create_index("snapshots_created", "snapshots", ["created_at", "id"])
    op.create_index("snapshots_sandbox", "snapshots", ["sandbox", "created_at", "id"])
    op.create_index("snapshots_purpose", "snapshots", ["purpose", "created_at", "id"])
    op.create_index("snapshots_team_name", "snapshots", ["team", "name", "created_at", "id"])
    op.create_index("snapshots_parent", "snapshots", ["parent"])


def create_templates(json: sa.types.TypeEngine) -> None:
    op.create_table(
        "templates",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("team", sa.Text),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("snapshot", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("body", json, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
    )
    op.create_index("templates_created", "templates", ["created_at", "id"])
    op.create_index("templates_name", "templates", ["name", "team"])
    op.create_index("templates_snapshot", "templates", ["snapshot"])


def create_keys(json: sa.types.TypeEngine) -> None:
    op.create_table(
        "api_keys",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("team", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("body", json, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
    )
    op.create_index("api_keys_digest", "api_keys", ["digest"])
    op.create_index("api_keys_team_created", "api_keys", ["team", "created_at", "id"])


def create_idempotency(json: sa.types.TypeEngine) -> None:
    op.create_table(
        "idempotency",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("sandbox", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("body", json, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
    )
    op.create_index("idempotency_created", "idempotency", ["created_at", "id"])
    op.create_index("idempotency_sandbox", "idempotency", ["sandbox"])


def create_events(json: sa.types.TypeEngine) -> None:
    op.create_table(
        "events",
        sa.Column("sequence", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("team", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("sandbox", sa.Text),
        sa.Column("facts", json, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("events_team", "events", ["team", "sequence"])
    op.create_index("events_sandbox", "events", ["sandbox", "sequence"])


def create_usage() -> None:
    op.create_table(
        "usage",
        sa.Column("sandbox", sa.Text, primary_key=True),
        sa.Column("at", sa.Double, primary_key=True),
        sa.Column("cpu_s", sa.Double, nullable=False),
        sa.Column("memory_bytes", sa.BigInteger, nullable=False),
        sa.Column("disk_bytes", sa.BigInteger, nullable=False),
        sa.Column("received_bytes", sa.BigInteger, nullable=False),
        sa.Column("sent_bytes", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("usage_at", "usage", ["at"])
