"""The awaiting client, and the one that is written: `scripts/blocking-client` makes `roost.client.blocking` from it.

So it uses of anyio only `sleep`, and what awaiting and blocking programs do differently is in modules outside that have both
(`beside`, `bodies`, `entering`).
"""
