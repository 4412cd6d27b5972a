from __future__ import annotations

from typing import Any

import pytest

from .guest import Events, Guest, RpcFailure, b64

PTY: dict[str, Any] = {"pty": {"size": {"cols": 91, "rows": 17}}}


def send(guest: Guest, events: Events, text: bytes) -> None:
    guest.call("process.Process/SendInput", {"process": {"pid": events.pid}, "input": {"pty": b64(text)}})


def test_a_program_on_a_terminal(guest: Guest) -> None:
    result = guest.run("/bin/sh", "-c", "test -t 0 && test -t 1 && stty size && echo $TERM; ps -o tty= -p $$", **PTY)
    lines = result.output["pty"].decode().split()
    assert lines[:3] == ["17", "91", "xterm-256color"]
    assert lines[3].startswith("pts/")  # It is the controlling terminal, too.
    assert result.end["exitCode"] == 0


def test_resize_reaches_the_program(guest: Guest) -> None:
    with guest.start("/bin/sh", "-c", "trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.01; done", **PTY) as events:
        events.read_until(b"ready")
        guest.call("process.Process/Update", {"process": {"pid": events.pid}, "pty": {"size": {"cols": 132, "rows": 50}}})
        assert b"50 132" in events.finish().output["pty"]


def test_control_c_interrupts_what_runs_in_front(guest: Guest) -> None:
    with guest.start("/bin/sh", "-c", "trap 'echo interrupted; exit 130' INT; echo ready; cat", **PTY) as events:
        events.read_until(b"ready")
        send(guest, events, b"hello\n")
        events.read_until(b"hello\r\nhello")
        send(guest, events, b"\x03")
        result = events.finish()
        assert b"interrupted" in result.output["pty"]
        assert result.end["exitCode"] == 130


def test_an_interactive_shell(guest: Guest) -> None:
    with guest.start("/bin/sh", "-i", **PTY, process={"envs": {"PS1": "prompt> "}}) as events:
        events.read_until(b"prompt> ")
        send(guest, events, b"echo $((6*7))\n")
        events.read_until(b"42")
        send(guest, events, b"exit 5\n")
        assert events.finish().end["exitCode"] == 5


def test_a_program_that_leaves_its_terminal_is_not_hung_up_on(guest: Guest) -> None:
    """As most do just before they exit: it ends by itself, with the code it says."""
    leaves = "echo bye; exec 0<&- 1>&- 2>&-; sleep 0.3; exit 7"
    result = guest.run("/bin/sh", "-c", leaves, **PTY)
    assert result.output["pty"] == b"bye\r\n"
    assert (result.end["exitCode"], result.end["exited"]) == (7, True)


def test_terminals_and_pipes_do_not_mix(guest: Guest) -> None:
    with guest.start("/bin/cat", **PTY) as events:
        selector = {"pid": events.pid}
        with pytest.raises(RpcFailure, match="internal"):
            guest.call("process.Process/SendInput", {"process": selector, "input": {"stdin": b64(b"x")}})
        with pytest.raises(RpcFailure, match="unknown"):
            guest.call("process.Process/CloseStdin", {"process": selector})
        send(guest, events, b"\x04")
        assert events.finish().end["exitCode"] == 0
    with guest.start("/bin/cat", stdin=True) as events:
        selector = {"pid": events.pid}
        with pytest.raises(RpcFailure, match="internal"):
            send(guest, events, b"x")
        with pytest.raises(RpcFailure, match="failed_precondition"):
            guest.call("process.Process/Update", {"process": selector, "pty": {"size": {"cols": 1, "rows": 1}}})
        guest.call("process.Process/CloseStdin", {"process": selector})
        events.finish()


def test_the_end_of_the_leader_is_the_end(guest: Guest) -> None:
    """Something that keeps the terminal open in the background does not keep the caller waiting."""
    with guest.start("/bin/sh", "-c", "trap '' HUP; (trap '' HUP; sleep 1000) & echo $!", **PTY) as events:
        result = events.finish()
    assert result.end["exitCode"] == 0
    guest.run("/bin/kill", "-9", result.output["pty"].decode().split()[0])


def test_impossible_sizes(guest: Guest) -> None:
    with pytest.raises(RpcFailure, match="invalid_argument"):
        guest.run("/bin/true", pty={"size": {"cols": 0, "rows": 70000}})
