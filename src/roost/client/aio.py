"""The awaiting client: the same calls and records as `Roost`, for programs with an event loop."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

import anyio
import httpx

from roost.client import agent, calls, links, questions
from roost.client.agent import Command, Door
from roost.client.aio_desktop import AsyncDesktop
from roost.client.calls import Call
from roost.client.connect import STREAM_HEADERS, Envelopes, envelope
from roost.client.endpoint import Endpoint, find_endpoint
from roost.client.links import LinkRecord
from roost.client.output import CommandResult, Exit, Output, Stream, Tracker
from roost.client.questions import QuestionRecord
from roost.client.reattach import delays, explained, gave_up, is_passing
from roost.client.records import Entered, Failure, ProcessInfo, Resumed, SandboxRecord, SnapshotRecord, TemplateRecord
from roost.client.status import AsyncStatus
from roost.client.transport import AsyncTransport, Streaming, translate
from roost.domain.errors import Fault, NotFound, RoostError

T = TypeVar("T")


class AsyncRoost:
    """A server. Close it, or use it in an `async with`."""

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        endpoint: Endpoint | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._transport = AsyncTransport(endpoint or find_endpoint(url, key), transport)

    async def run(self, call: Call[T]) -> T:
        """Runs any call of `roost.client.calls`."""
        return await self._transport.run(call)

    async def create(self, template: str = "base", *, idempotency_key: str | None = None, **request: Any) -> AsyncSandbox:
        """As `Roost.create`."""
        return self._entered(await self.run(calls.create({"template": template, **request}, idempotency_key)))

    async def get(self, ref: str) -> AsyncSandbox:
        return AsyncSandbox(self._transport, await self.run(calls.get_sandbox(ref)))

    async def enter(self, ref: str) -> AsyncSandbox:
        """As `Roost.enter`."""
        return self._entered(await self.run(calls.enter(ref)))

    async def sandboxes(self, **filters: Any) -> AsyncIterator[SandboxRecord]:
        """As `Roost.sandboxes`."""
        cursor: str | None = None
        while True:
            page = await self.run(calls.list_sandboxes(**filters, cursor=cursor))
            for record in page.items:
                yield record
            if page.next_cursor is None:
                return
            cursor = page.next_cursor

    async def undelete(self, id: str) -> AsyncSandbox:
        """A new sandbox, made of what was kept of the dead one."""
        return self._entered(await self.run(calls.undelete(id)))

    async def templates(self) -> list[TemplateRecord]:
        return await self.run(calls.list_templates())

    async def templates_being_made(self) -> list[dict[str, Any]]:
        """Those that are not there yet, with the step they are at or why they failed."""
        return await self.run(calls.list_templates_being_made())

    def _entered(self, entered: Entered) -> AsyncSandbox:
        self._transport.entering.keep(entered.record.id, entered.access_token)
        return AsyncSandbox(self._transport, entered.record)

    async def close(self) -> None:
        await self._transport.close()

    async def __aenter__(self) -> AsyncRoost:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()


class AsyncSandbox:
    """As `Sandbox`."""

    def __init__(self, transport: AsyncTransport, record: SandboxRecord) -> None:
        self._transport = transport
        self.record = record

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def door(self) -> Door:
        return Door(self.record.id)

    @property
    def desktop(self) -> AsyncDesktop:
        return AsyncDesktop(self._transport, self.door)

    @property
    def status(self) -> AsyncStatus:
        return AsyncStatus(self._transport, self.door)

    async def run(self, command: str | Sequence[str], *, input: bytes | None = None, **options: Any) -> CommandResult:
        """As `Sandbox.run`."""
        process = await self.start(command, stdin=input is not None, **options)
        collected: dict[Stream, bytearray] = {stream: bytearray() for stream in Stream}
        failures: list[RoostError] = []  # told outside of the group, which would tell them as a group
        async with anyio.create_task_group() as tasks:

            async def send(data: bytes) -> None:
                try:
                    await process.send_and_close(data)
                except RoostError as error:
                    failures.append(error)

            if input is not None:
                tasks.start_soon(send, input)
            try:
                async for output in process:
                    collected[output.stream] += output.data
            except RoostError as error:
                failures.insert(0, error)
                tasks.cancel_scope.cancel()
        await process.close()
        # A process may end well without reading all of its input. One that failed did so for want of it.
        if failures and (process.exit is None or process.exit.code):
            raise failures[0]
        assert process.exit is not None
        stdout = bytes(collected[Stream.STDOUT] + collected[Stream.PTY])
        return CommandResult(process.exit.code, stdout, bytes(collected[Stream.STDERR]))

    async def start(self, command: str | Sequence[str], **options: Any) -> AsyncProcess:
        """As `Sandbox.start`."""
        return await AsyncProcess.start(self._transport, self.door, Command.of(command, **options))

    async def processes(self) -> list[ProcessInfo]:
        return await self._transport.run(agent.list_processes(self.door))

    async def read_file(self, path: str, *, user: str | None = None) -> bytes:
        """The whole file. Raises NotFound."""
        streaming = Streaming("GET", "/files", self.door.headers(), params=agent.file_params(path, user))
        return await self._answer(streaming)

    async def write_file(self, path: str, content: bytes, *, user: str | None = None) -> None:
        """Makes or replaces the file, and its directories."""
        headers = {**self.door.headers(), "Content-Type": "application/octet-stream"}
        streaming = Streaming("POST", "/files", headers, params=agent.file_params(path, user), content=content)
        await self._answer(streaming)

    async def refresh(self) -> SandboxRecord:
        return await self._renew(calls.get_sandbox(self.id))

    async def update(self, **changes: Any) -> SandboxRecord:
        return await self._renew(calls.update_sandbox(self.id, changes))

    async def pause(self, *, memory: bool = True) -> SandboxRecord:
        return await self._renew(calls.pause(self.id, memory=memory))

    async def resume(self, *, cold: bool = False) -> Resumed:
        resumed = await self._transport.run(calls.resume(self.id, cold=cold))
        self.record = resumed.record
        return resumed

    async def tokens(self) -> Entered:
        """As `Sandbox.tokens`."""
        return await self._transport.run(calls.enter(self.id))

    async def snapshot(self, *, name: str | None = None, memory: bool = True) -> SnapshotRecord:
        return await self._transport.run(calls.snapshot(self.id, name=name, memory=memory))

    async def fork(self, count: int = 1, *, names: Sequence[str] | None = None) -> tuple[list[AsyncSandbox], tuple[Failure, ...]]:
        forked = await self._transport.run(calls.fork(self.id, count, names))
        for child in forked.children:
            self._transport.entering.keep(child.record.id, child.access_token)
        return [AsyncSandbox(self._transport, child.record) for child in forked.children], forked.failures

    async def extend(self, timeout_s: float) -> SandboxRecord:
        return await self._renew(calls.extend(self.id, timeout_s))

    async def roll_back(self, snapshot: str) -> SandboxRecord:
        return await self._renew(calls.roll_back(self.id, snapshot))

    async def ask(self, text: str, **request: Any) -> QuestionRecord:
        asked = await self._transport.run(questions.ask(self.id, text, **request))
        return await questions.wait_async(self._transport, asked.id)

    async def kill(self, *, keep: bool = True) -> None:
        await self._transport.run(calls.kill(self.id, keep=keep))

    async def link(
        self, *, control: bool = False, port: int | None = None, seconds: float = 3600.0, label: str = ""
    ) -> LinkRecord:
        return await self._transport.run(links.make(self.id, control=control, port=port, seconds=seconds, label=label))

    async def links(self) -> list[LinkRecord]:
        return await self._transport.run(links.list_links(self.id))

    async def unlink(self, link: str) -> None:
        await self._transport.run(links.revoke(self.id, link))

    async def activity(self) -> Mapping[str, Any]:
        return await self._transport.run(calls.activity(self.id))

    async def _renew(self, call: Call[SandboxRecord]) -> SandboxRecord:
        self.record = await self._transport.run(call)
        return self.record

    async def _answer(self, streaming: Streaming) -> bytes:
        try:
            response = await self._transport.stream(streaming)
            try:
                return b"".join([chunk async for chunk in response.aiter_raw()])
            finally:
                await response.aclose()
        except httpx.TransportError as error:
            raise translate(error, self._transport.endpoint.url) from error


class AsyncProcess:
    """As `Process`: iterate over it for the output, then ask for `exit`. One reader at a time."""

    def __init__(self, transport: AsyncTransport, door: Door, tracker: Tracker, *, user: str | None, on_terminal: bool) -> None:
        self._transport = transport
        self._door = door
        self._tracker = tracker
        self._user = user
        self._input_stream = Stream.PTY if on_terminal else Stream.STDOUT
        self._response: httpx.Response | None = None
        self._chunks: AsyncIterator[bytes] | None = None
        self._envelopes = Envelopes()
        self._waiting: list[Output] = []

    @classmethod
    async def start(cls, transport: AsyncTransport, door: Door, command: Command) -> AsyncProcess:
        """As `Process.start`."""
        tag = f"roost-{uuid.uuid4().hex}"
        process = cls(transport, door, Tracker({"tag": tag}), user=command.user, on_terminal=command.size is not None)
        headers = {} if command.timeout_s is None else {"Connect-Timeout-Ms": str(max(1, round(command.timeout_s * 1000)))}
        try:
            await process._open(agent.START, command.request(tag), headers)
        except httpx.ConnectError as error:
            raise translate(error, transport.endpoint.url) from error
        except httpx.TransportError as error:
            await process._reattach(error)
        while process._tracker.pid is None:
            await process._receive()
        return process

    @property
    def pid(self) -> int:
        assert self._tracker.pid is not None
        return self._tracker.pid

    @property
    def exit(self) -> Exit | None:
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

    async def send(self, data: bytes) -> None:
        await self._transport.run(agent.send_input(self._door, self._tracker.selector, self._input_stream, data))

    async def send_and_close(self, data: bytes) -> None:
        """All of the input, as fast as the process takes it. One that ends without reading it all is no failure."""
        try:
            for start in range(0, len(data), 1 << 18):
                await self.send(data[start : start + (1 << 18)])
            await self._transport.run(agent.close_stdin(self._door, self._tracker.selector))
        except RoostError as error:
            if error.code not in ("internal", "not_found"):
                raise

    async def signal(self, name: str = "SIGTERM") -> None:
        await self._transport.run(agent.send_signal(self._door, self._tracker.selector, name))

    async def close(self) -> None:
        """Stops following. The process goes on."""
        if self._response is not None:
            await self._response.aclose()
            self._response = None

    async def _open(self, path: str, request: dict[str, Any], headers: Mapping[str, str] | None = None) -> None:
        await self.close()
        every = {
            **STREAM_HEADERS,
            "Keepalive-Ping-Interval": str(agent.KEEPALIVE_S),
            **self._door.headers(self._user),
            **(headers or {}),
        }
        self._envelopes = Envelopes()
        self._response = await self._transport.stream(Streaming("POST", path, every, content=envelope(request)))
        self._chunks = self._response.aiter_raw()

    async def _receive(self) -> None:
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
            await self._reattach(self._let_go_by(self._envelopes.error))

    def _let_go_by(self, error: RoostError | None) -> RoostError:
        """The one end of a stream after which the process can still be followed: we read too slowly."""
        if error is None:
            raise Fault("bad_stream", "The agent ended the stream without saying how the process ended.")
        if error.code != "resource_exhausted":
            raise explained(error, self._tracker.pid)
        return error

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
