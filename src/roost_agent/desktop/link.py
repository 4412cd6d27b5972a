"""The companion from the agent's side: started when first asked, asked, and started again when it or its X server died."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from typing import Any

from roost_agent.desktop.errors import DesktopError, no_desktop
from roost_agent.desktop.wire import Message, NotAMessage, Unpacker, pack
from roost_agent.errors import ClientGone, RpcError
from roost_agent.http.connection import Connection
from roost_agent.processes.spawn import Order, Spawned
from roost_agent.processes.table import ProcessTable
from roost_agent.sandbox import Sandbox
from roost_agent.users import User

_INTERPRETER = "/usr/bin/python3"
_CODE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "companion")
_DEFAULT_DISPLAY = ":0"
_SOCKETS = "/tmp/.X11-unix"
# Loading Pillow and python-xlib from a cold disk takes a while.
_STARTS_WITHIN_S = 30.0
# Every call ends by itself long before this; a companion that is silent for so long hangs with its X server.
_ANSWERS_WITHIN_S = 30.0
_LAST_WORDS_BYTES = 2000

Answer = Message


class Link:
    """Calls to the companion. At most one lives; who asks first starts it."""

    def __init__(self, sandbox: Sandbox, processes: ProcessTable) -> None:
        self._sandbox = sandbox
        self._processes = processes
        self._starting = asyncio.Lock()
        self._companion: _Companion | None = None

    @property
    def display(self) -> str:
        return self._sandbox.variables.get("DISPLAY") or _DEFAULT_DISPLAY

    async def ask(
        self,
        connection: Connection,
        verb: str,
        content: bytes = b"",
        *,
        within_s: float | None = _ANSWERS_WITHIN_S,
        **arguments: Any,
    ) -> Answer:
        """The companion's answer. What it does for a caller who hangs up meanwhile is stopped.

        Raises DesktopError, and ClientGone."""
        companion = await self._living()
        return await companion.ask(connection, {"verb": verb, "arguments": arguments}, content, within_s)

    async def _living(self) -> _Companion:
        user = self._sandbox.acting_user(None)
        key = (self.display, user.uid)
        async with self._starting:
            companion = self._companion
            if companion is not None and not companion.is_over and companion.key == key:
                return companion
            if companion is not None:
                companion.kill()
            if not _may_listen(self.display):
                raise _no_server(self.display) if companion is None else _down(self.display)
            self._companion = companion = _Companion(key)
            try:
                await companion.start(self._order(user), self._processes)
            except BaseException:
                companion.kill()
                raise
            return companion

    def _order(self, user: User) -> Order:
        order = Order(_INTERPRETER, ["-I", "-B", _CODE], user)
        order.environment = self._sandbox.command_environment(user, {"DISPLAY": self.display})
        order.cwd = "/"
        return order


def _may_listen(display: str) -> bool:
    """Spares a sandbox without a screen the start of an interpreter. Only for displays of this machine."""
    number = display.removeprefix("unix").removeprefix(":").partition(".")[0]
    return not display.startswith((":", "unix:")) or os.path.exists(os.path.join(_SOCKETS, f"X{number}"))


class _Companion(asyncio.Protocol):
    """One process, from its start to its end."""

    def __init__(self, key: tuple[str, int]) -> None:
        self.key = key
        self.is_over = False
        self._pid: int | None = None
        self._input: asyncio.WriteTransport | None = None
        self._unpacker = Unpacker()
        self._last_words = _LastWords()
        self._waiting: dict[int, asyncio.Future[Answer]] = {}
        self._last_id = 0

    async def start(self, order: Order, processes: ProcessTable) -> None:
        """Returns when it holds its display. Raises DesktopError."""
        ready = self._waiting[0] = asyncio.get_running_loop().create_future()
        try:
            spawned = processes.start_own(order, self._ended)
        except RpcError as error:
            raise no_desktop(self.key[0], f"the Python of this image cannot be started ({error.message})") from error
        self._pid = spawned.pid
        try:
            await self._connect(spawned)
            async with asyncio.timeout(_STARTS_WITHIN_S):
                await ready
        except TimeoutError:
            raise _hangs(_STARTS_WITHIN_S) from None
        finally:
            self._waiting.pop(0, None)

    async def _connect(self, spawned: Spawned) -> None:
        loop = asyncio.get_running_loop()
        assert spawned.input is not None
        self._input, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(spawned.input, "wb", 0))
        for descriptor, kind in spawned.outputs.items():
            reader = self if kind == "stdout" else self._last_words
            await loop.connect_read_pipe(lambda reader=reader: reader, os.fdopen(descriptor, "rb", 0))

    async def ask(self, connection: Connection, fields: dict[str, Any], content: bytes, within_s: float | None) -> Answer:
        if self.is_over or self._input is None:
            raise self._gone()
        loop = asyncio.get_running_loop()
        self._last_id += 1
        id = self._last_id
        answer = self._waiting[id] = loop.create_future()

        def hang_up() -> None:
            if not answer.done():
                answer.set_exception(ClientGone())

        connection.on_gone(hang_up)
        try:
            self._input.write(pack({"id": id, **fields}, content))
            async with asyncio.timeout(within_s):
                return await answer
        except (ClientGone, asyncio.CancelledError):
            self._input.write(pack({"id": id, "verb": "cancel"}))
            raise
        except TimeoutError:
            self.kill()
            raise _hangs(within_s) from None
        finally:
            connection.forget_gone(hang_up)
            del self._waiting[id]

    def kill(self) -> None:
        self.is_over = True
        if self._pid is not None:
            os.kill(self._pid, signal.SIGKILL)

    def data_received(self, data: bytes) -> None:
        try:
            messages = self._unpacker.feed(data)
        except NotAMessage:
            self.kill()
            return
        for message in messages:
            answer = self._waiting.get(message.fields.get("id", -1))
            if answer is None or answer.done():
                continue  # Whoever asked has left.
            error = message.fields.get("error")
            if error is None:
                answer.set_result(Message(message.fields.get("result") or {}, message.content))
            else:
                answer.set_exception(_refusal(error, self.key[0]))

    def connection_lost(self, exc: Exception | None) -> None:
        self._over()

    def _ended(self) -> None:
        """Told by the reaper: from here on its pid may be somebody else's."""
        self._pid = None
        self._over()

    def _over(self) -> None:
        if not self.is_over:
            self.is_over = True
            with contextlib.suppress(OSError):
                sys.stderr.write(self._last_words.text)
        if self._input is not None and not self._input.is_closing():
            self._input.abort()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(self._gone())

    def _gone(self) -> DesktopError:
        return DesktopError(
            503,
            "desktop_lost",
            "The desktop's X server, or the process that speaks to it, ended in the middle of this call. Look at the screen"
            " before you repeat it: part of it may have been done.",
            detail=self._last_words.last_line,
        )


class _LastWords(asyncio.Protocol):
    """The end of what it wrote to stderr: why it died."""

    def __init__(self) -> None:
        self._kept = b""

    def data_received(self, data: bytes) -> None:
        self._kept = (self._kept + data)[-_LAST_WORDS_BYTES:]

    @property
    def text(self) -> str:
        return self._kept.decode("utf-8", "replace")

    @property
    def last_line(self) -> str:
        return self.text.strip().rpartition("\n")[2]


def _refusal(error: dict[str, Any], display: str) -> DesktopError:
    if error["code"] == "no_desktop":
        return no_desktop(display, error["message"])
    return DesktopError(error["status"], error["code"], error["message"], **error.get("facts", {}))


def _hangs(after_s: float | None) -> DesktopError:
    return DesktopError(
        504,
        "desktop_hangs",
        f"The desktop did not answer within {after_s:g} seconds, and its connection was given up; the next call makes a new"
        " one. If that fails too, the X server hangs: `ps` inside tells, and a resume from a snapshot brings it back.",
    )


def _no_server(display: str) -> DesktopError:
    return no_desktop(display, f"no X server listens on display {display}")


def _down(display: str) -> DesktopError:
    return DesktopError(
        503,
        "desktop_down",
        f"The X server on display {display} has ended. If something starts it again, as in the template `desktop`, it is back"
        " in seconds, without the windows it had: try again.",
        display=display,
    )
