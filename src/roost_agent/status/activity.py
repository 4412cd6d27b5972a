"""`GET /roost/activity`, `GET /roost/processes`: is anything going on in here, and what."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from roost_agent import procfs
from roost_agent.connect import Message
from roost_agent.http.connection import Exchange
from roost_agent.procfs import Row, Socket
from roost_agent.sandbox import Sandbox
from roost_agent.threads import in_thread
from roost_agent.timestamps import timestamp

_BUSIEST = 10


class Activity:
    """Answers with what used the CPU since the last call, who is connected and who listens."""

    def __init__(self, sandbox: Sandbox, open_streams: Callable[[], int]) -> None:
        self._sandbox = sandbox
        self._open_streams = open_streams
        self._last_at = asyncio.get_running_loop().time()
        # (pid, start) → ticks: a number that comes back after its process has gone is another process.
        self._last_ticks: dict[tuple[int, int], int] = {}

    async def __call__(self, exchange: Exchange) -> None:
        table = await in_thread(procfs.rows)
        sockets = await in_thread(procfs.sockets)
        listening = [socket for socket in sockets if socket.listening]
        holders = await in_thread(procfs.holders, {socket.inode for socket in listening}, table)
        exchange.answer_json(
            {
                "processes": len(table),
                "cpuSeconds": round(procfs.cpu_seconds(table), 2),
                "busyProcesses": self._busiest(table),
                "connections": _connections(sockets, exchange),
                "listeners": _listeners(listening, holders, table),
                "openStreams": self._open_streams(),
            }
        )

    def _busiest(self, table: list[Row]) -> list[Message]:
        shares = self._shares(table)
        busiest = sorted((pair for pair in shares if pair[0] > 0), key=lambda pair: -pair[0])[:_BUSIEST]
        return [
            {
                "pid": row.pid,
                "user": self._user(row.pid),
                "command": procfs.command_line(row.pid, row.command),
                "cpuPercent": round(share, 1),
                "rssBytes": row.rss_bytes,
            }
            for share, row in busiest
        ]

    def _shares(self, table: list[Row]) -> list[tuple[float, Row]]:
        """Percent of one processor since the last call; of a process not seen before, since its start."""
        now = asyncio.get_running_loop().time()
        since_last_s = max(now - self._last_at, 1 / procfs.TICKS_PER_S)
        up_s = procfs.uptime_s()
        shares: list[tuple[float, Row]] = []
        for row in table:
            before = self._last_ticks.get((row.pid, row.start_ticks))
            if before is None:
                before = 0
                over_s = max(up_s - row.start_ticks / procfs.TICKS_PER_S, since_last_s)
            else:
                over_s = since_last_s
            shares.append((100 * (row.cpu_ticks - before) / procfs.TICKS_PER_S / over_s, row))
        self._last_at = now
        self._last_ticks = {(row.pid, row.start_ticks): row.cpu_ticks for row in table}
        return shares

    def _user(self, pid: int) -> str:
        uid = procfs.owner(pid)
        return "" if uid is None else self._sandbox.users.user_name(uid)


class ProcessList:
    """Answers with the process table, oldest first."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    async def __call__(self, exchange: Exchange) -> None:
        table = await in_thread(procfs.rows)
        started_at_s = time.time() - procfs.uptime_s()
        rows = []
        for row in sorted(table, key=lambda row: (row.start_ticks, row.pid)):
            uid = procfs.owner(row.pid)
            rows.append(
                {
                    "pid": row.pid,
                    "ppid": row.parent,
                    "user": "" if uid is None else self._sandbox.users.user_name(uid),
                    "command": procfs.command_line(row.pid, row.command),
                    "startedAt": timestamp(int((started_at_s + row.start_ticks / procfs.TICKS_PER_S) * 1000) * 1_000_000),
                }
            )
        exchange.answer_json(rows)


def _connections(sockets: list[Socket], exchange: Exchange) -> int:
    """Connections with the world outside, this very call left out."""
    call = exchange.connection
    return sum(
        1
        for socket in sockets
        if not socket.listening
        and not socket.peer.startswith("127.")
        and socket.peer not in ("::1", socket.local)
        and (socket.peer_port, socket.local_port) != (call.peer_port, call.local_port)
    )


def _listeners(listening: list[Socket], holders: dict[int, int], table: list[Row]) -> list[Message]:
    commands = {row.pid: row.command for row in table}
    found: list[Message] = []
    for socket in sorted(listening, key=lambda socket: (socket.local_port, socket.local)):
        listener: Message = {"port": socket.local_port, "address": socket.local}
        pid = holders.get(socket.inode)
        if pid is not None:
            listener["pid"] = pid
            listener["command"] = procfs.command_line(pid, commands.get(pid, ""))
        found.append(listener)
    return found
