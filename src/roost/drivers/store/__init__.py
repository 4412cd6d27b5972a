"""The Store contract on one SQL database: SQLite by default, PostgreSQL for a fleet, one set of statements for both.

    sql           SqlStore, the driver: start here
    tables        what the database looks like; `migrations/` is how it came to look like that
    records       records to rows and back
    sealing       secrets within records, sealed
    statements    queries to SQL
    log           the feed of committed changes
    connections   one writer, a few readers; what a cancelled caller leaves behind (nothing)
    dialect       everything that differs between the two databases
    one_hop       SQLite connections that go to their thread once for each statement
    schema        brings a database to the newest schema
    failures      the database's exceptions in our words

May import `contracts`, `telemetry`, `settings`, `domain`; SQLAlchemy, Alembic, pydantic and cryptography.
"""
