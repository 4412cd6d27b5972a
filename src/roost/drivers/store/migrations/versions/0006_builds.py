"""Builds of templates: their records, definitions and logs, the layers that they leave, the files that came for them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    json = sa.JSON().with_variant(JSONB(), "postgresql")
    op.create_table(
        "builds",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("team", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("body", json, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
    )
    op.create_index("builds_team_created", "builds", ["team", "created_at", "id"])
    op.create_index("builds_team_name", "builds", ["team", "name", "created_at", "id"])
    op.create_index("builds_state", "builds", ["state", "created_at", "id"])
    op.create_index("builds_created", "builds", ["created_at", "id"])
    op.create_table(
        "build_plans",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("team", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("body", json, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "build_logs",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("build", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("body", json, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
    )
    op.create_index("build_logs_build", "build_logs", ["build", "created_at", "id"])
    op.create_table(
        "layers",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("team", sa.Text, nullable=False),
        sa.Column("snapshot", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("body", json, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
    )
    op.create_index("layers_team_created", "layers", ["team", "created_at", "id"])
    op.create_index("layers_created", "layers", ["created_at", "id"])
    op.create_index("layers_snapshot", "layers", ["snapshot"])
    op.create_table(
        "uploads",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("team", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("body", json, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
    )
    op.create_index("uploads_digest", "uploads", ["digest"])
    op.create_index("uploads_created", "uploads", ["created_at", "id"])
