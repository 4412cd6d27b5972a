"""One sandbox in the hands of a client."""

from __future__ import annotations

from collections.abc import AsyncIterable, Mapping, Sequence
from typing import Any

from roost.client import agent, calls, links, questions
from roost.client.agent import AgentAccess, Command
from roost.client.aio.desktop import AsyncDesktop
from roost.client.aio.files import AsyncFiles
from roost.client.aio.processes import AsyncProcess, run_to_end
from roost.client.aio.questions import look, wait_until_closed
from roost.client.aio.status import AsyncStatus
from roost.client.aio.transport import AsyncTransport
from roost.client.links import LinkRecord
from roost.client.output import CommandResult
from roost.client.questions import QuestionRecord
from roost.client.records import Entered, Failure, Metric, ProcessInfo, Resumed, SandboxRecord, SnapshotRecord


class AsyncSandbox:
    """`record` is what the server said last; every call that changes the sandbox renews it, `refresh` asks."""

    def __init__(self, transport: AsyncTransport, record: SandboxRecord) -> None:
        self._transport = transport
        self.record = record

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def access(self) -> AgentAccess:
        return AgentAccess(self.record.id)

    @property
    def files(self) -> AsyncFiles:
        return AsyncFiles(self._transport, self.access)

    @property
    def desktop(self) -> AsyncDesktop:
        return AsyncDesktop(self._transport, self.access)

    @property
    def status(self) -> AsyncStatus:
        return AsyncStatus(self._transport, self.access)

    def __repr__(self) -> str:
        return f"AsyncSandbox({self.record.id}, {self.record.state})"

    # Commands

    async def run(
        self, command: str | Sequence[str], *, input: bytes | AsyncIterable[bytes] | None = None, **options: Any
    ) -> CommandResult:
        """Runs a command to its end. A string is a shell's command line, words are passed as they are.

        Options: user, cwd, env, timeout_s. Raises TimedOut when killed by `timeout_s`; a non-zero exit is a result, not
        an error."""
        return await run_to_end(await self.start(command, stdin=input is not None, **options), input)

    async def start(self, command: str | Sequence[str], **options: Any) -> AsyncProcess:
        """Starts a command and returns while it runs. Options: user, cwd, env, stdin, size (columns, rows: a terminal),
        timeout_s."""
        return await AsyncProcess.start(self._transport, self.access, Command.of(command, **options))

    async def attach(self, pid: int, *, from_sequence: int | None = None) -> AsyncProcess:
        return await AsyncProcess.attach(self._transport, self.access, pid, from_sequence=from_sequence)

    async def processes(self) -> list[ProcessInfo]:
        """The processes that the agent started and that still run."""
        return await self._transport.run(agent.list_processes(self.access))

    # Life

    async def refresh(self) -> SandboxRecord:
        self.record = await self._transport.run(calls.get_sandbox(self.id))
        return self.record

    async def update(self, **changes: Any) -> SandboxRecord:
        """Changes name, metadata, timeout_s, on_timeout, idle_s, wake_on_traffic or keep_memory; what is not named
        stays."""
        self.record = await self._transport.run(calls.update_sandbox(self.id, changes))
        return self.record

    async def pause(self, *, memory: bool = True) -> SandboxRecord:
        self.record = await self._transport.run(calls.pause(self.id, memory=memory))
        return self.record

    async def resume(self, *, cold: bool = False) -> Resumed:
        resumed = await self._transport.run(calls.resume(self.id, cold=cold))
        self.record = resumed.record
        return resumed

    async def tokens(self) -> Entered:
        """The sandbox with the tokens that open it: for programs that talk to it without this client."""
        return await self._transport.run(calls.enter(self.id))

    async def rotate_tokens(self) -> Entered:
        """It has new tokens; the old ones open nothing any more, and what they opened is cut."""
        entered = await self._transport.run(calls.rotate_tokens(self.id))
        self._transport.entering.keep(self.id, entered.access_token)
        return entered

    async def snapshot(self, *, name: str | None = None, memory: bool = True) -> SnapshotRecord:
        return await self._transport.run(calls.snapshot(self.id, name=name, memory=memory))

    async def fork(self, count: int = 1, *, names: Sequence[str] | None = None) -> tuple[list[AsyncSandbox], tuple[Failure, ...]]:
        """The children that run and, for those that do not, why."""
        forked = await self._transport.run(calls.fork(self.id, count, names))
        for child in forked.children:
            self._transport.entering.keep(child.record.id, child.access_token)
        return [AsyncSandbox(self._transport, child.record) for child in forked.children], forked.failures

    async def extend(self, timeout_s: float) -> SandboxRecord:
        self.record = await self._transport.run(calls.extend(self.id, timeout_s))
        return self.record

    async def hold(self, seconds: float, reason: str) -> SandboxRecord:
        self.record = await self._transport.run(calls.hold(self.id, seconds, reason))
        return self.record

    async def release(self) -> SandboxRecord:
        self.record = await self._transport.run(calls.release(self.id))
        return self.record

    async def roll_back(self, snapshot: str) -> SandboxRecord:
        """To one of its own snapshots; where it was is kept in another."""
        self.record = await self._transport.run(calls.roll_back(self.id, snapshot))
        return self.record

    async def kill(self, *, keep: bool = True) -> None:
        """With `keep` it can be undeleted for a while."""
        await self._transport.run(calls.kill(self.id, keep=keep))

    async def ask(self, text: str, *, wait: bool = True, screenshot: bool = False, **request: Any) -> QuestionRecord:
        """Asks a person and, unless told otherwise, waits for the answer, however long that takes. Request: choices,
        approval, ttl_s."""
        picture = await look(self._transport, self.access) if screenshot else None
        asked = await self._transport.run(questions.ask(self.id, text, screenshot=picture, **request))
        return await wait_until_closed(self._transport, asked.id) if wait else asked

    async def link(
        self, *, control: bool = False, port: int | None = None, seconds: float = 3600.0, label: str = ""
    ) -> LinkRecord:
        """A link for somebody without a key: to its screen, to watch or, with `control`, to take over; or to a port, which it
        opens in a browser even if the sandbox's ports are not public."""
        return await self._transport.run(links.make(self.id, control=control, port=port, seconds=seconds, label=label))

    async def links(self) -> list[LinkRecord]:
        return await self._transport.run(links.list_links(self.id))

    async def unlink(self, link: str) -> None:
        """Revokes a link by its id: what it opened is cut."""
        await self._transport.run(links.revoke(self.id, link))

    async def metrics(self, start: float | None = None, end: float | None = None) -> list[Metric]:
        return await self._transport.run(calls.metrics(self.id, start, end))

    async def activity(self) -> Mapping[str, Any]:
        """Why it is awake and when it will sleep."""
        return await self._transport.run(calls.activity(self.id))
