"""`POST /roost/build/begin` and `/roost/build/settle`: a machine whose disk is all there is of it.

Between two steps only the disk is kept. So what a step leaves must be on the disk: /tmp is memory in a sandbox, and here it
is not. And a step's processes end with it, as they do where a step has a container of its own.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal

from roost_agent.http.connection import Exchange
from roost_agent.threads import in_thread

_ON_DISK = "/tmp"


async def begin(exchange: Exchange) -> None:
    """May be repeated."""
    await in_thread(_put_on_disk)
    _end_others()
    exchange.answer(204)


async def settle(exchange: Exchange) -> None:
    """No process but the agent is left."""
    _end_others()
    exchange.answer(204)


def _put_on_disk() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    while os.path.ismount(_ON_DISK) and libc.umount2(_ON_DISK.encode(), 0) == 0:
        continue
    os.makedirs(_ON_DISK, exist_ok=True)
    os.chmod(_ON_DISK, 0o1777)


def _end_others() -> None:
    """Only as PID 1: elsewhere (a test on somebody's own machine) these would be all processes of theirs."""
    if os.getpid() == 1:
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
