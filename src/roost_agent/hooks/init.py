"""`POST /init`: who this sandbox is. Runs on the way of every create, so it writes only what differs."""

from __future__ import annotations

import os
import re
import sys

from roost_agent import fields
from roost_agent.connect import Message
from roost_agent.errors import HttpError, RpcError
from roost_agent.hooks.driver import Hands, Person, person_of
from roost_agent.hooks.machine import Machine
from roost_agent.hooks.message import read_message
from roost_agent.hooks.programs import Programs
from roost_agent.http.connection import Exchange
from roost_agent.processes.history import History
from roost_agent.sandbox import Sandbox

_HOSTNAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,62}[A-Za-z0-9])?")
_MACHINE_ID = re.compile(r"[0-9a-f]{32}")
_ADDRESS = re.compile(r"[0-9A-Fa-f.:]{2,45}")


class Identity:
    """Applies what the node says of the sandbox. May be repeated; a field that is absent or null changes nothing, but for
    `driver`, where null says that the agent drives."""

    def __init__(self, sandbox: Sandbox, machine: Machine, programs: Programs, history: History, hands: Hands) -> None:
        self._sandbox = sandbox
        self._machine = machine
        self._history = history
        self._programs = programs
        self._hands = hands

    def apply(self, message: Message) -> None:
        """Check everything, then change everything. Raises RpcError `invalid_argument`."""
        checked = _Checked(message)
        sandbox, machine = self._sandbox, self._machine
        if message.get("accessToken") is not None:
            sandbox.access_token = checked.token
        if message.get("envVars") is not None:
            sandbox.variables = checked.variables
        sandbox.default_user = checked.default_user or sandbox.default_user
        sandbox.default_workdir = checked.default_workdir or sandbox.default_workdir
        sandbox.sandbox_id = checked.sandbox_id or sandbox.sandbox_id
        sandbox.template_id = checked.template_id or sandbox.template_id
        if checked.default_workdir.startswith("/"):
            machine.make_directory(checked.default_workdir)
        if checked.entropy:
            machine.add_entropy(checked.entropy)
        if checked.hostname and (checked.new_identity or checked.hostname != machine.hostname):
            machine.set_hostname(checked.hostname)
        if checked.resolvers:
            machine.set_resolvers(checked.resolvers)
        if checked.certificates:
            sandbox.trusts_node = machine.trust(checked.certificates)
        if "driver" in message:
            self._give_hands_to(checked.driver)
        if checked.new_identity:
            self._history.forget_finished()
            machine.set_machine_id(checked.machine_id or os.urandom(16).hex())
            machine.limit_files_in_memory()
            if machine.remove_host_keys():
                self._programs.make_host_keys()

    def _give_hands_to(self, person: Person | None) -> None:
        try:
            self._hands.give_to(person)
        except OSError as error:  # a disk that is full must not keep a sandbox from waking
            sys.stderr.write(f"who drives could not be written down: {error}\n")


class _Checked:
    """The fields of the request, each of the right kind."""

    def __init__(self, message: Message) -> None:
        self.token = fields.text(message, "accessToken")
        self.variables = fields.text_map(message, "envVars")
        self.default_user = fields.text(message, "defaultUser")
        self.default_workdir = fields.text(message, "defaultWorkdir")
        self.sandbox_id = fields.text(message, "sandboxId")
        self.template_id = fields.text(message, "templateId")
        self.certificates = fields.text(message, "caBundle")
        self.entropy = fields.data(message, "entropy") or b""
        self.new_identity = fields.flag(message, "newIdentity")
        self.hostname = _matching(fields.text(message, "hostname"), _HOSTNAME, "hostname")
        self.machine_id = _matching(fields.text(message, "machineId"), _MACHINE_ID, "machineId")
        self.driver = person_of(message)
        self.resolvers = fields.texts(message, "dnsServers")
        for address in self.resolvers:
            _matching(address, _ADDRESS, "dnsServers")


def _matching(value: str, pattern: re.Pattern[str], name: str) -> str:
    if value and not pattern.fullmatch(value):
        raise RpcError("invalid_argument", f"field '{name}' cannot be {value!r}")
    return value


class Init:
    def __init__(self, identity: Identity, programs: Programs) -> None:
        self._identity = identity
        self._programs = programs
        self._has_booted = False

    async def __call__(self, exchange: Exchange) -> None:
        message = await read_message(exchange)
        try:
            self._identity.apply(message)
        except RpcError as error:
            raise HttpError(400, error.message) from error
        if not self._has_booted:
            # Not before: what they run as, and in which environment, is told by the first init.
            self._has_booted = True
            self._programs.start_services()
        exchange.answer(204)
