"""The volume's file is one disk, however often it is unmounted and mounted."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from roost.archive.keys import SnapshotPaths
from roost.domain.errors import Conflict, Fault, NodeFull, Unavailable
from roost.node.storage.imports import import_root
from roost.setup.commands import Commands
from roost.setup.volume import SMALLEST_GB, ensure_volume, held, unmount_volume
from tests.real.server import eventually, unmount


@pytest.fixture
def home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="roost-test-", dir="/var/tmp") as folder:
        path = Path(folder)
        yield path
        unmount(path)
        eventually(lambda: _check_none(path))


def devices(home: Path) -> list[str]:
    words = ("losetup", "--list", "--noheadings", "--output", "NAME", "--associated", str(home / "volume.btrfs"))
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()


def _check_none(home: Path) -> None:
    assert devices(home) == []


@contextmanager
def bystander() -> Iterator[None]:
    """Somebody with mounts of their own, a copy of ours, for as long as it lasts."""
    words = ("unshare", "--mount", "--propagation", "private", "sh", "-c", "echo here; read _")
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == b"here\n"
        yield
        process.stdin.close()


def test_a_volume_that_somebody_else_still_has_mounted_is_not_mounted_from_a_second_device(home: Path) -> None:
    volume = ensure_volume(home, SMALLEST_GB, Commands(), is_default=False)
    (volume.path / "before").touch()
    with bystander():
        unmount(home)
        assert len(devices(home)) == 1, "the kernel keeps what somebody has mounted"
        ensure_volume(home, SMALLEST_GB, Commands(), is_default=False)
        assert len(devices(home)) == 1
        (volume.path / "after").touch()
    unmount(home)
    eventually(lambda: _check_none(home))
    ensure_volume(home, SMALLEST_GB, Commands(), is_default=False)
    assert {path.name for path in volume.path.iterdir()} == {"before", "after"}


def test_a_device_that_a_killed_set_up_left_is_used(home: Path) -> None:
    ensure_volume(home, SMALLEST_GB, Commands(), is_default=False)
    unmount(home)
    eventually(lambda: _check_none(home))
    subprocess.run(("losetup", "--find", home / "volume.btrfs"), check=True)
    left = devices(home)
    ensure_volume(home, SMALLEST_GB, Commands(), is_default=False)
    assert devices(home) == left


def test_a_volume_that_is_in_use_stays_mounted(home: Path) -> None:
    """Also when no sandbox runs, and nothing on it is open."""
    volume = ensure_volume(home, SMALLEST_GB, Commands(), is_default=False)
    with held(volume), pytest.raises(Conflict, match="still in use"):
        unmount_volume(home, Commands())
    unmount(home)
    with pytest.raises(Unavailable, match="unmounted just when"), held(volume):
        pass


@pytest.fixture
def small_volume(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for very little."""
    image, mounted = tmp_path / "image", tmp_path / "mounted"
    with image.open("wb") as file:
        file.truncate(256 << 20)
    subprocess.run(("mkfs.btrfs", "--quiet", image), check=True)
    mounted.mkdir()
    subprocess.run(("mount", "-o", "loop", image, mounted), check=True)
    yield mounted
    subprocess.run(("umount", mounted), check=True)


def test_an_archive_that_does_not_fit_is_told_from_one_that_is_broken(
    small_volume: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever language tar speaks."""
    (tmp_path / "content").write_bytes(bytes(300 << 20))
    archive, broken = tmp_path / "large.tar", tmp_path / "broken.tar"
    subprocess.run(("tar", "--create", f"--file={archive}", f"--directory={tmp_path}", "content"), check=True)
    broken.write_bytes(b"no archive" * 1000)
    german = tmp_path / "bin" / "tar"
    german.parent.mkdir()
    german.write_text('#!/bin/sh\nPATH=/usr/bin:/bin tar "$@" 2>/dev/null || { echo "tar: Kein Platz" >&2; exit 2; }\n')
    german.chmod(0o755)
    monkeypatch.setenv("PATH", f"{german.parent}:/usr/sbin:/usr/bin:/sbin:/bin")
    with pytest.raises(Fault, match="could not be extracted"):
        import_root(SnapshotPaths(small_volume / "snapshots" / "s1"), broken, "broken", 0.0)
    with pytest.raises(NodeFull):
        import_root(SnapshotPaths(small_volume / "snapshots" / "s2"), archive, "large", 0.0)
