"""Sandbox traffic: carries bytes between clients and sandboxes, and keeps no truth of its own.

A process of its own, which owns the server's TCP connections. Each request is looked at once: those for a sandbox are relayed
byte by byte, the others go to the API, which is control's. A request for a sleeping sandbox wakes it and is held meanwhile; a
connection stays open while its sandbox sleeps; a dead sandbox's connections are cut. Who moved bytes when is written to the
ledger. Of screens it knows more: their WebSockets end here, and a person's input passes only while that person drives. A link to
a port becomes a cookie here, which no program inside gets to see. At the API's own address, which is Mission Control's origin,
answers of sandboxes are only ever downloads.

May import `contracts`, `telemetry`, `settings` and `domain`; never control, node or drivers.
Start with `app` (the parts and how they are joined), then `connection` (one client), `relay` (one request to a sandbox and its
answer), `api_turn` (one to the API) and `route_copy` (where sandboxes are).

    admission   whom a request is for, and what it may do
    upstreams   connections to whoever answers, and waking them
    http        heads, bodies and frames as bytes
    screens     viewers of a screen
"""
