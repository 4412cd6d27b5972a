"""The Python SDK: sandboxes from another program, on this machine or another.

    from roost.client import Roost

    with Roost() as roost:
        sandbox = roost.create(template="base")
        print(sandbox.run("uname -a").stdout)
        sandbox.pause()

`Roost` blocks, `AsyncRoost` awaits; both run the same calls (`calls`, `agent`), read the same records and follow
processes with the same bookkeeping (`output`), and differ only in how bytes are moved.

Owns what a client knows of the wire: `/v1`, the agent's Connect protocol through the edge, the live event stream. May
import httpx, `domain.errors` and `domain.ids`, nothing else of Roost. Start reading at `roost.py`, then `sandbox.py`
and `processes.py`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roost.client.aio import AsyncProcess, AsyncRoost, AsyncSandbox
    from roost.client.aio_desktop import AsyncDesktop
    from roost.client.desktop import Desktop
    from roost.client.endpoint import Endpoint, find_endpoint
    from roost.client.links import LinkRecord
    from roost.client.output import CommandResult, Exit, Output, Stream
    from roost.client.pictures import Point, Screen, Screenshot, Window
    from roost.client.processes import Process
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
    from roost.client.roost import Roost
    from roost.client.sandbox import Sandbox
    from roost.client.status import LastLines, OpenPort, PastCommand, RunningProcess

__all__ = [
    "AsyncDesktop",
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
    "aio": ("AsyncProcess", "AsyncRoost", "AsyncSandbox"),
    "aio_desktop": ("AsyncDesktop",),
    "desktop": ("Desktop",),
    "endpoint": ("Endpoint", "find_endpoint"),
    "links": ("LinkRecord",),
    "output": ("CommandResult", "Exit", "Output", "Stream"),
    "pictures": ("Point", "Screen", "Screenshot", "Window"),
    "processes": ("Process",),
    "questions": ("QuestionRecord",),
    "roost": ("Roost",),
    "sandbox": ("Sandbox",),
    "status": ("LastLines", "OpenPort", "PastCommand", "RunningProcess"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Loads a name when it is first asked for: the command line starts often and needs half of them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME.get(name, 'records')}"), name)
