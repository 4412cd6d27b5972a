"""Secrets within records are sealed, in the log of changes too."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import context, op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0005"
down_revision = "0004"

TABLES = {"sandboxes": "sandbox", "snapshots": "snapshot", "idempotency": "idempotency"}  # and their kind in the log


def upgrade() -> None:
    seals, connection = context.config.attributes["seals"], op.get_bind()
    json = sa.JSON().with_variant(JSONB(), "postgresql")
    log = sa.table("changes", sa.column("sequence"), sa.column("kind"), sa.column("record"), sa.column("body", json))
    for name, kind in TABLES.items():
        table = sa.table(name, sa.column("id", sa.Text), sa.column("body", json))
        for id, body in connection.execute(sa.select(table.c.id, table.c.body)).all():
            connection.execute(sa.update(table).where(table.c.id == id).values(body=seals.seal(name, id, body)))
        told = sa.select(log.c.sequence, log.c.record, log.c.body).where(log.c.kind == kind, log.c.body.is_not(None))
        for sequence, id, body in connection.execute(told).all():
            if body is not None:
                connection.execute(sa.update(log).where(log.c.sequence == sequence).values(body=seals.seal(name, id, body)))
