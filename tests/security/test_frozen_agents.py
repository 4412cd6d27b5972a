"""Root inside stops the agent. Whoever calls it is told within their deadline, and the sandbox can still be put away."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import httpx
import pytest

from roost.client import Sandbox
from roost.client.agent import AGENT_PORT
from roost.domain.errors import GuestUnreachable, RoostError
from tests.real.server import Server, bounded, eventually, said, sandbox_of

# Longer than the edge waits and asks, shorter than anybody's ten minutes.
SOON_S = 60.0

# Takes every thread of PID 1 as a debugger does, and holds it.
_HOLD = """
import ctypes, os, signal
trace = ctypes.CDLL(None).ptrace
trace.argtypes = [ctypes.c_long] * 4
for thread in os.listdir("/proc/1/task"):
    trace(0x4206, int(thread), 0, 0)
    trace(0x4207, int(thread), 0, 0)
signal.pause()
"""
FREEZERS = {"stopped": "kill -STOP 1", "held by a debugger": "exec python3 /tmp/hold.py"}


@pytest.fixture(params=FREEZERS)
def frozen(server: Server, request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    with sandbox_of(server) as sandbox:
        sandbox.files.write("/tmp/hold.py", _HOLD)
        said(sandbox, f"sudo sh -c '(sleep 1; {FREEZERS[request.param]}) </dev/null >/dev/null 2>&1 &'")
        eventually(lambda: _hangs(server, sandbox))
        yield sandbox


def _hangs(server: Server, sandbox: Sandbox) -> None:
    headers = {"E2b-Sandbox-Id": sandbox.id, "E2b-Sandbox-Port": str(AGENT_PORT)}
    try:
        httpx.get(f"{server.url}/health", headers=headers, timeout=3.0, trust_env=False)
    except httpx.ReadTimeout:
        return
    raise AssertionError("the agent still answers")


def test_every_call_to_a_frozen_agent_fails_in_time(frozen: Sandbox) -> None:
    outcomes = at_once(
        lambda: frozen.run("true", timeout_s=5),
        lambda: frozen.run("true"),
        lambda: frozen.files.read("/etc/hostname"),
        lambda: frozen.files.write("/tmp/large", bytes(32 << 20)),
        frozen.processes,
    )
    assert [type(outcome) for outcome in outcomes] == [GuestUnreachable] * 5, outcomes
    with bounded(SOON_S):
        assert frozen.pause().state == "paused"


def at_once(*calls: Callable[[], object]) -> list[object]:
    """What becomes of each, if anything does soon."""
    outcomes: list[object] = [None] * len(calls)

    def run(number: int) -> None:
        try:
            outcomes[number] = calls[number]()
        except RoostError as error:
            outcomes[number] = error

    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(len(calls))]
    ends_at = time.monotonic() + SOON_S
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, ends_at - time.monotonic()))
    return outcomes


def test_a_command_that_runs_when_its_agent_is_frozen_ends_by_its_deadline(server: Server) -> None:
    with sandbox_of(server) as sandbox, bounded(3 * SOON_S), pytest.raises(GuestUnreachable):
        sandbox.run("sudo kill -STOP 1; sleep 1000", timeout_s=5)
