"""The server on this machine, seen from outside it: how to find it and how to stop it."""

from __future__ import annotations

import os
import select
import signal
from contextlib import suppress
from pathlib import Path

from roost.domain.errors import TimedOut, Unavailable
from roost.setup.running import Running, find_running


def require_running(home: Path) -> Running:
    """Raises Unavailable when none runs."""
    running = find_running(home)
    if running is None:
        raise Unavailable("no_server", f"No server runs on {home}. `roost up` starts one.", home=str(home))
    return running


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
