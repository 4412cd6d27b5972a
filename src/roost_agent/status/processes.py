"""`GET /processes`: everything that runs in the sandbox, and what it uses."""

from __future__ import annotations

import asyncio
import time

from roost_agent import procfs
from roost_agent.connect import Message
from roost_agent.http.connection import Exchange
from roost_agent.processes.table import ProcessTable
from roost_agent.procfs import Row
from roost_agent.sandbox import Sandbox
from roost_agent.threads import in_thread
from roost_agent.timestamps import timestamp

# A share of the CPU is one over at least this long, however often it is asked for.
_SHORTEST_S = 1.0
# What was seen longer ago says nothing of now. Who asks then waits while it is measured.
_STALE_S = 15.0
_MEASURED_S = 0.25


class Sample:
    """The CPU that each process had used at a moment of the loop's clock."""

    __slots__ = ("at_s", "ticks")

    def __init__(self, at_s: float, table: list[Row]) -> None:
        self.at_s = at_s
        # By pid and start: a number that comes back after its process has gone is another process.
        self.ticks = {(row.pid, row.start_ticks): row.cpu_ticks for row in table}

    def percent(self, row: Row, at_s: float) -> float:
        """Percent of one processor since then. A process that was not there yet has used all of its own since then."""
        used = row.cpu_ticks - self.ticks.get((row.pid, row.start_ticks), 0)
        return max(0.0, 100 * used / procfs.TICKS_PER_S / max(at_s - self.at_s, 1 / procfs.TICKS_PER_S))


class ProcessList:
    """Answers with the process table, oldest first. Shares of the CPU are those since the last call, or of right now."""

    def __init__(self, sandbox: Sandbox, processes: ProcessTable) -> None:
        self._sandbox = sandbox
        self._processes = processes
        # The newest sample, and the one before it: asked twice at once, the second answer is measured from the latter.
        self._samples: list[Sample] = []

    async def __call__(self, exchange: Exchange) -> None:
        loop = asyncio.get_running_loop()
        if not self._samples or loop.time() - self._samples[-1].at_s > _STALE_S:
            self._samples = [Sample(loop.time(), await in_thread(procfs.rows))]
            await asyncio.sleep(_MEASURED_S)
        table = await in_thread(procfs.rows)
        commands = await in_thread(_command_lines, table)
        now_s = loop.time()
        before = self._before(now_s)
        managed = {process.pid: process.tag for process in self._processes.living()}
        booted_at_s = time.time() - procfs.uptime_s()
        rows: list[Message] = []
        for row in sorted(table, key=lambda row: (row.start_ticks, row.pid)):
            command, uid = commands[row.pid]
            rows.append(
                {
                    "pid": row.pid,
                    "ppid": row.parent,
                    "user": "" if uid is None else self._sandbox.users.user_name(uid),
                    "command": command,
                    "cpu_percent": round(before.percent(row, now_s), 1),
                    "memory_bytes": row.rss_bytes,
                    "started_at": timestamp(int((booted_at_s + row.start_ticks / procfs.TICKS_PER_S) * 100) * 10_000_000),
                    "managed": row.pid in managed,
                    "tag": managed.get(row.pid),
                }
            )
        self._keep(Sample(now_s, table))
        exchange.answer_json({"processes": rows}, headers=[("Cache-Control", "no-store")])

    def _before(self, now_s: float) -> Sample:
        """The newest sample that is old enough; failing that, the oldest there is."""
        return next((sample for sample in reversed(self._samples) if now_s - sample.at_s >= _SHORTEST_S), self._samples[0])

    def _keep(self, sample: Sample) -> None:
        """Two at a time, at least `_SHORTEST_S` apart: many who ask often do not make the figures jump."""
        if len(self._samples) < 2 or sample.at_s - self._samples[-1].at_s >= _SHORTEST_S:
            self._samples = [*self._samples[-1:], sample]


def _command_lines(table: list[Row]) -> dict[int, tuple[str, int | None]]:
    return {row.pid: (procfs.command_line(row.pid, row.command), procfs.owner(row.pid)) for row in table}
