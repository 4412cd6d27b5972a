from __future__ import annotations

import pytest

from .guest import Guest, RpcFailure, wait_gone

# A shell with a child, a grandchild in a session of its own, and an orphan whose parent is gone.
TREE = """
sleep 1000 & echo $!
setsid sh -c 'sleep 1000 & echo $!; wait' & echo $!
sh -c 'sleep 1000 & echo $!'
echo ready
wait
"""


def test_kill_reaches_the_whole_tree(guest: Guest) -> None:
    with guest.start("/bin/sh", "-c", TREE) as events:
        seen = events.read_until(b"ready")
        while len(seen.split()) < 5:
            seen += next(content for _, content in events)
        pids = [int(word) for word in seen.split() if word != b"ready"]
        assert len(pids) == 4
        guest.call("process.Process/SendSignal", {"process": {"pid": events.pid}, "signal": "SIGNAL_SIGKILL"})
        assert events.finish().end["status"] == "signal: killed"
    for pid in [*pids, events.pid]:
        wait_gone(pid)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("TERM", "terminated"),
        ("INT", "interrupt"),
        ("HUP", "hangup"),
        ("QUIT", "quit"),
        ("USR1", "user defined signal 1"),
        ("USR2", "user defined signal 2"),
    ],
)
def test_signals_by_name(guest: Guest, name: str, words: str) -> None:
    with guest.start("/bin/sleep", "1000") as events:
        guest.call("process.Process/SendSignal", {"process": {"pid": events.pid}, "signal": f"SIGNAL_SIG{name}"})
        assert events.finish().end["status"].removesuffix(" (core dumped)") == f"signal: {words}"


def test_stop_and_continue(guest: Guest) -> None:
    with guest.start("/bin/sh", "-c", "trap 'echo went on; exit 0' CONT; echo ready; while :; do sleep 0.01; done") as events:
        events.read_until(b"ready")
        selector = {"pid": events.pid}
        guest.call("process.Process/SendSignal", {"process": selector, "signal": "SIGNAL_SIGSTOP"})
        guest.call("process.Process/SendSignal", {"process": selector, "signal": "SIGNAL_SIGCONT"})
        assert events.finish().stdout == "went on\n"


def test_unknown_signals_are_refused(guest: Guest) -> None:
    with guest.start("/bin/sleep", "1000") as events:
        for given in ("SIGNAL_UNSPECIFIED", "SIGNAL_SIGNOPE", None, 0, 999, {}):
            with pytest.raises(RpcFailure, match="invalid_argument"):
                guest.call("process.Process/SendSignal", {"process": {"pid": events.pid}, "signal": given})
        guest.call("process.Process/SendSignal", {"process": {"pid": events.pid}, "signal": 15})
        assert events.finish().end["status"] == "signal: terminated"


def test_the_agent_takes_its_processes_along_when_it_leaves() -> None:
    guest = Guest("--trust-local")
    with guest.start("/bin/sh", "-c", "trap '' TERM; setsid sleep 1000 & echo $!; sleep 1000; sleep 1000; wait") as events:
        child = int(events.read_until(b"\n"))
        pid = events.pid
        guest.process.terminate()
        assert guest.process.wait(20) == 0
    guest.close()
    wait_gone(child)
    wait_gone(pid)
