"""Whether a server runs on a home, and where.

A server holds the lock `$ROOST_HOME/lock` for as long as one of its processes lives, and says in `server.json` who and where it
is. The lock is the truth: the record may have been left by a server that was killed, and its pid may be somebody else's by now.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roost.domain.errors import Conflict

_REMAINS_S = 10.0  # for the processes of a server that was killed to be gone: the kernel ends them with it


@dataclass(frozen=True, slots=True)
class RunningRole:
    """One of a server's processes."""

    name: str
    pid: int
    restarts: int


@dataclass(frozen=True, slots=True)
class Running:
    """A server that runs now."""

    url: str
    pid: int
    home: Path
    roles: tuple[RunningRole, ...] = ()


def find_running(home: Path) -> Running | None:
    """The server that runs on this home, or None."""
    if not is_locked(home):
        return None
    record = _record(home)
    if record is None:
        return None
    roles = tuple(RunningRole(**each) for each in record.get("roles", ()))
    return Running(str(record["url"]), int(record["pid"]), home, roles)


def is_held(home: Path) -> bool:
    """Whether a server holds the home, ready or still starting. What a killed one left is waited for, since it ends at once."""
    deadline = time.monotonic() + _REMAINS_S
    while is_locked(home):
        if not is_ending(home) or time.monotonic() > deadline:
            return True
        time.sleep(0.02)
    return False


def is_locked(home: Path) -> bool:
    """Whether a process of a server holds the home."""
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


@contextmanager
def hold_home(home: Path) -> Iterator[int]:
    """One server per home, for as long as a process of it lives: the kernel lets go of the lock even when they are killed. Yields
    the lock's descriptor, for those who are to hold it too. Raises Conflict."""
    with (home / "lock").open("ab") as lock:
        deadline = time.monotonic() + _REMAINS_S
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if not is_ending(home) or time.monotonic() > deadline:
                    message = f"A server runs on {home} already. `roost status` tells where."
                    raise Conflict("already_running", message, home=str(home)) from error
                time.sleep(0.02)  # nothing else is to be done meanwhile
        lock.truncate(0)
        lock.write(b"%d" % os.getpid())
        lock.flush()
        # What one that was killed said of itself would be taken for ours: its process number may be anybody's by now.
        (home / "server.json").unlink(missing_ok=True)
        yield lock.fileno()


def is_ending(home: Path) -> bool:
    """Whether the lock's owner was killed, and only its processes hold it yet, which end with it in a moment."""
    try:
        os.kill(int((home / "lock").read_text()), 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError):
        return False
    return False


def _record(home: Path) -> dict[str, Any] | None:
    try:
        record = json.loads((home / "server.json").read_text())
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) and "url" in record and "pid" in record else None
