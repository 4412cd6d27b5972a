"""`POST /roost/driver`: who drives, as programs inside can tell.

    /run/roost/driver   there while a person drives: since when, and who, on a line each
    /run/roost/hands    the folder of programs that put in input, as they are to be used now: of the two that an image may have in
                        /usr/lib/roost, `agent-drives` or `person-drives`

An image leads its PATH through `hands`. So nothing stands between a program and its caller as long as the agent drives, and one
that is started after a person took over is another.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Awaitable, Callable

from roost_agent import fields
from roost_agent.connect import Message
from roost_agent.errors import HttpError, RpcError
from roost_agent.hooks.machine import Machine
from roost_agent.hooks.message import read_message
from roost_agent.http.connection import Connection, Exchange

_FOLDER = "run/roost"
_DRIVER = f"{_FOLDER}/driver"
_HANDS = f"{_FOLDER}/hands"
_AGENT_DRIVES = "usr/lib/roost/agent-drives"
_PERSON_DRIVES = "usr/lib/roost/person-drives"

# A program that was told to end may press one more key before it does. So long it is waited for, as nobody tells of its end.
_ENDS_WITHIN_S = 0.5
_LOOKS_EVERY_S = 0.005

Person = tuple[str, str]  # who, since when


def person_of(message: Message) -> Person | None:
    """The person that a message's `driver` tells of; None: the agent drives. Raises RpcError `invalid_argument`."""
    told = fields.part(message, "driver")
    if told is None:
        return None
    who, since = (" ".join(fields.text(told, name).split()) for name in ("who", "since"))  # a line each
    if not who or not since:
        raise RpcError("invalid_argument", "field 'driver' needs 'who' and 'since'")
    return who, since


class Hands:
    """Whose they are: written where programs look. What is known is in memory, which goes through sleeps with the files."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._person: Person | None = None
        self._is_told = False  # not yet: an earlier life of this disk may have left anything
        self._ending: dict[str, str] = {}  # what was told to end: its number in /proc, and which program it is

    def give_to(self, person: Person | None) -> bool:
        """From now on programs inside find this person, or the agent; what was putting in input for the agent has been told to
        end. Returns whether that is news. Raises OSError; then nothing is sure, and it has to be said again."""
        if not self._machine.writable or (self._is_told and person == self._person):
            return False
        self._is_told = False
        os.makedirs(self._machine.path(_FOLDER), exist_ok=True)
        if person is None:
            self._point_hands(_AGENT_DRIVES)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._machine.path(_DRIVER))
        else:
            self._write_driver(person)
            self._point_hands(_PERSON_DRIVES)
            self._end_input()
        self._person, self._is_told = person, True
        return True

    def _write_driver(self, person: Person) -> None:
        who, since = person
        unfinished = self._machine.path(f"{_DRIVER}.new")
        with open(unfinished, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(f"{since}\n{who}\n")
        os.replace(unfinished, self._machine.path(_DRIVER))

    def _point_hands(self, folder: str) -> None:
        if not os.path.isdir(self._machine.path(folder)):
            return  # An image without programs that ask.
        unfinished = self._machine.path(f"{_HANDS}.new")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(unfinished)
        os.symlink(f"/{folder}", unfinished)
        os.replace(unfinished, self._machine.path(_HANDS))

    def _end_input(self) -> None:
        """Programs that began while the agent drove: a long text would go on being typed between a person's words."""
        folder = self._machine.path(_AGENT_DRIVES)
        try:
            programs = {os.path.realpath(os.path.join(folder, name)) for name in os.listdir(folder)}
        except OSError:
            return
        for name in filter(str.isdigit, os.listdir("/proc")):
            program = _program_of(name)
            if program in programs:
                self._ending[name] = program
                with contextlib.suppress(OSError):
                    os.kill(int(name), signal.SIGTERM)

    async def input_ended(self) -> None:
        """Returns when what was told to end has ended, or had its time."""
        loop = asyncio.get_running_loop()
        until = loop.time() + _ENDS_WITHIN_S
        while self._ending and loop.time() < until:
            self._ending = {name: program for name, program in self._ending.items() if _program_of(name) == program}
            await asyncio.sleep(_LOOKS_EVERY_S)
        self._ending = {}


def _program_of(process: str) -> str:
    """Empty for one that has ended."""
    try:
        return os.readlink(f"/proc/{process}/exe")
    except OSError:
        return ""


class SetDriver:
    """{driver: {who, since} or null}. `let_go` releases the keys and buttons that the agent, or a program of its, holds down when
    a person takes over: they would be down under the person's own."""

    def __init__(self, hands: Hands, let_go: Callable[[Connection], Awaitable[None]]) -> None:
        self._hands = hands
        self._let_go = let_go
        self._owes_letting_go = False  # since the news; the node asks again when an answer takes long, and hangs up

    async def __call__(self, exchange: Exchange) -> None:
        message = await read_message(exchange)
        try:
            person = person_of(message)
            is_news = self._hands.give_to(person)
        except RpcError as error:
            raise HttpError(400, error.message) from error
        except OSError as error:
            raise HttpError(500, f"who drives could not be written down: {error}") from error
        if is_news:
            self._owes_letting_go = person is not None
        if self._owes_letting_go:
            await self._hands.input_ended()
            await self._let_go(exchange.connection)
            self._owes_letting_go = False
        exchange.answer(204)
