"""The agent: PID 1 of every sandbox, the one door through which the outside works inside.

Owns: starting and following processes, reading and writing files, the sandbox's identity, and what it reports about
itself. It speaks E2B's envd protocol (plain HTTP routes and Connect RPC in JSON) plus Roost's own additions.

May import: the standard library and itself, nothing of `roost`. It runs in images of every kind, on an interpreter
mounted beside them, so each module it loads is paid for by every sandbox: ssl, email, urllib and pathlib stay out.

Start reading in `app.py` (the routes), then `processes/` and `files/` (a file per verb).
"""

from __future__ import annotations

__version__ = "0.1.0"

# The version of E2B's guest daemon whose behaviour is spoken here; E2B's clients switch features on by it.
ENVD_VERSION = "0.6.13"
