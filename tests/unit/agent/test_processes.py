from __future__ import annotations

import getpass
import os
import subprocess
from pathlib import Path

import httpx
import pytest

from .guest import STREAM, Guest, RpcFailure, b64, envelope, messages, wait_gone


def test_output_arrives_in_order_then_the_end(guest: Guest) -> None:
    result = guest.run("/bin/sh", "-c", "echo one; echo two >&2; echo three; exit 3")
    assert result.stdout == "one\nthree\n"
    assert result.output["stderr"] == b"two\n"
    assert result.end == {"exitCode": 3, "exited": True, "status": "exit status 3", "error": "exit status 3"}


def test_success_has_no_error(guest: Guest) -> None:
    assert guest.run("/bin/true").end == {"exitCode": 0, "exited": True, "status": "exit status 0"}


def test_a_signal_is_told_as_go_tells_it(guest: Guest) -> None:
    end = guest.run("/bin/sh", "-c", "kill -9 $$").end
    assert end == {"exitCode": -1, "exited": False, "status": "signal: killed", "error": "signal: killed"}


def test_variables_of_the_request_win_and_do_not_leak(fresh_agent: Guest) -> None:
    fresh_agent.init(envVars={"COLOUR": "red", "SHAPE": "round"}, sandboxId="i1", templateId="t1")
    result = fresh_agent.run("/usr/bin/env", process={"envs": {"COLOUR": "blue"}})
    seen = dict(line.split("=", 1) for line in result.stdout.splitlines())
    assert seen["COLOUR"] == "blue" and seen["SHAPE"] == "round"
    assert (seen["E2B_SANDBOX"], seen["E2B_SANDBOX_ID"], seen["ROOST_SANDBOX_ID"], seen["E2B_TEMPLATE_ID"]) == (
        "true",
        "i1",
        "i1",
        "t1",
    )
    assert seen["USER"] == seen["LOGNAME"] == getpass.getuser()
    assert "COLOUR=red" in fresh_agent.run("/usr/bin/env").stdout
    assert fresh_agent.http.get("/envs").json()["COLOUR"] == "red"
    fresh_agent.init(envVars={})
    assert "COLOUR" not in fresh_agent.run("/usr/bin/env").stdout


def test_working_directory(guest: Guest, tmp_path: Path) -> None:
    assert guest.run("/bin/pwd", process={"cwd": str(tmp_path)}).stdout.strip() == str(tmp_path)
    assert guest.run("/bin/pwd").stdout.strip() == str(Path.home().resolve())
    with pytest.raises(RpcFailure, match=r"invalid_argument: cwd '/no/such/place' does not exist"):
        guest.run("/bin/pwd", process={"cwd": "/no/such/place"})


def test_what_cannot_run_is_the_callers_mistake(guest: Guest) -> None:
    for command in ("/no/such/program", "nosuchprogram", "/etc/passwd", "/etc"):
        with pytest.raises(RpcFailure) as failure:
            guest.run(command)
        assert failure.value.code == "invalid_argument" and command in failure.value.message
    with pytest.raises(RpcFailure, match="invalid_argument"):
        guest.run("")


def test_a_name_is_looked_up_in_the_path_it_is_given_past_what_cannot_run(guest: Guest, tmp_path: Path) -> None:
    for directory, mode in (("first", 0o644), ("second", 0o755)):
        program = tmp_path / directory / "greet"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\necho {directory}\n")
        program.chmod(mode)
    (tmp_path / "greet").mkdir()
    path = ":".join(str(tmp_path / each) for each in ("", "none", "first", "second"))
    assert guest.run("greet", process={"envs": {"PATH": path}}).stdout == "second\n"


def test_unknown_user(guest: Guest) -> None:
    with pytest.raises(RpcFailure) as failure:
        guest.run("/bin/true", headers={"Authorization": "Basic " + b64(b"nobody-here:")})
    assert (failure.value.code, failure.value.message) == ("unauthenticated", "invalid username: 'nobody-here'")


def test_stdin_is_null_unless_asked_for(guest: Guest) -> None:
    assert guest.run("/bin/cat").stdout == ""


def test_input_until_it_is_closed(guest: Guest) -> None:
    with guest.start("/bin/cat", stdin=True) as events:
        selector = {"pid": events.pid}
        guest.call("process.Process/SendInput", {"process": selector, "input": {"stdin": b64(b"hello ")}})
        assert events.read_until(b"hello ") == b"hello "
        guest.call("process.Process/SendInput", {"process": selector, "input": {"stdin": b64(b"world")}})
        guest.call("process.Process/CloseStdin", {"process": selector})
        with pytest.raises(RpcFailure) as failure:
            guest.call("process.Process/SendInput", {"process": selector, "input": {"stdin": b64(b"late")}})
        assert failure.value.code in ("internal", "not_found")
        assert events.finish().stdout == "world"


def test_input_larger_than_any_pipe(guest: Guest) -> None:
    content = os.urandom(3_000_000)
    with guest.start("/usr/bin/sha256sum", stdin=True) as events:
        selector = {"pid": events.pid}
        guest.call("process.Process/SendInput", {"process": selector, "input": {"stdin": b64(content)}})
        guest.call("process.Process/CloseStdin", {"process": selector})
        expected = subprocess.run(["/usr/bin/sha256sum"], input=content, capture_output=True, check=True).stdout
        assert events.finish().output["stdout"] == expected


def test_input_the_process_never_reads_ends_with_the_callers_patience(guest: Guest) -> None:
    with guest.start("/bin/sleep", "1000", stdin=True) as events:
        selector = {"pid": events.pid}
        with pytest.raises(RpcFailure, match="deadline_exceeded"):
            guest.call(
                "process.Process/SendInput",
                {"process": selector, "input": {"stdin": b64(bytes(1_000_000))}},
                **{"Connect-Timeout-Ms": "50"},
            )
        guest.call("process.Process/SendSignal", {"process": selector, "signal": "SIGNAL_SIGKILL"})
        assert events.finish().end["status"] == "signal: killed"


def test_streamed_input_is_taken_while_it_comes(guest: Guest) -> None:
    """Every envelope is echoed before the next is sent: the server reads while the request is open."""
    with guest.start("/bin/cat", stdin=True, tag="echo") as events:

        def requests():
            yield envelope({"start": {"process": {"tag": "echo"}}})
            for word in (b"one ", b"two ", b"three "):
                yield envelope({"data": {"input": {"stdin": b64(word)}}})
                assert events.read_until(word) == word
            yield envelope({"keepalive": {}})

        answer = httpx.post(
            f"http://127.0.0.1:{guest.port}/process.Process/StreamInput",
            content=requests(),
            headers={"Content-Type": STREAM},
            timeout=30,
        )
        assert list(messages(iter([answer.content]))) == [{}]
        guest.call("process.Process/CloseStdin", {"process": {"tag": "echo"}})
        assert events.finish().end["exitCode"] == 0


def test_list_shows_what_runs(guest: Guest, tmp_path: Path) -> None:
    with guest.start("/bin/sleep", "1000", tag="nap", process={"cwd": str(tmp_path), "envs": {"A": "b"}}) as events:
        listed = {entry["pid"]: entry for entry in guest.call("process.Process/List")["processes"]}
        config = {"cmd": "/bin/sleep", "args": ["1000"], "envs": {"A": "b"}, "cwd": str(tmp_path)}
        assert listed[events.pid] == {"pid": events.pid, "tag": "nap", "config": config}
        guest.call("process.Process/SendSignal", {"process": {"tag": "nap"}, "signal": "SIGNAL_SIGTERM"})
        assert events.finish().end["status"] == "signal: terminated"
    assert events.pid not in [entry["pid"] for entry in guest.call("process.Process/List")["processes"]]
    with pytest.raises(RpcFailure, match="not_found"):
        guest.call("process.Process/SendSignal", {"process": {"pid": events.pid}, "signal": "SIGNAL_SIGTERM"})


def test_the_deadline_kills_the_whole_tree(guest: Guest) -> None:
    with guest.start("/bin/sh", "-c", "sleep 1000 & echo $!; wait", headers={"Connect-Timeout-Ms": "5000"}) as events:
        child = int(events.read_until(b"\n"))
        with pytest.raises(RpcFailure, match="deadline_exceeded"):
            events.finish()
    wait_gone(child)
    wait_gone(events.pid)


def test_a_cut_connection_does_not_end_the_process(guest: Guest) -> None:
    with guest.start("/bin/sh", "-c", "read line; echo got $line", stdin=True) as events:
        pid = events.pid
    with guest.connect(pid) as events:
        guest.call("process.Process/SendInput", {"process": {"pid": pid}, "input": {"stdin": b64(b"it\n")}})
        assert events.finish().stdout == "got it\n"


def test_idle_streams_are_kept_alive(guest: Guest) -> None:
    message = {"process": {"cmd": "/bin/sleep", "args": ["1000"]}, "stdin": False}
    with guest.stream("process.Process/Start", message, **{"Keepalive-Ping-Interval": "1"}) as events:
        pid = next(events)["event"]["start"]["pid"]
        assert next(events) == {"event": {"keepalive": {}}}
    guest.call("process.Process/SendSignal", {"process": {"pid": pid}, "signal": "SIGNAL_SIGKILL"})


def test_commands_stand_before_the_agent_when_memory_runs_out(guest: Guest) -> None:
    with guest.start("/bin/sh", "-c", "read line; cat /proc/self/oom_score_adj; nice", stdin=True) as events:
        guest.call("process.Process/SendInput", {"process": {"pid": events.pid}, "input": {"stdin": b64(b"go\n")}})
        assert events.finish().stdout.split() == ["100", "0"]


def test_selectors_must_make_sense(guest: Guest) -> None:
    for process, code in (({"pid": 999999999}, "not_found"), ({"tag": "none"}, "not_found"), ({}, "invalid_argument")):
        with pytest.raises(RpcFailure, match=code):
            guest.call("process.Process/SendSignal", {"process": process, "signal": "SIGNAL_SIGTERM"})


def test_wrong_kinds_of_fields_are_named(guest: Guest) -> None:
    with (
        pytest.raises(RpcFailure, match="'args' must be a list of strings"),
        guest.stream("process.Process/Start", {"process": {"cmd": "/bin/true", "args": "x"}}) as events,
    ):
        next(events)
    with (
        pytest.raises(RpcFailure, match="'cmd' must be a string"),
        guest.stream("process.Process/Start", {"process": {"cmd": 7}}) as events,
    ):
        next(events)
