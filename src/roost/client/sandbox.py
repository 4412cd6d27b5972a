"""One sandbox in the hands of a blocking client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from roost.client import agent, calls, links, questions
from roost.client.agent import Command, Door
from roost.client.desktop import Desktop
from roost.client.files import Files
from roost.client.links import LinkRecord
from roost.client.output import CommandResult
from roost.client.processes import Process, run_to_end
from roost.client.questions import QuestionRecord
from roost.client.records import Entered, Failure, Metric, ProcessInfo, Resumed, SandboxRecord, SnapshotRecord
from roost.client.status import Status
from roost.client.transport import Transport


class Sandbox:
    """`record` is what the server said last; every call that changes the sandbox renews it, `refresh` asks."""

    def __init__(self, transport: Transport, record: SandboxRecord) -> None:
        self._transport = transport
        self.record = record

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def door(self) -> Door:
        return Door(self.record.id)

    @property
    def files(self) -> Files:
        return Files(self._transport, self.door)

    @property
    def desktop(self) -> Desktop:
        return Desktop(self._transport, self.door)

    @property
    def status(self) -> Status:
        return Status(self._transport, self.door)

    def __repr__(self) -> str:
        return f"Sandbox({self.record.id}, {self.record.state})"

    # Commands

    def run(self, command: str | Sequence[str], *, input: bytes | None = None, **options: Any) -> CommandResult:
        """Runs a command to its end. A string is a shell's command line, words are passed as they are.

        Options: user, cwd, env, timeout_s. Raises TimedOut when killed by `timeout_s`; a non-zero exit is a result, not
        an error."""
        return run_to_end(self.start(command, stdin=input is not None, **options), input)

    def start(self, command: str | Sequence[str], **options: Any) -> Process:
        """Starts a command and returns while it runs. Options: user, cwd, env, stdin, size (columns, rows: a terminal),
        timeout_s."""
        return Process.start(self._transport, self.door, Command.of(command, **options))

    def attach(self, pid: int, *, from_sequence: int | None = None) -> Process:
        return Process.attach(self._transport, self.door, pid, from_sequence=from_sequence)

    def processes(self) -> list[ProcessInfo]:
        """The processes that the agent started and that still run."""
        return self._transport.run(agent.list_processes(self.door))

    # Life

    def refresh(self) -> SandboxRecord:
        self.record = self._transport.run(calls.get_sandbox(self.id))
        return self.record

    def update(self, **changes: Any) -> SandboxRecord:
        """Changes name, metadata, timeout_s, on_timeout, idle_s, wake_on_traffic or keep_memory; what is not named
        stays."""
        self.record = self._transport.run(calls.update_sandbox(self.id, changes))
        return self.record

    def pause(self, *, memory: bool = True) -> SandboxRecord:
        self.record = self._transport.run(calls.pause(self.id, memory=memory))
        return self.record

    def resume(self, *, cold: bool = False) -> Resumed:
        resumed = self._transport.run(calls.resume(self.id, cold=cold))
        self.record = resumed.record
        return resumed

    def tokens(self) -> Entered:
        """The sandbox with the tokens that open it: for programs that talk to it without this client."""
        return self._transport.run(calls.enter(self.id))

    def snapshot(self, *, name: str | None = None, memory: bool = True) -> SnapshotRecord:
        return self._transport.run(calls.snapshot(self.id, name=name, memory=memory))

    def fork(self, count: int = 1, *, names: Sequence[str] | None = None) -> tuple[list[Sandbox], tuple[Failure, ...]]:
        """The children that run and, for those that do not, why."""
        forked = self._transport.run(calls.fork(self.id, count, names))
        for child in forked.children:
            self._transport.entering.keep(child.record.id, child.access_token)
        return [Sandbox(self._transport, child.record) for child in forked.children], forked.failures

    def extend(self, timeout_s: float) -> SandboxRecord:
        self.record = self._transport.run(calls.extend(self.id, timeout_s))
        return self.record

    def hold(self, seconds: float, reason: str) -> SandboxRecord:
        self.record = self._transport.run(calls.hold(self.id, seconds, reason))
        return self.record

    def release(self) -> SandboxRecord:
        self.record = self._transport.run(calls.release(self.id))
        return self.record

    def roll_back(self, snapshot: str) -> SandboxRecord:
        """To one of its own snapshots; where it was is kept in another."""
        self.record = self._transport.run(calls.roll_back(self.id, snapshot))
        return self.record

    def kill(self, *, keep: bool = True) -> None:
        """With `keep` it can be undeleted for a while."""
        self._transport.run(calls.kill(self.id, keep=keep))

    def ask(self, text: str, *, wait: bool = True, screenshot: bool = False, **request: Any) -> QuestionRecord:
        """Asks a person and, unless told otherwise, waits for the answer, however long that takes. Request: choices,
        approval, ttl_s."""
        picture = questions.look(self._transport, self.door) if screenshot else None
        asked = self._transport.run(questions.ask(self.id, text, screenshot=picture, **request))
        return questions.wait(self._transport, asked.id) if wait else asked

    def link(self, *, control: bool = False, port: int | None = None, seconds: float = 3600.0, label: str = "") -> LinkRecord:
        """A link for somebody without a key: to its screen, to watch or, with `control`, to take over; or to a port, which it
        opens in a browser even if the sandbox's ports are not public."""
        return self._transport.run(links.make(self.id, control=control, port=port, seconds=seconds, label=label))

    def links(self) -> list[LinkRecord]:
        return self._transport.run(links.list_links(self.id))

    def unlink(self, link: str) -> None:
        """Revokes a link by its id: what it opened is cut."""
        self._transport.run(links.revoke(self.id, link))

    def metrics(self, start: float | None = None, end: float | None = None) -> list[Metric]:
        return self._transport.run(calls.metrics(self.id, start, end))

    def activity(self) -> Mapping[str, Any]:
        """Why it is awake and when it will sleep."""
        return self._transport.run(calls.activity(self.id))
