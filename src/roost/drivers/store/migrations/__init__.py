"""How the database came to look as `tables` says: Alembic scripts, oldest first. A script is history and never changed."""
