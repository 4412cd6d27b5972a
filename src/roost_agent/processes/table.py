"""All processes started here, and the reaping of every child."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable

from roost_agent import fields
from roost_agent.errors import RpcError
from roost_agent.processes.history import History
from roost_agent.processes.impersonate import Impersonator
from roost_agent.processes.process import Process
from roost_agent.processes.ring import DEFAULT_CAPACITY_BYTES, Ring
from roost_agent.processes.spawn import Order, Spawned, spawn

# A finished process can still be connected to for this long: its last output and its end.
KEEP_FINISHED_S = 30.0
# A reader may hold up a process for this long.
STALL_S = 10.0


class ProcessTable:
    """Started processes by pid. The only place that waits for children."""

    def __init__(self, ring_bytes: int = DEFAULT_CAPACITY_BYTES, stall_s: float = STALL_S) -> None:
        self.history = History()
        self._by_pid: dict[int, Process] = {}
        # The agent's own children: nobody's commands.
        self._own: dict[int, Callable[[], None]] = {}
        self._ring_bytes = ring_bytes
        self._stall_s = stall_s
        self._impersonator = Impersonator()
        self._is_init = os.getpid() == 1

    def watch_children(self) -> None:
        """From now on, reap. As PID 1 every orphan of the sandbox, else only what was started here."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGCHLD, self._reap)
        self._reap()

    def start(self, order: Order, tag: str | None = None, *, recorded: bool = True) -> Process:
        """Raises RpcError when it cannot be started. What the agent runs on its own account is not `recorded`."""
        heard = self.history.printed if recorded else _unheard
        process = Process(order, spawn(order, self._impersonator), Ring(self._ring_bytes), tag, self._stall_s, heard)
        self._by_pid[process.pid] = process
        if recorded:
            self.history.started(process)
        process.over.add_done_callback(lambda _: self._forget_later(process))
        return process

    def start_own(self, order: Order, ended: Callable[[], None]) -> Spawned:
        """Start something for the agent itself: in no list, its streams for the caller to read. `ended` is called when it is
        reaped; until then its pid is its own. Raises RpcError when it cannot be started."""
        spawned = spawn(order, self._impersonator)
        self._own[spawned.pid] = ended
        return spawned

    def living(self) -> list[Process]:
        return [process for process in self._by_pid.values() if not process.over.done()]

    def select(self, message: fields.Message) -> Process:
        """The process a message speaks of, finished ones included. Raises RpcError `not_found`."""
        selector = fields.required_part(message, "process")
        if "tag" in selector:
            tag = fields.text(selector, "tag")
            tagged = [process for process in self._by_pid.values() if process.tag == tag]
            if not tagged:
                raise RpcError("not_found", f"process with tag '{tag}' not found")
            # The newest, and a living one before a finished one.
            return max(enumerate(tagged), key=lambda pair: (not pair[1].over.done(), pair[0]))[1]
        if "pid" not in selector:
            raise RpcError("invalid_argument", "field 'process' must name a pid or a tag")
        pid = fields.whole_number(selector, "pid")
        process = self._by_pid.get(pid)
        if process is None:
            raise RpcError("not_found", f"process with pid {pid} not found")
        return process

    def select_living(self, message: fields.Message) -> Process:
        process = self.select(message)
        if process.over.done():
            raise RpcError("not_found", f"process with pid {process.pid} not found: it is over")
        return process

    def _forget_later(self, process: Process) -> None:
        asyncio.get_running_loop().call_later(KEEP_FINISHED_S, self._forget, process)

    def _forget(self, process: Process) -> None:
        self.history.forgotten(process)
        if self._by_pid.get(process.pid) is process:
            del self._by_pid[process.pid]

    def _reap(self) -> None:
        if self._is_init:
            with contextlib.suppress(ChildProcessError):
                while True:
                    pid, status = os.waitpid(-1, os.WNOHANG)
                    if pid == 0:
                        return
                    self._exited(pid, status)
            return
        commands = [pid for pid, process in self._by_pid.items() if process.ending is None]
        for pid in (*commands, *self._own):
            with contextlib.suppress(ChildProcessError):
                reaped, status = os.waitpid(pid, os.WNOHANG)
                if reaped:
                    self._exited(pid, status)

    def _exited(self, pid: int, status: int) -> None:
        if (ended := self._own.pop(pid, None)) is not None:
            ended()
            return
        process = self._by_pid.get(pid)
        if process is not None and process.ending is None:
            process.exited(status)


def _unheard(_process: Process) -> None:
    return
