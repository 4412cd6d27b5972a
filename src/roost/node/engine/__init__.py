"""Containers: made from snapshots (`containers`), captured into them (`captures`), kept warm (`pool`), held within their memory
(`alarms`, `memory`), taken away (`teardown`, `removals`)."""
