"""`SendInput`, `StreamInput`, `CloseStdin`, `Update`: what goes into a process."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator

from roost_agent import fields
from roost_agent.connect import Call, Message
from roost_agent.errors import ClientGone, RpcError
from roost_agent.processes.process import Process
from roost_agent.processes.start import terminal_size
from roost_agent.processes.table import ProcessTable
from roost_agent.wakeup import Wakeup


class SendInput:
    """SendInput {process, input: {stdin | pty}} → {} once the process's pipe has taken all of it."""

    def __init__(self, table: ProcessTable) -> None:
        self._table = table

    async def __call__(self, call: Call, message: Message) -> Message:
        process = self._table.select_living(message)
        await _write(process, _content(process, message), call)
        return {}


class StreamInput:
    """StreamInput {start: {process}}, then {data: {input}} or {keepalive}, as long as the caller likes → {}."""

    def __init__(self, table: ProcessTable) -> None:
        self._table = table

    async def __call__(self, call: Call, messages: AsyncIterator[Message]) -> Message:
        process: Process | None = None
        async for message in messages:
            if (start := fields.part(message, "start")) is not None:
                if process is not None:
                    raise RpcError("invalid_argument", "the stream was started already")
                process = self._table.select_living(start)
            elif (data := fields.part(message, "data")) is not None:
                if process is None:
                    raise RpcError("invalid_argument", "the first message must be 'start'")
                await _write(process, _content(process, data), call)
            elif "keepalive" not in message:
                raise RpcError("invalid_argument", "a message must be 'start', 'data' or 'keepalive'")
        return {}


class CloseStdin:
    """CloseStdin {process} → {}; the process reads the end of its input."""

    def __init__(self, table: ProcessTable) -> None:
        self._table = table

    async def __call__(self, call: Call, message: Message) -> Message:
        process = self._table.select_living(message)
        if process.terminal:
            raise RpcError("unknown", "a terminal's input cannot be closed; send Ctrl-D (0x04) instead")
        async with process.input_lock:
            process.close_input()
        return {}


class Update:
    """Update {process, pty: {size}} → {}; the terminal gets a new size."""

    def __init__(self, table: ProcessTable) -> None:
        self._table = table

    async def __call__(self, call: Call, message: Message) -> Message:
        process = self._table.select_living(message)
        terminal = fields.part(message, "pty")
        if terminal is not None:
            process.resize(terminal_size(terminal))
        return {}


def _content(process: Process, message: Message) -> bytes:
    given = fields.required_part(message, "input")
    for name, fits in (("pty", process.terminal), ("stdin", not process.terminal)):
        content = fields.data(given, name)
        if content is not None:
            if not fits:
                has = "a terminal" if process.terminal else "no terminal"
                raise RpcError("internal", f"process {process.pid} has {has}: its input is not '{name}'")
            return content
    raise RpcError("invalid_argument", "field 'input' must hold 'stdin' or 'pty'")


async def _write(process: Process, content: bytes, call: Call) -> None:
    """Write all of it, waiting for the process to read, as long as the caller and the process are there."""
    timeout_s = call.timeout_s()
    loop = asyncio.get_running_loop()
    deadline = None if timeout_s is None else loop.time() + timeout_s
    connection = call.exchange.connection
    async with process.input_lock:
        with memoryview(content) as view:
            written = 0
            while written < len(view):
                descriptor = process.input
                try:
                    written += os.write(descriptor, view[written : written + 65536])
                except BlockingIOError:
                    await _writable(process, descriptor, deadline, call)
                except OSError as failure:
                    raise RpcError("internal", f"process {process.pid} no longer reads: {failure.strerror}") from failure
                if connection.lost:
                    raise ClientGone


async def _writable(process: Process, descriptor: int, deadline: float | None, call: Call) -> None:
    loop = asyncio.get_running_loop()
    bell = Wakeup()
    loop.add_writer(descriptor, bell.ring)
    call.exchange.connection.on_gone(bell.ring)

    def over(_: object) -> None:
        bell.ring()

    process.over.add_done_callback(over)
    try:
        if not await bell.wait(None if deadline is None else max(0.0, deadline - loop.time())):
            raise RpcError("deadline_exceeded", f"process {process.pid} did not read its input in time")
    finally:
        loop.remove_writer(descriptor)
        call.exchange.connection.forget_gone(bell.ring)
        process.over.remove_done_callback(over)
