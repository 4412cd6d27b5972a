"""The agent's life: listen, serve, and on SIGTERM see everything off."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys

from roost_agent.app import App
from roost_agent.errors import RpcError
from roost_agent.options import Options
from roost_agent.processes.process import Process

_BACKLOG = 1024
OOM_SCORE = b"100"  # as E2B's clients know it
# Tells the node that this machine was shut down from inside, and not lost.
_ENDED_MARK = "/var/lib/roost/ended"
# From a polite request to leave until the end.
_GRACE_S = 3.0
_LAST_CALL_S = 1.0


async def serve(options: Options) -> None:
    """Serve until SIGTERM or SIGINT. Returns once every process started here is gone."""
    _take_standing()
    loop = asyncio.get_running_loop()
    leave = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, leave.set)
    async with asyncio.TaskGroup() as tasks:
        app = App(options, tasks)
        app.processes.watch_children()
        if os.getpid() == 1:
            with contextlib.suppress(OSError):
                os.unlink(_ENDED_MARK)
        server = await loop.create_server(app.connect, options.host, options.port, backlog=_BACKLOG)
        _announce(server.sockets[0].getsockname()[1], options.port_file)
        await leave.wait()
        server.close()
        await _see_off(app.processes.living())
        for connection in list(app.connections):
            connection.transport.abort()
        if os.getpid() == 1:
            _leave_mark()


def _take_standing() -> None:
    """What every command inherits. (Writing it for each after its start costs a tenth of the start.)"""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whoever started the agent may have been told to outlive a terminal
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "wb") as score:
        score.write(OOM_SCORE)


def _leave_mark() -> None:
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(_ENDED_MARK), exist_ok=True)
        with open(_ENDED_MARK, "wb") as mark:
            os.fsync(mark.fileno())


def _announce(port: int, port_file: str | None) -> None:
    with contextlib.suppress(OSError):
        sys.stdout.write(f"listening {port}\n")
        sys.stdout.flush()
    if port_file is not None:
        # Renamed into place: whoever sees the file sees the whole number.
        with open(f"{port_file}.new", "w", encoding="ascii") as file:
            file.write(f"{port}\n")
        os.replace(f"{port_file}.new", port_file)


async def _see_off(processes: list[Process]) -> None:
    """Ask all to end, then make them. As PID 1 that means everything in the sandbox."""
    for number, patience_s in ((signal.SIGTERM, _GRACE_S), (signal.SIGKILL, _LAST_CALL_S)):
        if os.getpid() == 1:
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, number)
        for process in processes:
            with contextlib.suppress(RpcError):
                process.signal(number)
        waiting = [process.over for process in processes if not process.over.done()]
        if waiting:
            await asyncio.wait(waiting, timeout=patience_s)
