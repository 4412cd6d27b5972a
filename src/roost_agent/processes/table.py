"""All processes started here, and the reaping of every child."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal

from roost_agent import fields
from roost_agent.errors import RpcError
from roost_agent.processes.impersonate import Impersonator
from roost_agent.processes.process import Process
from roost_agent.processes.ring import DEFAULT_CAPACITY_BYTES, Ring
from roost_agent.processes.spawn import Order, spawn

# A finished process can still be connected to for this long: its last output and its end.
KEEP_FINISHED_S = 30.0
# A reader may hold up a process for this long.
STALL_S = 10.0


class ProcessTable:
    """Started processes by pid. The only place that waits for children."""

    def __init__(self, ring_bytes: int = DEFAULT_CAPACITY_BYTES, stall_s: float = STALL_S) -> None:
        self._by_pid: dict[int, Process] = {}
        self._ring_bytes = ring_bytes
        self._stall_s = stall_s
        self._impersonator = Impersonator()
        self._is_init = os.getpid() == 1

    def watch_children(self) -> None:
        """From now on, reap. As PID 1 every orphan of the sandbox, else only what was started here."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGCHLD, self._reap)
        self._reap()

    def start(self, order: Order, tag: str | None = None) -> Process:
        """Raises RpcError when it cannot be started."""
        process = Process(order, spawn(order, self._impersonator), Ring(self._ring_bytes), tag, self._stall_s)
        self._by_pid[process.pid] = process
        process.over.add_done_callback(lambda _: self._forget_later(process))
        return process

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
        for pid, process in list(self._by_pid.items()):
            if process.ending is None:
                with contextlib.suppress(ChildProcessError):
                    reaped, status = os.waitpid(pid, os.WNOHANG)
                    if reaped:
                        self._exited(pid, status)

    def _exited(self, pid: int, status: int) -> None:
        process = self._by_pid.get(pid)
        if process is not None and process.ending is None:
            process.exited(status)
