"""Looking into a real sandbox: processes, ports, history and tail, before and after a sleep and in a fork."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from roost.client import OpenPort, RunningProcess, Sandbox
from roost.domain.errors import Conflict
from tests.real.server import Server, eventually, said, sandbox_of

SERVE = "python3 -u -m http.server 8123 --bind 127.0.0.1"


@pytest.fixture
def sandbox(server: Server) -> Iterator[Sandbox]:
    with sandbox_of(server) as sandbox:
        yield sandbox


def running(sandbox: Sandbox, command: str) -> RunningProcess:
    (found,) = [process for process in sandbox.status.processes() if process.command == command]
    return found


def listening(sandbox: Sandbox, port: int) -> OpenPort:
    def look() -> OpenPort:
        found = [each for each in sandbox.status.ports() if each.port == port]
        assert found, "it does not listen yet"
        return found[0]

    return eventually(look)


def last_line(sandbox: Sandbox, part: str) -> tuple[str, ...]:
    """What was printed last, once this is in its last line: a program listens before it says so."""

    def look() -> tuple[str, ...]:
        lines = next(sandbox.status.tail()).lines
        assert lines and part in lines[-1], lines
        return lines

    return eventually(look)


def same_moment(one: datetime, other: datetime) -> bool:
    """By clocks that are read one after the other, on a machine that may be busy in between."""
    return abs(one - other) < timedelta(seconds=10)


def test_a_fresh_sandbox_has_no_past_and_no_ports(sandbox: Sandbox) -> None:
    """Whatever its template ran while it was made is nobody else's business."""
    assert sandbox.status.history() == []
    assert sandbox.status.ports() == []
    assert next(sandbox.status.tail()).lines == ()
    first = sandbox.status.processes()[0]
    assert (first.pid, first.user) == (1, "root")


def test_what_runs_is_the_same_before_and_after_a_sleep_and_in_a_fork(server: Server, sandbox: Sandbox) -> None:
    process = sandbox.start(["/bin/sh", "-c", f"exec {SERVE}"])
    port = listening(sandbox, 8123)
    assert (port.address, port.pid, port.loopback) == ("127.0.0.1", process.pid, True)
    assert port.command == SERVE
    before = running(sandbox, SERVE)
    assert (before.pid, before.user, before.managed) == (process.pid, "user", True)
    assert before.memory_bytes > 1_000_000
    (past,) = sandbox.status.history()
    assert (past.pid, past.ended_at) == (process.pid, None) and same_moment(past.started_at, before.started_at)
    lines = last_line(sandbox, "8123")

    sandbox.pause()
    sandbox.resume()
    children, failures = sandbox.fork()
    assert not failures
    try:
        for each in (sandbox, children[0]):
            after = running(each, SERVE)
            assert (after.pid, after.tag) == (before.pid, before.tag) and same_moment(after.started_at, before.started_at)
            assert listening(each, 8123).pid == process.pid
            assert [command.pid for command in each.status.history()] == [process.pid]
            assert next(each.status.tail()).lines == lines
    finally:
        children[0].kill()


def test_history_and_tail_of_what_is_over_go_through_a_sleep(sandbox: Sandbox) -> None:
    said(sandbox, "echo first; echo last words")
    sandbox.run("exit 5")
    sandbox.pause()
    sandbox.resume()
    failed, spoke = sandbox.status.history()
    assert (failed.command, failed.exit_code) == ("exit 5", 5)
    assert (spoke.command, spoke.exit_code) == ("echo first; echo last words", 0)
    assert spoke.ended_at is not None and spoke.ended_at <= failed.started_at
    assert next(sandbox.status.tail(1)).lines == ("last words",)


def test_looking_wakes_nobody(sandbox: Sandbox) -> None:
    sandbox.pause()
    for look in (sandbox.status.processes, sandbox.status.ports, sandbox.status.history, lambda: next(sandbox.status.tail())):
        with pytest.raises(Conflict) as caught:
            look()
        assert caught.value.code == "asleep"
    assert sandbox.refresh().state == "paused"


def test_the_busy_one_is_named(sandbox: Sandbox) -> None:
    busy = sandbox.start(["/bin/sh", "-c", "while :; do :; done"])
    idle = sandbox.start(["/bin/sleep", "1000"])

    def told_apart() -> None:
        rows = {process.pid: process for process in sandbox.status.processes()}
        assert rows[busy.pid].cpu_percent > 20
        assert math.isclose(rows[idle.pid].cpu_percent, 0, abs_tol=1)

    eventually(told_apart)  # a program's own start takes processor time too, and other sandboxes may have it all for a moment
    busy.signal("SIGKILL")
    idle.signal("SIGKILL")


def test_a_tail_that_is_listened_to_goes_on_after_a_sleep(sandbox: Sandbox) -> None:
    tail = sandbox.status.tail(1)
    assert next(tail).lines == ()
    said(sandbox, "echo before")
    assert next(tail).lines == ("before",)
    sandbox.pause()
    sandbox.resume()
    said(sandbox, "echo after")
    assert next(tail).lines == ("after",)
    tail.close()  # type: ignore[attr-defined]
