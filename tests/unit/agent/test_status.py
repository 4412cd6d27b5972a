from __future__ import annotations

import os
import socket
from datetime import datetime
from typing import Any

import roost_agent

from .guest import Guest


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


def test_process_table(guest: Guest) -> None:
    with guest.start("/bin/sleep", "1000") as events:
        rows = {row["pid"]: row for row in guest.http.get("/roost/processes").json()}
        row = rows[events.pid]
        assert (row["ppid"], row["command"]) == (guest.process.pid, "/bin/sleep 1000")
        assert rows[guest.process.pid]["user"] == row["user"]
        age_s = datetime.now().astimezone().timestamp() - datetime.fromisoformat(row["startedAt"]).timestamp()
        assert -5 < age_s < 60
        guest.call("process.Process/SendSignal", {"process": {"pid": events.pid}, "signal": "SIGNAL_SIGKILL"})


def test_activity_names_who_is_busy_and_who_listens(guest: Guest) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, guest.start("/bin/sh", "-c", "while :; do :; done") as events:
        guest.http.get("/roost/activity")
        first = guest.http.get("/roost/activity").json()["cpuSeconds"]
        activity: dict[str, Any] = {}
        busy: dict[int, dict[str, Any]] = {}
        while events.pid not in busy:  # Ends as soon as the loop has used one tick of the CPU.
            activity = guest.http.get("/roost/activity").json()
            busy = {entry["pid"]: entry for entry in activity["busyProcesses"]}
        assert "while" in str(busy[events.pid]["command"]) and busy[events.pid]["cpuPercent"] > 0
        assert len(activity["busyProcesses"]) <= 10
        assert activity["cpuSeconds"] >= first
        assert activity["openStreams"] >= 1
        mine = next(entry for entry in activity["listeners"] if entry["port"] == server.getsockname()[1])
        assert mine["address"] == "127.0.0.1" and mine["pid"] == os.getpid()
        guest.call("process.Process/SendSignal", {"process": {"pid": events.pid}, "signal": "SIGNAL_SIGKILL"})
