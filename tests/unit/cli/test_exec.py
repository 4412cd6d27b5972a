from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

from .server import Server


def test_output_and_exit_code_are_passed_through(server: Server, sandbox: str) -> None:
    ran = server.cli("exec", sandbox, "--", "sh", "-c", "printf 'a\\377b'; printf oops >&2; exit 7")
    assert (ran.returncode, ran.stdout, ran.stderr) == (7, b"a\xffb", b"oops")


def test_one_word_is_a_shells_line_and_several_are_passed_as_they_are(server: Server, sandbox: str) -> None:
    assert server.cli("exec", sandbox, "echo $((6 * 7)) | tr 4 5").stdout == b"52\n"
    assert server.cli("exec", sandbox, "--", "printf", "%s|", "a b", "$HOME", "").stdout == b"a b|$HOME||"


def test_options_of_the_command_are_the_commands(server: Server, sandbox: str) -> None:
    ran = server.cli("exec", "--env", "A=1", sandbox, "-e", "B=2", "sh", "-c", 'echo "$A $B $0 $1"', "--user", "-i")
    assert ran.stdout == b"1 2 --user -i\n", ran.stderr


def test_it_runs_where_it_is_told(server: Server, sandbox: str) -> None:
    assert server.cli("exec", "--cwd", "/", sandbox, "pwd").stdout == b"/\n"


def test_a_signal_is_told_as_shells_do(server: Server, sandbox: str) -> None:
    assert server.cli("exec", sandbox, "kill -KILL $$").returncode == 128 + signal.SIGKILL


def test_what_cannot_start_is_an_error_of_ours(server: Server, sandbox: str) -> None:
    ran = server.cli("exec", sandbox, "--", "/no/such/program", "x")
    assert ran.returncode == 1
    assert ran.stderr.startswith(b"roost: ")
    assert ran.stdout == b""
    ran = server.cli("exec", "nobody", "--", "true")
    assert ran.returncode == 1
    assert b"There is no sandbox 'nobody'" in ran.stderr


def test_a_command_that_takes_too_long_is_killed(server: Server, sandbox: str) -> None:
    ran = server.cli("exec", "--timeout", "0.2s", sandbox, "--", "sleep", "30")
    assert ran.returncode == 1
    assert ran.stderr.startswith(b"roost: ")


def test_stdin_is_passed_on_when_asked_for(server: Server, sandbox: str) -> None:
    data = os.urandom(3_000_000)
    ran = server.cli("exec", "-i", sandbox, "--", "cat", "-", input=data)
    assert ran.returncode == 0
    assert ran.stdout == data
    assert server.cli("exec", sandbox, "--", "wc", "-c", input=b"not passed on").stdout.strip() == b"0"


def test_a_command_that_reads_only_some_input_is_well(server: Server, sandbox: str) -> None:
    ran = server.cli("exec", "-i", sandbox, "--", "head", "-c", "4", input=b"abcdefgh" * 500_000)
    assert (ran.returncode, ran.stdout) == (0, b"abcd")


def test_a_cut_connection_loses_and_repeats_nothing(server: Server, sandbox: str) -> None:
    server.router.cut_after_bytes += [0, 30, 5_000, 100_000, 1_000_000]
    ran = server.cli("exec", sandbox, "--", "sh", "-c", "seq 1 300000; echo end >&2; exit 3")
    assert ran.returncode == 3, ran.stderr
    assert ran.stdout == b"".join(b"%d\n" % number for number in range(1, 300001))
    assert ran.stderr == b"end\n"
    assert server.router.cut_after_bytes == []


def test_a_command_is_left_running_and_found_again(server: Server, sandbox: str, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    script = f"echo before; : '\x1b[2J'\nwhile [ ! -e {gate} ]; do sleep 0.05; done; echo after; exit 5"
    started = server.cli("exec", "--detach", "--json", sandbox, "--", "sh", "-c", script)
    pid = json.loads(started.stdout)["pid"]
    listed = server.cli("logs", sandbox).stdout
    assert f"running {pid}".encode() in listed.splitlines()[-1], "a script is one line"
    assert b"\x1b" not in listed, "what runs inside does not steer the terminal outside"
    gate.touch()
    followed = server.cli("attach", sandbox, str(pid))
    assert (followed.returncode, followed.stdout) == (5, b"before\nafter\n")
    assert server.cli("attach", "--live", sandbox, str(pid)).returncode == 5
    collected = server.cli("attach", "--json", sandbox, str(pid))
    assert json.loads(collected.stdout) == {"exit_code": 5, "stdout": "before\nafter\n", "stderr": ""}


def test_json_collects_the_result(server: Server, sandbox: str) -> None:
    ran = server.cli("exec", "--json", sandbox, "echo out; echo err >&2; exit 4")
    assert ran.returncode == 4
    assert json.loads(ran.stdout) == {"exit_code": 4, "stdout": "out\n", "stderr": "err\n"}


def _interrupt_when(server: Server, word: bytes, *command: str, times: int = 1) -> tuple[int, bytes, bytes]:
    process = subprocess.Popen(
        [sys.executable, "-m", "roost.cli.main", "exec", "ada", "--", *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=server.env,
    )
    assert process.stdout is not None
    seen = b""
    for _ in range(times):
        while word not in seen:
            assert select.select([process.stdout], [], [], 30)[0]
            seen += os.read(process.stdout.fileno(), 1000)
        seen = seen.replace(word, b"", 1)
        process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=30)
    return process.returncode, seen + out, error


def test_an_interrupt_goes_to_the_command(server: Server, sandbox: str) -> None:
    code, out, _ = _interrupt_when(
        server, b"ready", "sh", "-c", "trap 'echo caught; exit 9' INT; echo ready; while :; do sleep 0.1; done"
    )
    assert (code, out.strip()) == (9, b"caught")


def test_a_second_interrupt_detaches_and_the_command_goes_on(server: Server, sandbox: str) -> None:
    script = "trap 'echo again' INT; echo again; while :; do sleep 0.1; done"
    code, _, error = _interrupt_when(server, b"again", "sh", "-c", script, times=2)
    assert code == 130
    pid = error.split(b"process ")[1].split()[0]
    os.kill(int(pid), 0)  # the agent runs on this machine: so does its process
    assert server.cli("exec", sandbox, f"kill -KILL {int(pid)}").returncode == 0


def test_a_reader_that_goes_away_ends_the_command(server: Server, sandbox: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "roost.cli.main", "exec", sandbox, "--", "yes"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=server.env,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.read(4) == b"y\ny\n"
        process.stdout.close()
        error = process.stderr.read()
        assert (process.wait(30), error) == (141, b"")
    deadline = time.monotonic() + 60
    while b"yes" in server.cli("logs", sandbox).stdout:
        assert time.monotonic() < deadline
