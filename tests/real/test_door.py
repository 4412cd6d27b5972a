"""The door for programs inside: reached from any sandbox, whatever else it may reach, and by nobody else."""

from __future__ import annotations

import json
from contextlib import ExitStack

import httpx

from roost.domain.address import dns_address
from roost.node.network.slots import GUEST_API_PORT
from tests.real.server import Server, eventually, said, sandbox_of

DOOR = "http://169.254.7.1"


def test_a_program_inside_asks_a_person(server: Server) -> None:
    with ExitStack() as stack:
        closed = stack.enter_context(sandbox_of(server, network={"internet": False}))
        other = stack.enter_context(sandbox_of(server))
        assert json.loads(said(closed, f"curl -sSf {DOOR}/"))["id"] == closed.id
        assert json.loads(said(other, f"curl -sSf {DOOR}/"))["id"] == other.id
        ask = (
            f"""curl -sSf {DOOR}/questions -H 'Content-Type: application/json' -d '{{"kind": "approval", "text": "Send it?"}}'"""
        )
        question = json.loads(said(closed, ask))
        assert (question["sandbox"], question["state"]) == (closed.id, "open")
        status = f"curl -s -o /dev/null -w '%{{http_code}}' {DOOR}/questions/{question['id']}"
        assert (said(closed, status), said(other, status)) == ("200", "404")
        server.roost.answer(question["id"], choice="approve")
        answered = json.loads(said(closed, f"curl -sSf '{DOOR}/questions/{question['id']}?wait_s=30'"))
        assert (answered["state"], answered["answer"]["choice"]) == ("answered", "approve")
        closed.pause()
        assert json.loads(said(closed, f"curl -sSf {DOOR}/"))["id"] == closed.id


def test_nobody_else_is_served(server: Server) -> None:
    with sandbox_of(server) as sandbox:
        desk = f"http://{dns_address(server.network)}:{GUEST_API_PORT}/"
        assert httpx.get(desk, timeout=60, trust_env=False).status_code == 503  # somebody on this machine, who is no guest
        refused = "curl -s -m 5 -o /dev/null http://169.254.7.1:4780/ ; echo $?"
        assert said(sandbox, refused) != "0"


def test_a_guest_takes_no_more_connections_than_its_share(server: Server) -> None:
    script = "import socket\nopened = []\ntry:\n for _ in range(64):\n"
    script += (
        "  opened.append(socket.create_connection(('169.254.7.1', 80), timeout=5))\nexcept OSError: pass\nprint(len(opened))"
    )
    with sandbox_of(server) as sandbox, sandbox_of(server) as other:
        sandbox.files.write("/tmp/flood.py", script.encode())

        def flooded() -> None:
            assert 0 < int(said(sandbox, "python3 /tmp/flood.py")) <= 32

        eventually(flooded)
        assert json.loads(said(other, f"curl -sSf {DOOR}/"))["id"] == other.id
