"""What sleeps comes back as it was: memory, open files, connections inside and from outside. Not once but 25 times."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from roost.client import Sandbox
from roost.domain.address import plan_slot
from tests.real import witness
from tests.real.server import Server, eventually, sandbox_of

CYCLES = 25
PATIENCE_S = 60.0


@dataclass(slots=True)
class Watched:
    """A sandbox with a witness in it, and all that the witness has said so far."""

    server: Server
    sandbox: Sandbox
    last: dict[str, Any] | None = None

    def check(self, state: dict[str, Any]) -> None:
        """Nothing is lost since the last word."""
        assert state["faults"] == []
        assert state["file_is_whole"] and state["file_is_deleted"]
        assert state["written"] == state["count"] >= state["heard"]
        last = self.last or state
        assert (state["birth"], state["pid"], state["blob"]) == (last["birth"], last["pid"], last["blob"])
        assert state["count"] >= last["count"]
        self.last = state

    def ask_over_http(self) -> None:
        url = f"{self.server.url}/"
        headers = {"Host": self.server.host(self.sandbox, witness.HTTP_PORT)}
        answer = httpx.get(url, headers=headers, timeout=PATIENCE_S, trust_env=False)
        assert answer.status_code == 200, answer.text
        self.check(answer.json())


@contextmanager
def watched(server: Server, **request: Any) -> Iterator[Watched]:
    with sandbox_of(server, **request) as sandbox:
        sandbox.files.write("witness.py", Path(witness.__file__).read_bytes())
        with sandbox.start("exec python3 -u witness.py") as process:
            first = next(iter(process)).data
            assert first == b"ready\n", (first, *process)
        yield Watched(server, sandbox)


def ask(line: socket.socket) -> dict[str, Any]:
    line.sendall(b"how is it?\n")
    answer = b""
    while not answer.endswith(b"\n"):
        received = line.recv(65536)
        assert received, "the connection was closed"
        answer += received
    return json.loads(answer)


@contextmanager
def line_to(server: Server, sandbox: Sandbox) -> Iterator[socket.socket]:
    """A TCP connection from the host straight to the sandbox's slot, past the edge."""
    with socket.create_connection((slot_address(server, sandbox.id), witness.LINE_PORT), timeout=PATIENCE_S) as line:
        yield line


@contextmanager
def tunnel_to(server: Server, sandbox: Sandbox) -> Iterator[socket.socket]:
    """An upgraded connection through the edge."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as tunnel:
        host = server.host(sandbox, witness.LINE_PORT)
        tunnel.sendall(f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: lines\r\n\r\n".encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += tunnel.recv(1)
        assert b" 101 " in head.splitlines()[0]
        yield tunnel


def slot_address(server: Server, sandbox: str) -> str:
    """Where the host reaches the sandbox: by its journal and the range that its Roost has taken."""
    journal = json.loads((server.volume / "sandboxes" / sandbox / "journal.json").read_text())
    return str(plan_slot(server.instance, server.network, journal["slot"]).router_address)


def test_twenty_five_sleeps_lose_nothing(server: Server) -> None:
    with watched(server) as it, line_to(server, it.sandbox) as line, tunnel_to(server, it.sandbox) as tunnel:
        for cycle in range(CYCLES):
            it.check(ask(line))
            assert it.sandbox.pause().state == "paused"
            resumed = it.sandbox.resume()
            assert not resumed.cold and resumed.record.incarnation == cycle + 2
            it.check(ask(line))
            it.check(ask(tunnel))
        assert it.last is not None and it.last["count"] > CYCLES, "it counted on while it was awake"


def test_a_request_wakes_it_and_meets_the_same_memory(server: Server) -> None:
    with watched(server) as it:
        for _ in range(5):
            it.ask_over_http()
            it.sandbox.pause()
            it.ask_over_http()
            assert it.sandbox.refresh().state == "running"


def test_a_word_on_a_parked_connection_wakes_it(server: Server) -> None:
    with watched(server) as it, tunnel_to(server, it.sandbox) as tunnel:
        for _ in range(3):
            it.check(ask(tunnel))
            it.sandbox.pause()
            it.check(ask(tunnel))
        woke = [event for event in server.roost.events(sandbox=it.sandbox.id) if event.kind == "sandbox.woke"]
        assert len(woke) == 3


def test_it_falls_asleep_when_idle_and_wakes_on_a_request(server: Server) -> None:
    """Idle by its policy, while its witness counts: the share of a core that counts as idle is set above what that takes."""
    with watched(server, idle_s=1, idle_cpu_share=2.0) as it:
        it.ask_over_http()

        def asleep() -> None:
            assert it.sandbox.refresh().state == "paused"

        eventually(asleep)  # perhaps not for the first time: on a slow machine it was idle between two words before
        assert server.roost.events(sandbox=it.sandbox.id, kind="sandbox.paused")[-1].facts["why"] == "idle"
        it.ask_over_http()


def test_a_sleep_without_memory_keeps_the_disk_and_says_what_was_lost(server: Server) -> None:
    with watched(server) as it:
        it.sandbox.files.write("mark", b"on disk")
        assert it.sandbox.pause(memory=False).state == "paused"
        resumed = it.sandbox.resume()
        assert resumed.cold
        assert it.sandbox.files.read("mark") == b"on disk"
        with pytest.raises(OSError), line_to(server, it.sandbox):
            pass


def test_a_resume_on_the_heels_of_a_pause_loses_nothing(server: Server) -> None:
    """Both asked at once, in either order of arrival: it runs, or sleeps until asked again; what it knew it knows."""
    with watched(server) as it, line_to(server, it.sandbox) as line:
        it.check(ask(line))
        for _ in range(5):
            it.sandbox.pause()
            it.sandbox.resume()
        it.check(ask(line))


def test_the_server_is_killed_while_a_sandbox_counts(server: Server) -> None:
    """It is adopted, went on counting meanwhile, and nobody who was connected to it noticed."""
    with watched(server) as it, line_to(server, it.sandbox) as line:
        it.check(ask(line))
        server.kill()
        it.check(ask(line))  # there is no server now
        server.start()
        it.sandbox = server.roost.get(it.sandbox.id)
        assert it.sandbox.record.state == "running"
        it.check(ask(line))
        it.ask_over_http()
        assert it.sandbox.run("echo here").stdout == "here\n"
        it.sandbox.pause()
        it.sandbox.resume()
        it.check(ask(line))


def test_a_sleeper_outlives_its_server_with_its_connections(server: Server) -> None:
    with watched(server) as it, line_to(server, it.sandbox) as line:
        it.check(ask(line))
        it.sandbox.pause()
        server.restart()
        it.sandbox = server.roost.get(it.sandbox.id)
        it.sandbox.resume()
        it.check(ask(line))
