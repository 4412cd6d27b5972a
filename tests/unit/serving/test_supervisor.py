"""A first process and two roles, real processes all: started, killed, started again, ended in order."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from roost.domain.errors import Conflict
from roost.setup.running import hold_home, is_ending, is_held, is_locked
from tests.real.server import eventually

REPOSITORY = Path(__file__).parents[3]
PATIENCE_S = 60.0


@dataclass
class First:
    process: subprocess.Popen[bytes]
    home: Path

    def hears(self) -> dict[str, Any]:
        """The next thing it says."""
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE_S)
        assert ready, "it says nothing"
        return json.loads(self.process.stdout.readline())

    def log(self) -> str:
        return (self.home / "log").read_text()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[], First]]:
    started: list[First] = []

    def start() -> First:
        with (tmp_path / "log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.unit.serving.first", str(tmp_path)],
                cwd=REPOSITORY,
                stdout=subprocess.PIPE,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )
        started.append(First(process, tmp_path))
        return started[-1]

    yield start
    for first in started:
        first.process.kill()
        first.process.wait()
        assert first.process.stdout is not None
        first.process.stdout.close()


def wait_gone(pid: int) -> None:
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([handle], [], [], PATIENCE_S)[0], f"{pid} lives on"
    finally:
        os.close(handle)


def test_it_tells_what_all_roles_told_and_ends_them_the_last_first(start: Callable[[], First]) -> None:
    first = start()
    pids = first.hears()
    assert set(pids) == {"node", "control"} and is_locked(first.home)
    first.process.send_signal(signal.SIGTERM)
    assert first.process.wait(PATIENCE_S) == 0
    assert (first.home / "ended").read_text().split() == ["control", "node"]
    assert not is_locked(first.home)


def test_a_role_that_is_killed_is_started_again_and_the_other_lives_on(start: Callable[[], First]) -> None:
    first = start()
    pids = first.hears()
    for times in (1, 2):
        os.kill(pids["node"], signal.SIGKILL)
        changed = first.hears()
        assert changed["node"][1] == times and changed["control"] == [pids["control"], 0]
        pids["node"] = changed["node"][0]
    assert "SIGKILL" in first.log() and "node" in first.log()


def test_one_that_cannot_start_again_is_tried_again_and_says_why(start: Callable[[], First]) -> None:
    first = start()
    pids = first.hears()
    (first.home / "node").write_text("refuse")
    os.kill(pids["node"], signal.SIGKILL)

    def said_why() -> None:
        assert "The port is taken." in first.log()

    eventually(said_why)
    (first.home / "node").unlink()
    changed = first.hears()
    assert changed["node"][1] >= 2 and changed["control"] == [pids["control"], 0]


@pytest.mark.parametrize(
    ("way", "words"), [("refuse", "The port is taken."), ("break", "ZeroDivisionError"), ("die", "by SIGKILL while it started")]
)
def test_one_that_cannot_start_at_all_ends_the_server(start: Callable[[], First], tmp_path: Path, way: str, words: str) -> None:
    (tmp_path / "control").write_text(way)
    first = start()
    assert words in first.hears()["error"]
    assert first.process.wait(PATIENCE_S) == 0
    assert not is_locked(tmp_path)


def test_all_end_with_the_first_and_the_next_waits_for_them(start: Callable[[], First]) -> None:
    first = start()
    pids = first.hears()
    with pytest.raises(Conflict), hold_home(first.home):
        pass
    first.process.kill()
    first.process.wait()
    second = start()  # at once: it waits for what the first left
    again = second.hears()
    assert set(again) == {"node", "control"}
    for pid in pids.values():
        wait_gone(pid)


def test_a_home_is_held_by_what_lives_and_not_by_what_a_killed_one_left(tmp_path: Path) -> None:
    assert not is_held(tmp_path)
    with hold_home(tmp_path):
        assert is_held(tmp_path) and not is_ending(tmp_path)
    assert not is_held(tmp_path)
