"""Processes inside a sandbox, and following them."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterable, AsyncIterator
from types import TracebackType
from typing import Any

import anyio
import httpx

from roost.client import agent
from roost.client.agent import AgentAccess, Command
from roost.client.aio.transport import AsyncTransport
from roost.client.beside import beside_async
from roost.client.connect import STREAM_HEADERS, Envelopes, envelope
from roost.client.output import CommandResult, Exit, Output, Stream, Tracker
from roost.client.reattach import delays, ended_before_input, explained, gave_up, is_passing
from roost.client.wire import Streaming, translate
from roost.domain.errors import Fault, NotFound, RoostError


class AsyncProcess:
    """One process and this client's place in its output. Iterate over it for the output, then ask for `exit`.

    The process does not depend on the client: closing, or losing the connection, leaves it running. A lost connection
    is made again by itself and the output goes on at the next byte."""

    def __init__(
        self, transport: AsyncTransport, access: AgentAccess, tracker: Tracker, *, user: str | None, on_terminal: bool
    ) -> None:
        self._transport = transport
        self._access = access
        self._tracker = tracker
        self._user = user
        self._input_stream = Stream.PTY if on_terminal else Stream.STDOUT
        self._response: httpx.Response | None = None
        self._chunks: AsyncIterator[bytes] | None = None
        self._envelopes = Envelopes()
        self._waiting: list[Output] = []

    @classmethod
    async def start(cls, transport: AsyncTransport, access: AgentAccess, command: Command) -> AsyncProcess:
        """Runs when this returns. Raises what the agent refuses: no such program, user or directory."""
        tag = f"roost-{uuid.uuid4().hex}"
        process = cls(transport, access, Tracker({"tag": tag}), user=command.user, on_terminal=command.size is not None)
        headers = {} if command.timeout_s is None else {"Connect-Timeout-Ms": str(max(1, round(command.timeout_s * 1000)))}
        try:
            await process._open(agent.START, command.request(tag), headers)
        except httpx.ConnectError as error:
            raise translate(error, transport.endpoint.url) from error
        except httpx.TransportError as error:
            await process._reattach(error)
        await process._receive_start()
        return process

    @classmethod
    async def attach(
        cls, transport: AsyncTransport, access: AgentAccess, pid: int, *, from_sequence: int | None = None
    ) -> AsyncProcess:
        """Joins a process that runs: its output from now on, or from byte `from_sequence` on as far as the agent still
        has it."""
        process = cls(transport, access, Tracker({"pid": pid}), user=None, on_terminal=False)
        request: dict[str, Any] = {"process": {"pid": pid}}
        if from_sequence is not None:
            request["fromSequence"] = str(from_sequence)
            process._tracker.next_sequence = from_sequence
        try:
            await process._open(agent.CONNECT, request)
        except httpx.TransportError as error:
            raise translate(error, transport.endpoint.url) from error
        await process._receive_start()
        return process

    @property
    def pid(self) -> int:
        if self._tracker.pid is None:
            raise Fault("bad_stream", "The agent did not say which process it started.")
        return self._tracker.pid

    @property
    def exit(self) -> Exit | None:
        """How it ended; None while it runs, or while output is still unread."""
        return self._tracker.exit

    async def __aiter__(self) -> AsyncIterator[Output]:
        while True:
            waiting, self._waiting = self._waiting, []
            for output in waiting:
                yield output
            if self._tracker.exit is not None:
                await self.close()
                return
            await self._receive()

    async def wait(self) -> Exit:
        """Reads the rest of the output, lets it go, and tells how the process ended."""
        async for _ in self:
            pass
        assert self._tracker.exit is not None
        return self._tracker.exit

    async def send(self, data: bytes) -> None:
        """Writes to its stdin, or to its terminal."""
        await self._transport.run(agent.send_input(self._access, self._tracker.selector, self._input_stream, data))

    async def send_all(self, chunks: AsyncIterable[bytes]) -> None:
        """Writes many pieces to its stdin over one request, no faster than the process reads, then closes it."""
        streaming = Streaming(
            "POST",
            agent.STREAM_INPUT,
            {**STREAM_HEADERS, **self._access.headers(self._user)},
            content=self._input_envelopes(chunks),
        )
        try:
            response = await self._transport.stream(streaming)
            try:
                answer = Envelopes()
                async for chunk in response.aiter_raw():
                    answer.feed(chunk)
            finally:
                await response.aclose()
        except httpx.TransportError as error:
            raise translate(error, self._transport.endpoint.url) from error
        if answer.error is not None:
            raise answer.error
        await self.close_stdin()

    async def close_stdin(self) -> None:
        await self._transport.run(agent.close_stdin(self._access, self._tracker.selector))

    async def signal(self, name: str = "SIGTERM") -> None:
        """To the process and everything it started."""
        await self._transport.run(agent.send_signal(self._access, self._tracker.selector, name))

    async def resize(self, columns: int, rows: int) -> None:
        await self._transport.run(agent.resize(self._access, self._tracker.selector, columns, rows))

    async def close(self) -> None:
        """Stops following. The process goes on."""
        if self._response is not None:
            await self._response.aclose()
            self._response = None

    async def __aenter__(self) -> AsyncProcess:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def _input_envelopes(self, chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
        yield envelope({"start": {"process": self._tracker.selector}})
        async for chunk in chunks:
            yield envelope({"data": {"input": agent.input_message(self._input_stream, chunk)}})

    async def _open(self, path: str, request: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        await self.close()
        every = {
            **STREAM_HEADERS,
            "Keepalive-Ping-Interval": str(agent.KEEPALIVE_S),
            **self._access.headers(self._user),
            **(headers or {}),
        }
        self._envelopes = Envelopes()
        self._response = await self._transport.stream(Streaming("POST", path, every, content=envelope(request)))
        self._chunks = self._response.aiter_raw()

    async def _receive_start(self) -> None:
        while self._tracker.pid is None:
            await self._receive()

    async def _receive(self) -> None:
        """Takes what comes next into `_waiting`. A stream that was cut is taken up again."""
        cause: Exception = httpx.RemoteProtocolError("the stream ended in the middle")
        try:
            chunk = await anext(self._chunks, None) if self._chunks is not None else None
        except httpx.TransportError as error:
            chunk, cause = None, error
        if chunk is None:
            await self._reattach(cause)
            return
        for message in self._envelopes.feed(chunk):
            output = self._tracker.take(message)
            if output is not None:
                self._waiting.append(output)
        if self._envelopes.ended and self._tracker.exit is None:
            await self._follow_end(self._envelopes.error)

    async def _follow_end(self, error: RoostError | None) -> None:
        if error is None:
            await self.close()
            raise Fault("bad_stream", "The agent ended the stream without saying how the process ended.")
        if error.code != "resource_exhausted":
            await self.close()
            raise explained(error, self._tracker.pid)
        # We read so slowly that the agent let us go. What its ring still holds can be read; if that is not enough, it
        # says so.
        await self._reattach(error)

    async def _reattach(self, cause: Exception) -> None:
        for delay in delays():
            await anyio.sleep(delay)
            try:
                await self._open(agent.CONNECT, self._tracker.reattach_request())
                return
            except httpx.TransportError as error:
                cause = error
            except NotFound as error:
                raise gave_up(self._tracker.pid, cause) from error
            except RoostError as error:
                if not is_passing(error):
                    raise
                cause = error
        raise gave_up(self._tracker.pid, cause) from cause


async def run_to_end(process: AsyncProcess, input: bytes | AsyncIterable[bytes] | None = None) -> CommandResult:
    """Collects everything. Input is sent beside reading, so that neither side waits for the other."""
    collected: dict[Stream, bytearray] = {stream: bytearray() for stream in Stream}
    refused: list[RoostError] = []

    async def send() -> None:
        if input is None:
            return
        try:
            await process.send_all(pieces(input) if isinstance(input, bytes) else input)
        except RoostError as error:
            refused.append(error)

    async with process, beside_async(send):
        async for output in process:
            collected[output.stream] += output.data
    assert process.exit is not None
    # A process may end well without reading all of its input, as `head` does. One that failed did so for want of it.
    if refused and process.exit.code and not ended_before_input(refused[0]):
        raise refused[0]
    stdout = bytes(collected[Stream.STDOUT] + collected[Stream.PTY])
    return CommandResult(process.exit.code, stdout, bytes(collected[Stream.STDERR]))


async def pieces(data: bytes, size: int = 1 << 18) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]
