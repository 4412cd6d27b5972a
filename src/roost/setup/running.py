"""Whether a server runs on a home, and where.

A server holds the lock `$ROOST_HOME/lock` for as long as it lives and says in `server.json` who and where it is. The
lock is the truth: the record may have been left by a server that was killed, and its pid may be somebody else's by now.
"""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Running:
    """A server that runs now."""

    url: str
    pid: int
    home: Path


def find_running(home: Path) -> Running | None:
    """The server that runs on this home, or None."""
    if not is_locked(home):
        return None
    record = _record(home)
    if record is None:
        return None
    return Running(str(record["url"]), int(record["pid"]), home)


def is_locked(home: Path) -> bool:
    """Whether a server holds the home, ready or still starting."""
    try:
        descriptor = os.open(home / "lock", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _record(home: Path) -> dict[str, Any] | None:
    try:
        record = json.loads((home / "server.json").read_text())
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) and "url" in record and "pid" in record else None
