"""The Python SDK: sandboxes from another program, on this machine or another.

    from roost.client import Roost

    with Roost() as roost:
        sandbox = roost.create(template="base")
        print(sandbox.run("uname -a").stdout)
        sandbox.pause()

`AsyncRoost` awaits, `Roost` blocks; they have the same methods. `aio` is written, `blocking` is generated from it; both run
the same calls (`calls`, `agent`), read the same records and follow processes with the same bookkeeping (`output`).

Owns what a client knows of the wire: `/v1`, the agent's Connect protocol through the edge, the live event stream. May
import httpx, `domain.errors` and `domain.ids`, nothing else of Roost. Start reading at `aio/roost.py`, then
`aio/sandbox.py` and `aio/processes.py`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roost.client.aio.desktop import AsyncDesktop
    from roost.client.aio.files import AsyncFiles
    from roost.client.aio.processes import AsyncProcess
    from roost.client.aio.roost import AsyncRoost
    from roost.client.aio.sandbox import AsyncSandbox
    from roost.client.blocking.desktop import Desktop
    from roost.client.blocking.files import Files
    from roost.client.blocking.processes import Process
    from roost.client.blocking.roost import Roost
    from roost.client.blocking.sandbox import Sandbox
    from roost.client.endpoint import Endpoint, find_endpoint
    from roost.client.links import LinkRecord
    from roost.client.output import CommandResult, Exit, Output, Stream
    from roost.client.pictures import Point, Screen, Screenshot, Window
    from roost.client.questions import QuestionRecord
    from roost.client.records import (
        Entered,
        Event,
        Failure,
        FileEntry,
        Fork,
        Metric,
        Page,
        ProcessInfo,
        Resumed,
        SandboxRecord,
        SnapshotRecord,
        TemplateRecord,
    )
    from roost.client.status import LastLines, OpenPort, PastCommand, RunningProcess

__all__ = [
    "AsyncDesktop",
    "AsyncFiles",
    "AsyncProcess",
    "AsyncRoost",
    "AsyncSandbox",
    "CommandResult",
    "Desktop",
    "Endpoint",
    "Entered",
    "Event",
    "Exit",
    "Failure",
    "FileEntry",
    "Files",
    "Fork",
    "LastLines",
    "LinkRecord",
    "Metric",
    "OpenPort",
    "Output",
    "Page",
    "PastCommand",
    "Point",
    "Process",
    "ProcessInfo",
    "QuestionRecord",
    "Resumed",
    "Roost",
    "RunningProcess",
    "Sandbox",
    "SandboxRecord",
    "Screen",
    "Screenshot",
    "SnapshotRecord",
    "Stream",
    "TemplateRecord",
    "Window",
    "find_endpoint",
]

_HOMES = {
    "aio.desktop": ("AsyncDesktop",),
    "aio.files": ("AsyncFiles",),
    "aio.processes": ("AsyncProcess",),
    "aio.roost": ("AsyncRoost",),
    "aio.sandbox": ("AsyncSandbox",),
    "blocking.desktop": ("Desktop",),
    "blocking.files": ("Files",),
    "blocking.processes": ("Process",),
    "blocking.roost": ("Roost",),
    "blocking.sandbox": ("Sandbox",),
    "endpoint": ("Endpoint", "find_endpoint"),
    "links": ("LinkRecord",),
    "output": ("CommandResult", "Exit", "Output", "Stream"),
    "pictures": ("Point", "Screen", "Screenshot", "Window"),
    "questions": ("QuestionRecord",),
    "status": ("LastLines", "OpenPort", "PastCommand", "RunningProcess"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Loads a name when it is first asked for: the command line starts often and needs half of them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME.get(name, 'records')}"), name)
