"""E2B's API at the root of the same port: what E2B's own SDKs and CLI call, translated to the same control objects as `/v1`.

Owns E2B's paths, words and error shape, and nothing else: no policy, no state. May import what `api` may, and `api.http`,
`api.access`, `api.services`. Start reading at `app.py` (how it is joined to the server), then `sandboxes.py`; there is a file for
each noun. `docs/reference/e2b-compatibility.md` says what works, what differs and what is not there.
"""
