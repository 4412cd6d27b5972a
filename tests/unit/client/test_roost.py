"""The SDK against the real API and a real agent."""

from __future__ import annotations

import io
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path

import pytest

from roost.client import (
    AsyncDesktop,
    AsyncFiles,
    AsyncProcess,
    AsyncRoost,
    AsyncSandbox,
    Desktop,
    Exit,
    Files,
    Process,
    Roost,
    Sandbox,
    Stream,
)
from roost.domain.errors import Conflict, NotFound, RoostError, SandboxNotFound, TimedOut, Unauthenticated

from ..cli.server import Server

PAIRS = [(AsyncRoost, Roost), (AsyncSandbox, Sandbox), (AsyncProcess, Process), (AsyncFiles, Files), (AsyncDesktop, Desktop)]


@pytest.fixture
def roost(server: Server) -> Iterator[Roost]:
    with Roost(server.url, server.key) as roost:
        yield roost
        for record in roost.sandboxes():
            roost.get(record.id).kill()


@pytest.fixture
def sandbox(roost: Roost) -> Sandbox:
    return roost.create(name="ada")


def test_a_sandbox_from_its_making_to_its_end(roost: Roost) -> None:
    sandbox = roost.create("base", name="ada", metadata={"a": "1"})
    assert sandbox.record.state == "running"
    assert roost.get("ada").id == sandbox.id
    assert sandbox.pause().state == "paused"
    resumed = sandbox.resume()
    assert (resumed.record.state, resumed.cold) == ("running", False)
    children, failures = sandbox.fork(2)
    assert {child.record.parent for child in children} == {sandbox.id}
    assert failures == ()
    snapshot = sandbox.snapshot(name="good")
    assert next(roost.snapshots(sandbox=sandbox.id)).id == snapshot.id
    assert roost.create("good").record.template == snapshot.id
    assert sandbox.update(metadata={}, idle_s=60).raw["policy"]["idle_s"] == 60
    assert sandbox.hold(60, "why not").raw["hold"]["reason"] == "why not"
    assert sandbox.release().raw["hold"] is None
    assert sandbox.extend(60).expires_at is not None
    assert sandbox.activity()["awake"] is True
    sandbox.kill()
    assert sandbox.refresh().state == "dead"
    roost.delete_snapshot(snapshot.id)


def test_errors_are_the_servers_own_classes(roost: Roost, server: Server) -> None:
    with pytest.raises(SandboxNotFound) as caught:
        roost.get("nobody")
    assert caught.value.facts == {"sandbox": "nobody"}
    with Roost(server.url, "wrong") as stranger, pytest.raises(Unauthenticated):
        stranger.templates()


def test_commands_run_to_their_end(sandbox: Sandbox) -> None:
    result = sandbox.run("echo out; echo err >&2; exit 3")
    assert (result.code, result.stdout, result.stderr) == (3, "out\n", "err\n")
    data = os.urandom(2_000_000)
    assert sandbox.run(["cat"], input=data).stdout_bytes == data
    assert sandbox.run(["printenv", "A"], env={"A": "1"}).stdout == "1\n"
    with pytest.raises(TimedOut):
        sandbox.run(["sleep", "60"], timeout_s=0.1)


def test_a_process_is_followed_fed_and_ended(sandbox: Sandbox) -> None:
    with sandbox.start(["cat"], stdin=True) as process:
        process.send(b"one\n")
        output = next(iter(process))
        assert (output.stream, output.data) == (Stream.STDOUT, b"one\n")
        assert process.pid in {each.pid for each in sandbox.processes()}
        process.signal("SIGKILL")
        assert process.wait() == Exit(137, "signal: killed")


def test_a_process_on_a_terminal(sandbox: Sandbox) -> None:
    with sandbox.start(["sh", "-c", "stty size; read x; stty size"], size=(90, 20), stdin=True) as process:
        outputs = iter(process)
        assert b"20 90" in next(outputs).data
        process.resize(70, 10)
        process.send(b"\n")
        rest = b"".join(output.data for output in outputs)
    assert b"10 70" in rest


def test_files(sandbox: Sandbox, tmp_path: Path) -> None:
    path = str(tmp_path / "a/b")
    sandbox.files.write(path, "text")
    assert sandbox.files.read(path) == b"text"
    sandbox.files.write(path, io.BytesIO(b"x" * 1_000_000))
    assert sandbox.files.stat(path).size_bytes == 1_000_000
    assert [entry.name for entry in sandbox.files.list(str(tmp_path / "a"))] == ["b"]
    sandbox.files.move(path, str(tmp_path / "c"))
    assert not sandbox.files.exists(path)
    sandbox.files.remove(str(tmp_path / "c"))
    with pytest.raises(NotFound):
        sandbox.files.read(path)
    assert sandbox.files.make_directory(str(tmp_path / "d")).is_directory
    with pytest.raises(Conflict):
        sandbox.files.make_directory(str(tmp_path / "d"))


def test_events_are_followed_over_a_lost_connection(roost: Roost, sandbox: Sandbox) -> None:
    first = roost.events(sandbox=sandbox.id)[0]
    sandbox.pause()
    followed = roost.follow_events(after=first.sequence, sandbox=sandbox.id)
    assert next(followed).kind == "sandbox.paused"
    sandbox.resume()
    assert next(followed).kind == "sandbox.woke"
    followed.close()


def test_a_create_that_is_asked_twice_makes_one(roost: Roost) -> None:
    first, again = (roost.create(name="one", idempotency_key="k") for _ in range(2))
    assert first.id == again.id


def test_a_command_whose_connection_is_cut_at_once_runs_once(
    roost: Roost, sandbox: Sandbox, server: Server, tmp_path: Path
) -> None:
    server.router.cut_after_bytes += [0, 0]
    result = sandbox.run(f"echo once >> {tmp_path}/count; cat {tmp_path}/count")
    assert result.stdout == "once\n"


@pytest.mark.anyio
async def test_the_awaiting_client_does_the_same(server: Server, tmp_path: Path) -> None:
    async with AsyncRoost(server.url, server.key) as roost:
        sandbox = await roost.create(name="eve")
        try:
            server.router.cut_after_bytes += [0, 1000]
            result = await sandbox.run("seq 1 50000; exit 4")
            assert result.code == 4
            assert result.stdout_bytes == b"".join(b"%d\n" % number for number in range(1, 50001))
            data = os.urandom(1_000_000)
            assert (await sandbox.run(["cat"], input=data)).stdout_bytes == data
            for input in (None, b"", data):  # one failure, not a group of them
                with pytest.raises(TimedOut):
                    await sandbox.run(["sleep", "60"], timeout_s=0.1, input=input)
            assert (await sandbox.run(["head", "-c", "3"], input=data)).stdout_bytes == data[:3], "the rest is nobody's loss"
            await in_files(sandbox, tmp_path)
            await with_processes(sandbox)
            assert (await sandbox.hold(60, "for the test")).state == "running"
            [first] = await roost.events(sandbox=sandbox.id, kind="sandbox.created")
            assert (await sandbox.pause()).state == "paused"
            async with aclosing(roost.follow_events(after=first.sequence, sandbox=sandbox.id, kind="sandbox.paused")) as events:
                assert (await anext(events)).kind == "sandbox.paused"
            assert (await sandbox.resume()).record.state == "running"
            assert [record.name async for record in roost.sandboxes()] == ["eve"]
            with pytest.raises(RoostError):
                await roost.get("nobody")
        finally:
            await sandbox.kill()


async def in_files(sandbox: AsyncSandbox, folder: Path) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(10):
            yield b"x" * 100_000

    path = str(folder / "new" / "f")
    for content, size in (("text", 4), (io.BytesIO(b"x" * 700_000), 700_000), (pieces(), 1_000_000)):
        await sandbox.files.write(path, content)
        assert (await sandbox.files.stat(path)).size_bytes == len(await sandbox.files.read(path)) == size
    assert [entry.name for entry in await sandbox.files.list(str(folder / "new"))] == ["f"]
    await sandbox.files.remove(path)
    assert not await sandbox.files.exists(path)


async def with_processes(sandbox: AsyncSandbox) -> None:
    async with await sandbox.start(["cat"], stdin=True) as process:
        await process.send(b"one\n")
        assert (await anext(aiter(process))).data == b"one\n"
        again = await sandbox.attach(process.pid, from_sequence=0)
        await process.close_stdin()
        assert (await process.wait()).code == 0
        assert b"".join([output.data async for output in again]) == b"one\n"


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair[1].__name__)
def test_both_clients_have_the_same_methods(pair: tuple[type, type]) -> None:
    """And each its own way to be closed and iterated over."""
    awaiting, blocking = ({name for name in vars(one) if not name.startswith("_")} for one in pair)
    assert awaiting == blocking
