"""Run by Alembic. `schema.upgrade` hands in the connection and owns the transaction."""

from __future__ import annotations

from alembic import context

from roost.drivers.store.tables import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    render_as_batch=True,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
