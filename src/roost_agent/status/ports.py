"""`GET /ports`: who listens in the sandbox."""

from __future__ import annotations

import os

from roost_agent import procfs
from roost_agent.connect import Message
from roost_agent.http.connection import Exchange
from roost_agent.procfs import Row, Socket
from roost_agent.threads import in_thread


class PortList:
    """Answers with the TCP listeners by port, the agent's own left out. Those on loopback are reached from outside as well."""

    async def __call__(self, exchange: Exchange) -> None:
        own = exchange.connection.local_port
        exchange.answer_json({"ports": await in_thread(_ports, own)}, headers=[("Cache-Control", "no-store")])


def _ports(own_port: int) -> list[Message]:
    listening = [socket for socket in procfs.sockets() if socket.listening and socket.local_port != own_port]
    if not listening:
        return []
    # Of several processes that share a socket, the oldest has opened it.
    table = sorted(procfs.rows(), key=lambda row: (row.start_ticks, row.pid))
    holders = procfs.holders({socket.inode for socket in listening}, table)
    names = {row.pid: row for row in table}
    return [
        _port(socket, names.get(holders.get(socket.inode, 0)))
        for socket in sorted(listening, key=lambda socket: (socket.local_port, socket.local))
        if holders.get(socket.inode) != os.getpid()
    ]


def _port(socket: Socket, holder: Row | None) -> Message:
    return {
        "port": socket.local_port,
        "address": socket.local,
        "pid": None if holder is None else holder.pid,
        "command": None if holder is None else procfs.command_line(holder.pid, holder.command),
        "loopback": socket.local.startswith("127.") or socket.local == "::1",
    }
