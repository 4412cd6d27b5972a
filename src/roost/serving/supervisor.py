"""Starts the processes of a server, watches them, starts them again when they end, and ends them in order."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import anyio
import structlog
from anyio.abc import Process

from roost.domain.errors import Fault, RoostError
from roost.rpc.failures import unpack_failure
from roost.serving.role import START, Assignment, Descriptors, Start, cause_of
from roost.setup.running import RunningRole

_AGAIN_S = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)  # before a role is started again, the last for all others
_SETTLED_S = 60.0  # one that lived for so long begins at the first again
_ENDS_WITHIN_S = 60.0  # then it is killed

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Role:
    """A process of the server. `argv` runs `serving.role.run_role`, and finds the sockets under their names."""

    name: str
    argv: Sequence[str]
    sockets: Mapping[str, socket.socket] = field(default_factory=dict)


@dataclass(slots=True)
class _Kept:
    """A role and its process now."""

    role: Role
    process: Process | None = None
    restarts: int = 0
    facts: Mapping[str, Any] | None = None  # what it told when it first served
    failure: RoostError | None = None  # what it ended with, if it could tell
    is_ready: bool = False


class Supervisor:
    """`roles` are started at once and ended in the opposite order, the last first."""

    def __init__(self, roles: Sequence[Role], assignment: Assignment, lock: int, on_change: Callable[[], None]) -> None:
        self._kept = [_Kept(role) for role in roles]
        self._assignment = assignment
        self._lock = lock
        self._on_change = on_change
        self._is_ending = False

    @property
    def roles(self) -> tuple[RunningRole, ...]:
        return tuple(RunningRole(each.role.name, each.process.pid, each.restarts) for each in self._kept if each.process)

    async def run(self, on_ready: Callable[[Mapping[str, Any]], None]) -> None:
        """Until SIGTERM or SIGINT. `on_ready` hears what the roles told, once all serve for the first time; after that
        `on_change` is called when a process was replaced. Raises what a role could not start for."""
        try:
            async with anyio.create_task_group() as tasks:
                with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
                    started = [anyio.Event() for _ in self._kept]
                    for kept, event in zip(self._kept, started, strict=True):
                        tasks.start_soon(self._keep, kept, event)
                    tasks.start_soon(self._announce, started, on_ready)
                    async for number in signals:
                        log.info("stopping; sandboxes live on", signal=signal.Signals(number).name)
                        if self._is_ending:
                            self._signal_all(signal.SIGTERM)  # asked twice: do not wait for open requests
                        else:
                            self._is_ending = True
                            tasks.start_soon(self._end, tasks.cancel_scope)
        except BaseExceptionGroup as group:
            raise cause_of(group) from group
        finally:  # also when one of them could not start: the others leave nothing behind
            self._is_ending = True
            with anyio.CancelScope(shield=True):
                await self._end()

    async def _announce(self, started: Sequence[anyio.Event], on_ready: Callable[[Mapping[str, Any]], None]) -> None:
        for event in started:
            await event.wait()
        on_ready({name: fact for kept in self._kept for name, fact in (kept.facts or {}).items()})

    async def _keep(self, kept: _Kept, started: anyio.Event) -> None:
        failures = 0
        while True:
            begun = time.monotonic()
            code = await self._live(kept, started)
            if self._is_ending:
                return
            how = _how(code)
            if not started.is_set():
                raise kept.failure or _cannot_start(kept.role.name, how)
            failures = 0 if time.monotonic() - begun > _SETTLED_S else failures + 1
            wait_s = _AGAIN_S[min(max(failures - 1, 0), len(_AGAIN_S) - 1)]
            words = kept.failure.message if kept.failure else None
            log.error(
                "a process of the server ended; it is started again", role=kept.role.name, how=how, words=words, in_s=wait_s
            )
            await anyio.sleep(wait_s)
            kept.restarts += 1

    async def _live(self, kept: _Kept, started: anyio.Event) -> int:
        """One life of the role: from its start to its end, however it ends. Returns its exit code."""
        kept.failure, kept.is_ready = None, False
        reader, writer = os.pipe2(os.O_CLOEXEC)
        try:
            descriptors = Descriptors(writer, self._lock, {name: each.fileno() for name, each in kept.role.sockets.items()})
            kept.process = await anyio.open_process(
                list(kept.role.argv),
                stdin=subprocess.PIPE,
                stdout=None,
                stderr=None,
                pass_fds=(writer, self._lock, *descriptors.sockets.values()),
                start_new_session=True,  # Ctrl-C is for the first process: it ends the others in order
            )
            os.close(writer)
            writer = -1
            await self._instruct(kept.process, Start(self._assignment, descriptors))
            await self._listen(kept, reader, started)
            return await kept.process.wait()
        finally:
            os.close(reader)
            if writer >= 0:
                os.close(writer)

    async def _instruct(self, process: Process, start: Start) -> None:
        assert process.stdin is not None
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # it ended already
            await process.stdin.send(START.dump_json(start))
        await process.stdin.aclose()

    async def _listen(self, kept: _Kept, reader: int, started: anyio.Event) -> None:
        """To what it tells, until its end of the pipe is closed: by its own end."""
        os.set_blocking(reader, False)
        told = b""
        while True:
            await anyio.wait_readable(reader)
            chunk = os.read(reader, 65536)
            if not chunk:
                return
            *lines, told = (told + chunk).split(b"\n")
            for line in lines:
                message = json.loads(line)
                if "failure" in message:
                    kept.failure = unpack_failure(message["failure"].encode())
                else:
                    kept.is_ready, kept.facts = True, message["ready"]
                    if started.is_set():
                        log.info("a process of the server is back", role=kept.role.name)
                        self._on_change()
                    started.set()

    async def _end(self, then: anyio.CancelScope | None = None) -> None:
        """All have ended, one after the other. May be called twice."""
        for kept in reversed(self._kept):
            if kept.process is None or kept.process.returncode is not None:
                continue
            with suppress(ProcessLookupError):
                kept.process.send_signal(signal.SIGTERM)
            with anyio.move_on_after(_ENDS_WITHIN_S) as patience:
                await kept.process.wait()
            if patience.cancelled_caught:
                log.error("a process of the server does not end; it is killed", role=kept.role.name)
                kept.process.kill()
                await kept.process.wait()
        if then is not None:
            then.cancel()

    def _signal_all(self, number: signal.Signals) -> None:
        for kept in self._kept:
            if kept.process is not None and kept.process.returncode is None:
                with suppress(ProcessLookupError):
                    kept.process.send_signal(number)


def _how(code: int) -> str:
    return f"with exit code {code}" if code >= 0 else f"by {signal.Signals(-code).name}"


def _cannot_start(role: str, how: str) -> Fault:
    return Fault(
        "role_not_started", f"The server's {role} process ended {how} while it started. The log above tells why.", role=role
    )
