from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from roost.setup.prewarmer import prewarmer

PLACES = "while read name count; do [ $name = FDSize: ] && echo $count; done < /proc/self/status"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    code = prewarmer(os.uname().machine)
    if code is None:
        pytest.skip("there is none for this machine")
    path = tmp_path / "prewarmer"
    path.write_bytes(code)
    path.chmod(0o755)
    return path


def run(*words: str | Path, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, env=environment or {}, capture_output=True, text=True, check=False, timeout=30)


def test_it_becomes_the_program_with_arguments_and_environment(program: Path) -> None:
    done = run(program, "/bin/sh", "sandbox", "-c", 'echo "$0 $1 $COLOUR"', "zero", "one", environment={"COLOUR": "blue"})
    assert (done.returncode, done.stdout) == (0, "zero one blue\n")


def test_there_is_room_for_256_descriptors_and_none_is_left_open(program: Path) -> None:
    # As children of a shell: they do not have the table of this process, which may be large already.
    both = run("/bin/sh", "-c", f"/bin/sh -c '{PLACES}'; {program} /bin/sh sh -c '{PLACES}'; :")
    before, after = map(int, both.stdout.split())
    assert before < 256, "or this test would show nothing"
    assert after == 256
    assert run(program, "/bin/ls", "ls", "/proc/self/fd").stdout == run("/bin/ls", "/proc/self/fd").stdout


@pytest.mark.parametrize("words", [(), ("/no/such/program", "x")])
def test_what_cannot_be_started_is_told_by_the_exit_code(program: Path, words: tuple[str, ...]) -> None:
    assert run(program, *words).returncode == 127


def test_other_machines_have_none() -> None:
    assert prewarmer("aarch64") is None
