"""Forks: one moment, many futures."""

from __future__ import annotations

from collections import Counter
from typing import Any

import httpx

from roost.client import Sandbox
from roost.client.agent import AGENT_PORT
from tests.real.server import Server, said, sandbox_of
from tests.real.test_survival import PATIENCE_S, Watched, watched

COUNT = 8
IDENTITY = "hostname; cat /etc/machine-id; head -c 16 /dev/urandom | od -An -tx1 | tr -d ' '"


def identity(sandbox: Sandbox) -> tuple[str, ...]:
    return (sandbox.id, sandbox.tokens().access_token, *said(sandbox, IDENTITY).split("\n"))


def look(server: Server, sandbox: Sandbox, before: dict[str, Any]) -> Watched:
    """A witness asked for the first time in this sandbox, that must go on from what another one said."""
    it = Watched(server, sandbox, before)
    it.ask_over_http()
    return it


def kill(*sandboxes: Sandbox) -> None:
    for sandbox in sandboxes:
        sandbox.kill()


def test_eight_forks_share_a_past_and_have_futures_of_their_own(server: Server) -> None:
    with watched(server) as parent:
        said(parent.sandbox, "echo parent > mark; echo parent > /dev/shm/mark")
        parent.ask_over_http()
        assert parent.last is not None
        before = parent.last
        children, failures = parent.sandbox.fork(COUNT)
        try:
            assert len(children) == COUNT and failures == ()
            for child in children:
                look(server, child, before)
                assert said(child, "cat mark /dev/shm/mark") == "parent\nparent"
                assert child.record.parent == parent.sandbox.id
            for number, child in enumerate(children):
                said(child, f"echo {number} > mark; echo {number} > /dev/shm/mark")
            for number, child in enumerate(children):
                assert said(child, "cat mark /dev/shm/mark") == f"{number}\n{number}"
            assert said(parent.sandbox, "cat mark /dev/shm/mark") == "parent\nparent"
            everyone = [identity(sandbox) for sandbox in (parent.sandbox, *children)]
            for values in zip(*everyone, strict=True):
                assert max(Counter(values).values()) == 1, f"two of them share {values}"
            parent.ask_over_http()
        finally:
            kill(*children)
        parent.ask_over_http()


def test_a_childs_sleep_is_its_own(server: Server) -> None:
    with watched(server) as parent:
        parent.ask_over_http()
        assert parent.last is not None
        (child,), _ = parent.sandbox.fork()
        it = look(server, child, parent.last)
        child.pause()
        parent.ask_over_http()
        assert parent.sandbox.refresh().state == "running"
        it.ask_over_http()
        kill(child)


def test_a_sleeper_is_forked_without_being_woken(server: Server) -> None:
    with watched(server) as parent:
        parent.ask_over_http()
        assert parent.last is not None
        before = parent.last
        parent.sandbox.pause()
        children, failures = parent.sandbox.fork(2)
        assert len(children) == 2 and failures == ()
        assert parent.sandbox.refresh().state == "paused"
        for child in children:
            look(server, child, before)
        kill(*children)
        parent.ask_over_http()


def test_a_fork_outlives_its_parent(server: Server) -> None:
    with watched(server) as parent:
        parent.ask_over_http()
        assert parent.last is not None
        (child,), _ = parent.sandbox.fork()
        parent.sandbox.kill()
        it = look(server, child, parent.last)
        child.pause()
        it.ask_over_http()
        kill(child)


def test_a_parents_token_opens_no_childs_door(server: Server) -> None:
    with sandbox_of(server) as parent:
        (child,), _ = parent.fork()
        headers = {"E2b-Sandbox-Id": child.id, "E2b-Sandbox-Port": str(AGENT_PORT)}
        for token, status in ((parent.tokens().access_token, 401), (child.tokens().access_token, 200)):
            asked = {**headers, "X-Access-Token": token}
            answer = httpx.get(f"{server.url}/files?path=/etc/hostname", headers=asked, timeout=PATIENCE_S, trust_env=False)
            assert answer.status_code == status
        kill(child)


def test_a_snapshot_is_a_template(server: Server) -> None:
    """A kept moment gives birth to sandboxes long after its own has died."""
    with watched(server) as parent:
        parent.ask_over_http()
        assert parent.last is not None
        before = parent.last
        snapshot = parent.sandbox.snapshot(name="moment")
    assert server.roost.get(parent.sandbox.id).record.state == "dead"
    with sandbox_of(server, template="moment") as child:
        look(server, child, before)
    server.roost.delete_snapshot(snapshot.id)
