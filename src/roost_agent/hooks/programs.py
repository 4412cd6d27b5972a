"""Programs that the agent runs on its own account, in the background, as itself."""

from __future__ import annotations

import asyncio
import os

from roost_agent.errors import RpcError
from roost_agent.hooks.machine import Machine
from roost_agent.processes.spawn import Order
from roost_agent.processes.table import ProcessTable
from roost_agent.sandbox import Sandbox

_AFTER_RESTORE = "etc/roost/after-restore.d"
_BOOT = "etc/roost/boot.d"
# A hook that takes longer holds up those after it no more.
_HOOK_TIME_S = 60.0


class Programs:
    def __init__(self, table: ProcessTable, sandbox: Sandbox, machine: Machine) -> None:
        self._table = table
        self._sandbox = sandbox
        self._machine = machine

    def make_host_keys(self) -> None:
        """New ssh host keys, if there is an ssh to make them. Takes a second or two, so nobody waits for it."""
        arguments = ["-A"] if self._machine.path("") == "/" else ["-A", "-f", self._machine.path("")]
        try:
            self._table.start(self._order("ssh-keygen", arguments, {}), recorded=False)
        except RpcError:
            return  # No ssh-keygen: the server that used the keys will say so itself.

    def after_restore_hooks(self) -> list[str]:
        """The executables of the image that want to know of a restore, in the order of their names."""
        return self._executables(_AFTER_RESTORE)

    def start_services(self) -> None:
        """Starts what the image wants to run after every boot. A machine that wakes has it in its memory."""
        for path in self._executables(_BOOT) if self._machine.writable else ():
            try:
                self._table.start(self._order(path, [], {}), f"boot:{os.path.basename(path)}", recorded=False)
            except RpcError:
                continue

    def _executables(self, relative: str) -> list[str]:
        directory = self._machine.path(relative)
        try:
            found = [os.path.join(directory, name) for name in sorted(os.listdir(directory))]
        except OSError:
            return []
        return [path for path in found if os.path.isfile(path) and os.access(path, os.X_OK)]

    async def run_hooks(self, paths: list[str], *, new_identity: bool) -> None:
        """One after the other; a hook that fails or hangs does not keep the next from running."""
        for path in paths:
            try:
                order = self._order(path, [], {"ROOST_NEW_IDENTITY": "1" if new_identity else "0"})
                process = self._table.start(order, f"after-restore:{os.path.basename(path)}", recorded=False)
            except RpcError:
                continue
            process.expire_after(_HOOK_TIME_S)
            await asyncio.shield(process.over)

    def _order(self, command: str, arguments: list[str], variables: dict[str, str]) -> Order:
        user = self._sandbox.users.current()
        order = Order(command, arguments, user)
        order.environment = self._sandbox.command_environment(user, variables)
        order.cwd = "/"
        order.stdin = False
        return order
