"""HTTP/1.1 as the agent needs it: small, strict, streaming both ways.

Owns: parsing heads (`head.py`), request bodies with backpressure (`inbound.py`), connections and answers
(`connection.py`), content codings (`encoding.py`). Knows nothing of routes. May import: `errors`, `wakeup`.
Start reading in `connection.py`.
"""
