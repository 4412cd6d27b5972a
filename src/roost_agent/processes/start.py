"""`Start`: a new process, and its events to whoever started it."""

from __future__ import annotations

import os

from roost_agent import fields, paths
from roost_agent.connect import Call, Message, Stream
from roost_agent.errors import RpcError
from roost_agent.processes.attach import follow
from roost_agent.processes.spawn import Order
from roost_agent.processes.table import ProcessTable
from roost_agent.sandbox import Sandbox

_MAX_SIDE = 65535


class Start:
    """Start {process: {cmd, args, envs, cwd}, pty?, tag?, stdin?, user?} → start, data…, end.

    The process belongs to nobody: it lives on when the stream is cut. `Connect-Timeout-Ms` is its time to live, counted
    while the sandbox is awake; at its end the whole tree is killed. `user` may name a group too, which Basic credentials cannot.
    """

    def __init__(self, table: ProcessTable, sandbox: Sandbox) -> None:
        self._table = table
        self._sandbox = sandbox

    async def __call__(self, call: Call, message: Message, stream: Stream) -> None:
        order = self._order(call, message)
        timeout_s = call.timeout_s()
        process = self._table.start(order, fields.text(message, "tag") or None)
        if timeout_s is not None:
            process.expire_after(timeout_s)
        await follow(process, 0, call, stream, owner=True)

    def _order(self, call: Call, message: Message) -> Order:
        config = fields.required_part(message, "process")
        command = fields.text(config, "cmd")
        if not command:
            raise RpcError("invalid_argument", "field 'process.cmd' is missing: say what to run")
        user = self._sandbox.acting_user(fields.text(message, "user") or call.user_name)
        order = Order(command, fields.texts(config, "args"), user)
        order.asked_environment = fields.text_map(config, "envs")
        order.environment = self._sandbox.command_environment(user, order.asked_environment)
        order.cwd = paths.resolve(fields.text(config, "cwd"), user, self._sandbox.default_workdir)
        if not os.path.isdir(order.cwd):
            if config.get("cwd") or self._sandbox.default_workdir:
                raise RpcError("invalid_argument", f"cwd '{order.cwd}' does not exist")
            order.cwd = "/"  # A user without a home still gets to run things.
        order.stdin = fields.flag(message, "stdin", default=True)
        terminal = fields.part(message, "pty")
        if terminal is not None:
            order.size = terminal_size(terminal)
            order.environment.setdefault("TERM", "xterm-256color")
        return order


def terminal_size(terminal: Message) -> tuple[int, int]:
    size = fields.part(terminal, "size") or {}
    columns = fields.whole_number(size, "cols", 80)
    rows = fields.whole_number(size, "rows", 24)
    if not (0 < columns <= _MAX_SIDE and 0 < rows <= _MAX_SIDE):
        raise RpcError("invalid_argument", f"a terminal cannot have {columns} columns and {rows} rows")
    return columns, rows
