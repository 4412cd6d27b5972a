"""The feed of committed changes. Events count on where they were: from here on they share their numbers with changes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "changes",
        sa.Column(
            "sequence", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=False, nullable=False
        ),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("record", sa.Text, nullable=False),
        sa.Column("body", sa.JSON().with_variant(JSONB(), "postgresql")),
    )
    # The first change comes after every event there ever was, those that were dropped too.
    database = op.get_bind()
    newest = database.scalar(sa.text("SELECT max(sequence) FROM events")) or 0
    if database.dialect.name == "sqlite":
        counted = database.scalar(sa.text("SELECT seq FROM sqlite_sequence WHERE name = 'events'")) or 0
    else:
        counted = database.scalar(sa.text("SELECT last_value FROM events_sequence_seq")) or 0
        op.execute(sa.schema.CreateSequence(sa.Sequence("changes_sequence", start=max(newest, counted) + 1)))
    if last := max(newest, counted):
        op.execute(sa.text("INSERT INTO changes (sequence, kind, record) VALUES (:last, 'start', '')").bindparams(last=last))
