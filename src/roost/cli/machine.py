"""The server on this machine, seen from outside it: whether it runs, where, and how to stop it.

A server holds the lock `$ROOST_HOME/lock` for as long as it lives and says in `server.json` who and where it is. The
lock is the truth: the record may have been left by a server that was killed, and its pid may be somebody else's by now.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roost.domain.errors import TimedOut, Unavailable


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


def require_running(home: Path) -> Running:
    """Raises Unavailable when none runs."""
    running = find_running(home)
    if running is None:
        raise Unavailable("no_server", f"No server runs on {home}. `roost up` starts one.", home=str(home))
    return running


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


def stop(running: Running, *, patience_s: float = 90.0) -> None:
    """Asks it to end and returns when it has. Raises TimedOut when it does not."""
    try:
        handle = os.pidfd_open(running.pid)
    except ProcessLookupError:
        return
    try:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, signal.SIGTERM)
        ended, _, _ = select.select([handle], [], [], patience_s)
    finally:
        os.close(handle)
    if not ended:
        raise TimedOut(
            "server_does_not_end",
            f"The server (pid {running.pid}) was asked to end and did not within {patience_s:g} s."
            f" Its log may tell why: {running.home / 'server.log'}.",
            pid=running.pid,
        )


def _record(home: Path) -> dict[str, Any] | None:
    try:
        record = json.loads((home / "server.json").read_text())
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) and "url" in record and "pid" in record else None
