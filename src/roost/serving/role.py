"""What a role's process does first and last. It is told what to be on its standard input, and tells when it serves by a pipe.

It ends when the process that started it does, however that ends: the kernel sees to it. And it holds the home's lock as that one
does, so that no other server starts before it is gone.
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import json
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NoReturn

import anyio
import structlog
from pydantic import TypeAdapter

from roost.domain.errors import RoostError
from roost.domain.ids import NodeId
from roost.rpc.failures import pack_failure
from roost.settings import Settings
from roost.setup.installation import Installation
from roost.telemetry import log as logs

_PR_SET_PDEATHSIG = 1

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Assignment:
    """What every role of a server is told."""

    settings: Mapping[str, Any]
    installation: Installation
    node: NodeId
    port: int
    server_pid: int


@dataclass(frozen=True, slots=True)
class Descriptors:
    """What a role inherits."""

    ready: int
    lock: int
    sockets: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Start:
    assignment: Assignment
    descriptors: Descriptors


START: TypeAdapter[Start] = TypeAdapter(Start)


@dataclass(frozen=True, slots=True)
class Duty:
    """A role's own view of its start."""

    settings: Settings
    assignment: Assignment
    sockets: Mapping[str, socket.socket]
    ready: int

    def tell_ready(self, **facts: Any) -> None:
        """It serves. To be called once."""
        # What is there by now stays. To look through all of it again and again held everything up for 0.1 s each time.
        gc.collect()
        gc.freeze()
        _tell(self.ready, {"ready": facts})


def run_role(serve: Callable[[Duty], Awaitable[None]]) -> NoReturn:
    """The whole life of a role's process. `serve` returns when it was told to end."""
    start = START.validate_json(sys.stdin.buffer.read())
    _end_with(start.assignment.server_pid)
    faulthandler.enable()  # a role that the kernel ends says where it was
    given = start.descriptors
    for descriptor in (given.ready, given.lock, *given.sockets.values()):
        os.set_inheritable(descriptor, False)  # what a role starts, engines first of all, outlives it
    settings = Settings(**start.assignment.settings)
    logs.configure(logs.Format.CONSOLE, logs.Level(settings.log_level))
    sockets = {name: socket.socket(fileno=descriptor) for name, descriptor in given.sockets.items()}
    try:
        anyio.run(serve, Duty(settings, start.assignment, sockets, given.ready), backend_options={"use_uvloop": True})
    except BaseException as raised:
        error = cause_of(raised)
        if not isinstance(error, RoostError):
            log.critical("a process of the server broke", exc_info=raised)
        _tell(given.ready, {"failure": pack_failure(error).decode()})
        sys.exit(1)
    sys.exit(0)


def _tell(ready: int, message: Mapping[str, Any]) -> None:
    with suppress(OSError):  # whoever started this process is gone
        content = memoryview(json.dumps(message).encode() + b"\n")
        while content:
            content = content[os.write(ready, content) :]


def _end_with(parent: int) -> None:
    """The kernel ends this process when the one that started it ends."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended before that was asked for
        os.kill(os.getpid(), signal.SIGKILL)


def cause_of(error: BaseException) -> BaseException:
    """Task groups wrap what ended them; whoever reads of it wants that alone."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
