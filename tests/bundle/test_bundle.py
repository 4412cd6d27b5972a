"""A bundle sets Roost up where there is no network at all, and a sandbox of it lives, sleeps and wakes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.server import REPOSITORY, Server
from tests.real.test_leftovers import traces

WITHIN_S = 400.0  # a tenth of it, on a machine that does nothing else
ROOST = "opt/current/bin/roost"
# A machine's /sys tells of its own links. That of another network namespace would tell of the other's.
OWN_SYS = (
    "mkdir cgroup && mount --rbind /sys/fs/cgroup cgroup",
    "mount -t sysfs sysfs /sys && mount --rbind cgroup /sys/fs/cgroup",
    "umount --lazy cgroup && rmdir cgroup",
)


@pytest.fixture(scope="module")
def unpacked() -> Iterator[Path]:
    """Built from what the cache has, hardly compressed, and unpacked into a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="roost-bundle-", dir="/var/tmp") as folder:
        top = Path(folder).resolve()
        python = f"{sys.version_info.major}.{sys.version_info.minor}"
        options = ["--templates", "minimal", "--pythons", python, "--with-tools", "--preset", "0", "--into", top / "dist"]
        run([sys.executable, REPOSITORY / "scripts" / "bundle", *options])
        [archive] = (top / "dist").glob("*.tar")
        with tarfile.open(archive, "r:") as members:
            members.extractall(top, filter="tar")
        yield next(top.glob("roost-*"))


def run(words: list[str | Path], **options: object) -> str:
    done = subprocess.run(words, capture_output=True, text=True, timeout=WITHIN_S, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


def without_network(top: Path, *lines: str) -> str:
    """Runs the lines in a shell that reaches nothing but itself, with the environment of a bare machine."""
    environment = {
        "PATH": "/usr/sbin:/usr/bin:/bin",
        "HOME": str(top / "nobody"),
        "PYTHON": sys._base_executable,  # pyright: ignore[reportAttributeAccessIssue]
        "ROOST_HOME": str(top / "home"),
        "ROOST_CACHE": str(top / "cache"),
        "ROOST_VOLUME_SIZE_GB": "8",
    }
    script = "\n".join(["set -eu", "ip link set lo up", *OWN_SYS, *lines])
    # What runs in it ends with it, also when a line fails or the time is over.
    unshared = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private"]
    return run([*unshared, "sh", "-c", script], cwd=top, env=environment)


def test_it_is_installed_serves_sleeps_wakes_and_leaves_nothing(unpacked: Path) -> None:
    top = unpacked.parent
    said = without_network(
        top,
        f"{unpacked}/install --prefix {top}/opt --bin {top}/bin",
        f"{top}/bin/roost up --detach --json",
        f"cd {top}",
        f"{ROOST} create --name demo >/dev/null",
        f"{ROOST} exec demo -- sh -c 'echo kept > note; sleep 1000 </dev/null >/dev/null 2>&1 & echo started'",
        f"{ROOST} pause demo >/dev/null; {ROOST} resume demo >/dev/null",
        f"{ROOST} exec demo -- sh -c 'cat note; pgrep -c sleep'",
        f"{ROOST} kill demo >/dev/null; {ROOST} down --all >/dev/null",
    )
    assert said.splitlines()[1:] == ["started", "kept", "1"]
    assert traces(Server(top / "home")) == []
    assert json.loads((unpacked / "bundle.json").read_text())["templates"] == ["base=minimal"]
    assert 'templates = ["base=minimal"]' in (top / "home" / "roost.toml").read_text(), "the next start fetches nothing either"
    assert str((top / "bin" / "roost").readlink()) == str(top / ROOST)


def test_the_tools_it_brings_need_nothing_of_the_machine(unpacked: Path) -> None:
    top = unpacked.parent
    tools = top / "tools"
    with tarfile.open(unpacked / "parts" / "tools.tar.xz") as members:
        members.extractall(tools, filter="tar")
    disk = tools / "disk"
    with disk.open("wb") as sparse:
        os.truncate(sparse.fileno(), 256 << 20)
    nothing = {"env": {}, "cwd": "/"}
    assert "btrfs-progs" in run([tools / "bin" / "btrfs", "--version"], **nothing)
    run([tools / "bin" / "mkfs.btrfs", "--quiet", disk], **nothing)
    run([tools / "bin" / "btrfs", "check", disk], **nothing)
    ruleset = "table ip roost_test { chain out { type filter hook output priority 0; ip daddr 192.0.2.1 drop; }; }"
    run(["unshare", "--net", tools / "bin" / "nft", "--file", "-"], input=ruleset, **nothing)


def test_a_bundle_that_was_damaged_on_the_way_installs_nothing(unpacked: Path) -> None:
    part = unpacked / "parts" / "engine.tar.xz"
    whole = part.read_bytes()
    part.write_bytes(whole[:-1])
    try:
        done = subprocess.run([unpacked / "install", "--prefix", unpacked.parent / "refused"], capture_output=True, text=True)
    finally:
        part.write_bytes(whole)
    assert done.returncode == 1
    assert "parts/engine.tar.xz is not what was packed" in done.stderr
    assert not (unpacked.parent / "refused").exists()
