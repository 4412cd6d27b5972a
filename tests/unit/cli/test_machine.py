"""The server on this machine, as `up`, `down` and `status` see it: told by its lock, not by what a dead one left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from roost.cli.main import run
from roost.cli.server.machine import require_running, stop
from roost.cli.server.up import greet, warn_of_exposure
from roost.domain.errors import TimedOut, Unavailable
from roost.settings import Settings
from roost.setup.running import find_running, hold_home, is_locked

SERVER = """
import fcntl, json, os, pathlib, signal, sys
home = pathlib.Path(sys.argv[1])
lock = (home / "lock").open("ab")
fcntl.flock(lock, fcntl.LOCK_EX)
(home / "server.json").write_text(json.dumps({"url": "http://127.0.0.1:9", "pid": os.getpid()}))
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
print("ready", flush=True)
if sys.argv[2] == "stubborn":
    sys.stdin.read()
signal.sigwait([signal.SIGTERM])
"""


@contextmanager
def server_on(home: Path, manner: str = "polite") -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, str(home), manner], stdout=subprocess.PIPE, stdin=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        try:
            yield process
        finally:
            process.kill()


def test_a_server_is_found_by_its_lock(tmp_path: Path) -> None:
    assert find_running(tmp_path) is None
    with server_on(tmp_path) as process:
        running = find_running(tmp_path)
        assert running is not None
        assert (running.pid, running.url) == (process.pid, "http://127.0.0.1:9")
        stop(running)
        assert process.wait(60) == 0
    assert not is_locked(tmp_path)


def test_what_a_dead_server_left_counts_for_nothing(tmp_path: Path) -> None:
    (tmp_path / "lock").touch()
    (tmp_path / "server.json").write_text(json.dumps({"url": "http://127.0.0.1:9", "pid": os.getpid()}))
    assert find_running(tmp_path) is None
    with pytest.raises(Unavailable, match="roost up"):
        require_running(tmp_path)


@pytest.mark.parametrize("words", [["down"], ["down", "--all"]])
def test_a_server_that_is_starting_is_not_mistaken_for_the_one_before(
    tmp_path: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The one before was killed, and its number is somebody else's by now."""
    with subprocess.Popen(["sleep", "1000"]) as stranger:
        (tmp_path / "server.json").write_text(json.dumps({"url": "http://127.0.0.1:9", "pid": stranger.pid}))
        try:
            with hold_home(tmp_path):
                assert find_running(tmp_path) is None
                assert run([*words, "--home", str(tmp_path)]) == 1
            assert stranger.poll() is None
        finally:
            stranger.kill()
    assert "just starting" in capsys.readouterr().err


def test_a_server_that_does_not_end_is_told(tmp_path: Path) -> None:
    with server_on(tmp_path, "stubborn"):
        running = require_running(tmp_path)
        with pytest.raises(TimedOut, match=str(running.pid)):
            stop(running, patience_s=0.01)


def test_a_second_server_on_a_home_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with server_on(tmp_path) as process:
        assert run(["up", "--home", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert f"pid {process.pid}" in said
    assert "roost down" in said


def test_down_ends_the_server_and_says_so_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with server_on(tmp_path) as process:
        assert run(["down", "--home", str(tmp_path)]) == 0
        assert process.wait(60) == 0
    assert "sandboxes live on" in capsys.readouterr().out
    assert run(["down", "--home", str(tmp_path)]) == 0
    assert "No server runs" in capsys.readouterr().err
    assert run(["down", "--all", "--home", str(tmp_path)]) == 0
    capsys.readouterr()
    assert run(["down", "--json", "--home", str(tmp_path)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {"home": str(tmp_path), "ended": False, "unmounted": False, "asleep": []}


def test_the_greeting_says_what_to_try(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    greet(Settings.load(home=tmp_path), "http://127.0.0.1:4700", "e2b_key")
    said = capsys.readouterr().out
    assert "http://127.0.0.1:4700" in said
    assert "e2b_key" in said
    assert f"export ROOST_HOME={tmp_path}" in said
    assert said.count(" create ") == said.count(" exec ") == 1
    assert "every other address" not in said


def test_a_server_for_others_says_so_and_warns_without_tls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = Settings.load(home=tmp_path, host="0.0.0.0", port=4701)
    greet(settings, "http://127.0.0.1:4701", "e2b_key")
    assert "http://127.0.0.1:4701 and every other address of this machine" in capsys.readouterr().out
    warn_of_exposure(settings)
    told = capsys.readouterr()
    assert told.out == "", "whoever reads --json is not disturbed"
    assert "WARNING: Roost listens on 0.0.0.0:4701" in told.err and "--tls" in told.err


@pytest.mark.parametrize(
    ("host", "tls", "is_exposed"),
    [
        ("127.0.0.1", False, False),
        ("127.8.8.8", False, False),
        ("::1", False, False),
        ("localhost", False, False),
        ("0.0.0.0", False, True),
        ("::", False, True),
        ("192.168.1.5", False, True),
        ("box.example", False, True),
        ("0.0.0.0", True, False),
    ],
)
def test_who_can_read_what_passes(tmp_path: Path, host: str, *, tls: bool, is_exposed: bool) -> None:
    assert Settings.load(home=tmp_path, host=host, tls=tls).is_exposed is is_exposed
