"""`ps`, `ports` and `history` against a real agent."""

from __future__ import annotations

import json
import os
import socket
from typing import Any

from roost.cli.rendering import one_line

from .server import Server


def told(server: Server, *words: str) -> Any:
    ran = server.verb(*words, "--json")
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_ps_lists_what_runs(server: Server, sandbox: str) -> None:
    rows = told(server, "ps", sandbox)
    (own,) = [row for row in rows if row["pid"] == os.getpid()]  # The agent of these tests is a process beside this one.
    assert "python" in own["command"] and own["managed"] is False
    assert [row["cpu_percent"] for row in rows] == sorted((row["cpu_percent"] for row in rows), reverse=True)
    printed = server.verb("ps", sandbox).stdout.decode().splitlines()
    assert printed[0].split() == ["PID", "PARENT", "USER", "CPU", "MEMORY", "AGE", "COMMAND"]
    assert any(line.split()[0] == str(os.getpid()) and "python" in line for line in printed)


def test_ports_say_how_to_reach_them(server: Server, sandbox: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        record = told(server, "info", sandbox)
        (row,) = [row for row in told(server, "ports", sandbox) if row["port"] == port]
        assert (row["address"], row["pid"], row["loopback"]) == ("127.0.0.1", os.getpid(), True)
        assert row["url"] == record["url"].replace("{port}", str(port)) and f"{port}-{record['id']}" in row["url"]
        (line,) = [line for line in server.verb("ports", sandbox).stdout.decode().splitlines() if row["url"] in line]
        assert line.split()[:3] == [str(port), "127.0.0.1", str(os.getpid())]
        assert b"not public" not in server.verb("ports", sandbox).stderr
        assert server.verb("update", sandbox, "--private").returncode == 0
        assert b"roost link " + sandbox.encode() + b" --port" in server.verb("ports", sandbox).stderr


def test_history_lists_what_was_run(server: Server, sandbox: str) -> None:
    assert server.cli("exec", sandbox, "--", "/bin/sh", "-c", "exit 7").returncode == 7
    (row,) = told(server, "history", sandbox, "--limit", "1")
    assert (row["command"], row["exit_code"], row["pty"]) == ("exit 7", 7, False)
    line = server.verb("history", sandbox, "-n", "1").stdout.decode().splitlines()[1]
    assert line.split()[-2:] == ["exit", "7"] and line.split()[3] == "7"


def test_words_from_inside_cannot_steer_the_terminal() -> None:
    assert one_line("a\n  b\x1b]0;title\x07\tc\x9b2J") == "a b\ufffd]0;title\ufffd c\ufffd2J"
