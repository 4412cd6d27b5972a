"""Questions to people, the pictures that go with them, and events that can be dropped by age."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    json = sa.JSON().with_variant(JSONB(), "postgresql")
    op.create_table(
        "questions",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("team", sa.Text, nullable=False),
        sa.Column("sandbox", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
        sa.Column("body", json, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
    )
    op.create_index("questions_team_state", "questions", ["team", "state", "created_at", "id"])
    op.create_index("questions_team_created", "questions", ["team", "created_at", "id"])
    op.create_index("questions_state", "questions", ["state", "created_at", "id"])
    op.create_index("questions_created", "questions", ["created_at", "id"])
    op.create_index("questions_sandbox", "questions", ["sandbox", "created_at", "id"])
    op.create_table(
        "question_pictures",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("body", json, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
    )
    op.create_index("events_at", "events", ["at"])
