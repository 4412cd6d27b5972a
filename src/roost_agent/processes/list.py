"""`List`: what runs."""

from __future__ import annotations

from roost_agent.connect import Call, Message
from roost_agent.processes.table import ProcessTable


class List:
    """List {} → {processes: [{config: {cmd, args, envs, cwd}, pid, tag?}]}, oldest first."""

    def __init__(self, table: ProcessTable) -> None:
        self._table = table

    async def __call__(self, call: Call, message: Message) -> Message:
        processes = []
        for process in self._table.living():
            order = process.order
            entry: Message = {
                "config": {
                    "cmd": order.command,
                    "args": order.arguments,
                    "envs": order.asked_environment,
                    "cwd": order.cwd,
                },
                "pid": process.pid,
            }
            if process.tag is not None:
                entry["tag"] = process.tag
            processes.append(entry)
        return {"processes": processes}
