"""A whole life of a server leaves nothing on the machine but its home, and that only until it is deleted."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.settings import RUN
from tests.real.server import REPOSITORY, Server, eventually, ranges_of, said


def traces(server: Server) -> list[str]:
    """Everything on this machine that bears the instance's name or its home's."""
    instance, home = server.instance, str(server.home)
    found = [f"namespace {path.name}" for path in Path("/run/netns").glob(f"roost-{instance}-*")]
    found += [f"link {path.name}" for path in Path("/sys/class/net").glob(f"r{instance}w*")]
    found += [
        f"mount {line}" for line in Path("/proc/self/mountinfo").read_text().splitlines() if home in line or instance in line
    ]
    # Not by a glob: that breaks when another Roost's group goes away while it is looked into.
    found += [f"cgroup {folder}" for folder, *_ in os.walk("/sys/fs/cgroup") if Path(folder).name == f"roost-{instance}"]
    found += [f"loop device {line}" for line in _output("losetup", "--list", "--noheadings").splitlines() if home in line]
    found += [f"firewall {line}" for line in _output("nft", "list", "tables").splitlines() if instance in line]
    found += [f"address {line}" for line in _output("ip", "-o", "address").splitlines() if f"lo:r{instance}" in line]
    found += [f"directory {path}" for path in RUN.glob(instance)]
    found += [f"range {name}" for name in ranges_of(instance)]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
        except OSError:
            continue
        if (home in words or f"/run/roost/{instance}" in words) and int(process.name) != os.getpid():
            found.append(f"process {process.name} {words}")
    return found


def _output(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def roost(server: Server, *words: str) -> None:
    """The command, as somebody at the machine would type it."""
    environment = {**os.environ, "ROOST_HOME": str(server.home)}
    done = subprocess.run(
        [sys.executable, "-m", "roost.cli.main", *words],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"roost {' '.join(words)}: {done.stdout}{done.stderr}"


@pytest.fixture
def resident() -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="roost-") as folder:
        yield Server(Path(folder).resolve() / "home")


def test_down_with_everything_leaves_a_home_and_nothing_else(resident: Server) -> None:
    """Sandboxes that run, sleep, were forked, were killed, and a server that was killed with them: all gone with `down --all`,
    and all back with the next `up`."""
    resident.start()
    try:
        runs, sleeps = resident.roost.create(name="runs"), resident.roost.create(name="sleeps")
        said(runs, "echo safe > mark; echo safe > /dev/shm/mark")
        sleeps.pause()
        (child,), _ = runs.fork()
        child.kill()
        resident.restart()
        assert traces(resident), "what is looked for can be found"
        roost(resident, "down", "--all")
        resident.wait_until_ended()
        eventually(lambda: _check_nothing_left(resident))

        resident.start()
        runs = resident.roost.get("runs")
        assert runs.record.state == "paused"
        runs.resume()
        assert said(runs, "cat mark /dev/shm/mark") == "safe\nsafe"
        # The slots of those asleep went with everything else, and others have their numbers now.
        newcomers = [resident.roost.create() for _ in range(3)]
        resident.roost.get("sleeps").kill()
        assert [said(sandbox, "echo here") for sandbox in (runs, *newcomers)] == ["here"] * 4
    finally:
        resident.clear()
    eventually(lambda: _check_nothing_left(resident))


def _check_nothing_left(server: Server) -> None:
    left = traces(server)
    assert not left, "\n".join(left)
