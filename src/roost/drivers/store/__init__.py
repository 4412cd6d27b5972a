"""The Store contract on one SQL database: SQLite by default, PostgreSQL for a fleet, one set of statements for both.

    sql           SqlStore, the driver: start here
    tables        what the database looks like; `migrations/` is how it came to look like that
    records       records to rows and back
    sealing       secrets within records, sealed
    statements    queries to SQL
    log           the feed of committed changes
    connections   one writer, a few readers; what a cancelled caller leaves behind (nothing)
    sqlite        connections to SQLite, on the event loop
    prepared      statements as SQLite takes them, worked out once
    disk          when a commit is on the disk; commits of a burst share the wait
    pooled        connections to PostgreSQL, by SQLAlchemy
    dialect       what differs between the SQL of the two databases
    schema        brings a database to the newest schema
    failures      the database's exceptions in our words

May import `contracts`, `telemetry`, `settings`, `domain`; SQLAlchemy, Alembic, pydantic and cryptography.
"""
