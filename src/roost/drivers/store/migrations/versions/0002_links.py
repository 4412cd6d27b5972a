"""Links to screens."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "links",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("sandbox", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("body", sa.JSON().with_variant(JSONB(), "postgresql"), nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
    )
    op.create_index("links_digest", "links", ["digest"])
    op.create_index("links_sandbox", "links", ["sandbox", "created_at", "id"])
