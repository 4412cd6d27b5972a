from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import pytest

import roost_agent

from .guest import Guest, wait_until

READS = "printf 'one\\ntwo\\nthree\\n'; read line; echo $line"
SPIN = ("/bin/sh", "-c", "while :; do :; done")


def test_metrics(guest: Guest) -> None:
    metrics = guest.http.get("/metrics").json()
    assert set(metrics) == {
        "ts",
        "cpu_count",
        "cpu_used_pct",
        "mem_total",
        "mem_used",
        "mem_cache",
        "mem_total_mib",
        "mem_used_mib",
        "disk_used",
        "disk_total",
    }
    assert metrics["cpu_count"] == os.cpu_count()
    assert 0 <= metrics["cpu_used_pct"] <= 100
    assert 0 < metrics["mem_used"] < metrics["mem_total"] and 0 < metrics["disk_used"] < metrics["disk_total"]


def test_version(guest: Guest) -> None:
    assert guest.http.get("/roost/version").json() == {
        "version": roost_agent.__version__,
        "envdVersion": roost_agent.ENVD_VERSION,
    }


def kill(guest: Guest, pid: int) -> None:
    guest.call("process.Process/SendSignal", {"process": {"pid": pid}, "signal": "SIGNAL_SIGKILL"})


def processes(guest: Guest) -> dict[int, dict[str, Any]]:
    return {row["pid"]: row for row in guest.http.get("/processes").json()["processes"]}


def command_of(pid: int) -> str:
    with open(f"/proc/{pid}/cmdline") as file:
        return file.read().rstrip("\0").replace("\0", " ")


def moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def seconds_ago(text: str) -> float:
    return time.time() - moment(text)


def test_processes_are_told_with_who_started_them(guest: Guest) -> None:
    with guest.start("/bin/sh", "-c", "sleep 1000 & echo $!; wait", tag="mine") as events:
        child = int(events.read_until(b"\n"))
        wait_until(lambda: command_of(child) == "sleep 1000")  # Its number is told before it has become what it is to be.
        found = processes(guest)
        row = found[events.pid]
        assert set(row) == {
            *("pid", "ppid", "user", "command", "cpu_percent"),
            *("memory_bytes", "started_at", "managed", "tag"),
        }
        assert (row["ppid"], row["managed"], row["tag"]) == (guest.process.pid, True, "mine")
        assert row["command"] == "/bin/sh -c sleep 1000 & echo $!; wait"
        assert row["user"] == found[guest.process.pid]["user"] != ""
        assert row["memory_bytes"] > 0 and -5 < seconds_ago(row["started_at"]) < 60
        assert (found[child]["ppid"], found[child]["managed"], found[child]["tag"]) == (events.pid, False, None)
        assert found[child]["command"] == "sleep 1000"
        assert list(found) == sorted(found, key=lambda pid: (moment(found[pid]["started_at"]), pid))
        kill(guest, events.pid)


def test_the_busy_are_told_from_the_idle_by_the_first_answer(fresh_agent: Guest) -> None:
    with fresh_agent.start(*SPIN) as busy, fresh_agent.start("/bin/sleep", "1000") as idle:
        found = processes(fresh_agent)
        assert found[busy.pid]["cpu_percent"] > 0  # How much of it, others on this machine have a say in.
        assert found[idle.pid]["cpu_percent"] == 0
        again = processes(fresh_agent)  # At once: measured over the same stretch of time and some more, not over nothing.
        assert again[busy.pid]["cpu_percent"] > 0
        kill(fresh_agent, busy.pid)
        kill(fresh_agent, idle.pid)


def ports(guest: Guest) -> dict[tuple[str, int], dict[str, Any]]:
    return {(row["address"], row["port"]): row for row in guest.http.get("/ports").json()["ports"]}


def test_ports_name_who_listens(guest: Guest) -> None:
    with socket.create_server(("127.0.0.1", 0)) as near, socket.create_server(("0.0.0.0", 0)) as wide:
        found = ports(guest)
        at = near.getsockname()
        assert (found[at]["pid"], found[at]["loopback"]) == (os.getpid(), True) and "python" in found[at]["command"]
        assert found[wide.getsockname()]["loopback"] is False
    assert guest.port not in {port for _, port in found}
    assert at not in ports(guest)


def test_ports_of_both_families(guest: Guest) -> None:
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as server:
        port = server.getsockname()[1]
        (row,) = [row for row in guest.http.get("/ports").json()["ports"] if row["port"] == port]
        assert (row["address"], row["loopback"]) == ("::1", True)


def history(guest: Guest, **query: int) -> list[dict[str, Any]]:
    return guest.http.get("/history", params=query).json()["commands"]


def test_history_holds_what_ran_and_what_runs(fresh_agent: Guest) -> None:
    assert history(fresh_agent) == []
    fresh_agent.run("/bin/bash", "-l", "-c", "exit 3")
    fresh_agent.run("/bin/echo", "two words", "it's", "plain")
    with fresh_agent.start("/bin/sleep", "1000", pty={"size": {"cols": 80, "rows": 24}}) as events:
        sleeping, echoed, failed = history(fresh_agent)
        assert (sleeping["pid"], sleeping["command"], sleeping["pty"]) == (events.pid, "/bin/sleep 1000", True)
        assert (sleeping["ended_at"], sleeping["exit_code"], sleeping["status"]) == (None, None, None)
        assert echoed["command"] == "/bin/echo 'two words' 'it'\\''s' plain"
        assert (echoed["exit_code"], echoed["status"], echoed["pty"]) == (0, "exit status 0", False)
        assert (failed["command"], failed["exit_code"]) == ("exit 3", 3)
        assert failed["user"] == echoed["user"] != ""
        assert moment(failed["started_at"]) <= moment(failed["ended_at"]) <= moment(echoed["started_at"])
        assert 0 <= seconds_ago(failed["started_at"]) < 60
        kill(fresh_agent, events.pid)
        events.finish()
    killed = history(fresh_agent, limit=1)
    assert [(row["pid"], row["exit_code"], row["status"]) for row in killed] == [(events.pid, -1, "signal: killed")]


def test_history_is_bounded(fresh_agent: Guest) -> None:
    fresh_agent.run("/bin/true", "x" * 5000)
    (row,) = history(fresh_agent)
    assert len(row["command"]) == 1000 and row["command"].endswith("x…")


@pytest.mark.parametrize("limit", ["0", "501", "-1", "many", "", "1e2", "9" * 30])
def test_limits_that_make_no_sense_are_refused(guest: Guest, limit: str) -> None:
    answer = guest.http.get("/history", params={"limit": limit})
    assert answer.status_code == 400 and "1 to 500" in answer.json()["message"]
    assert guest.http.get("/tail", params={"lines": limit}).status_code == 400


def test_a_new_identity_starts_with_no_history_but_what_still_runs(fresh_agent: Guest) -> None:
    fresh_agent.run("/bin/echo", "the template's secret")
    with fresh_agent.start("/bin/sh", "-c", "echo up; exec sleep 1000") as events:
        events.read_until(b"up\n")
        fresh_agent.run("/bin/echo", "loud and over")
        fresh_agent.init(newIdentity=True)
        assert [row["pid"] for row in history(fresh_agent)] == [events.pid]
        with tail(fresh_agent) as shown:
            assert next(shown)["lines"] == []
        kill(fresh_agent, events.pid)


@contextmanager
def tail(guest: Guest, **query: int) -> Iterator[Iterator[dict[str, Any]]]:
    """The messages of the stream."""
    with guest.http.stream("GET", "/tail", params=query) as answer:
        assert answer.headers["content-type"] == "text/event-stream"
        lines = answer.iter_lines()
        yield (json.loads(line.removeprefix("data: ")) for line in lines if line)


def test_tail_follows_whoever_prints(fresh_agent: Guest) -> None:
    guest = fresh_agent
    with tail(guest, lines=2) as shown:
        assert next(shown) == {"pid": None, "command": None, "lines": []}
        with guest.start("/bin/sh", "-c", READS, stdin=True) as first:
            assert next(shown) == {
                "pid": first.pid,
                "command": READS,
                "lines": ["two", "three"],
            }
            with guest.start("/bin/sh", "-c", "printf '\\033[31mred\\033[0m\\n'; exec sleep 1000") as second:
                assert next(shown)["lines"] == ["red"]
                guest.call("process.Process/SendInput", {"process": {"pid": first.pid}, "input": {"stdin": "Zm91cgo="}})  # "four"
                assert next(shown) == {"pid": first.pid, "command": READS, "lines": ["three", "four"]}
                kill(guest, second.pid)


def test_tail_sends_the_newest_and_skips_what_came_between(fresh_agent: Guest) -> None:
    """A program that prints all the time is shown once a second, and each time as it is then."""
    with fresh_agent.start("/bin/sh", "-c", "i=0; while :; do i=$((i+1)); echo $i; done") as events:
        events.read_until(b"1000\n")
        with tail(fresh_agent, lines=1) as shown:
            seen = [int(next(shown)["lines"][0])]
            while len(seen) < 2 or seen[-1] <= seen[-2] + 50:  # It may have had no turn for a while.
                seen.append(int(next(shown)["lines"][0]))
                assert seen[-1] > seen[-2] and len(seen) < 20
        assert seen[0] >= 1000
        kill(fresh_agent, events.pid)


def test_changes_of_the_history_are_told(fresh_agent: Guest) -> None:
    """Also of commands that print nothing."""
    with fresh_agent.http.stream("GET", "/history/changes") as answer:
        told = (json.loads(line.removeprefix("data: "))["changes"] for line in answer.iter_lines() if line)
        before = next(told)
        with fresh_agent.start("/bin/sleep", "1000") as events:
            assert (started := next(told)) > before
            assert [row["ended_at"] for row in history(fresh_agent)] == [None]
            kill(fresh_agent, events.pid)
            assert next(told) > started
            assert [row["ended_at"] for row in history(fresh_agent)] != [None]


def test_tail_ends_with_its_listener(fresh_agent: Guest) -> None:
    """Whoever hangs up leaves nothing behind, whether or not anything is printed."""
    descriptors = f"/proc/{fresh_agent.process.pid}/fd"
    before = len(os.listdir(descriptors))
    with socket.create_connection(("127.0.0.1", fresh_agent.port), timeout=20) as wire:
        wire.sendall(b"GET /tail HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"200 OK" in wire.recv(65536)
        wire.shutdown(socket.SHUT_WR)
        while wire.recv(65536):
            pass
    wait_until(lambda: len(os.listdir(descriptors)) <= before)
    assert fresh_agent.http.head("/tail").status_code == 200
