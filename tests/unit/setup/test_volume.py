from __future__ import annotations

from pathlib import Path

import pytest

from roost.setup.commands import Commands
from roost.setup.volume import GIB, SMALLEST_GB, DiskTooSmall, choose_size_gb, existing_parent, kernel_has_btrfs


def choose(home: Path, wanted_gb: int, free_gb: float, *, is_default: bool) -> int:
    return choose_size_gb(home, wanted_gb, is_default=is_default, free_bytes=int(free_gb * GIB))


def test_the_default_shrinks_to_the_disk(tmp_path: Path) -> None:
    assert choose(tmp_path, 50, 200, is_default=True) == 50
    assert choose(tmp_path, 50, 40, is_default=True) == 32
    assert choose(tmp_path, 50, SMALLEST_GB + 0.5, is_default=True) == SMALLEST_GB


def test_what_was_asked_for_is_had_or_refused(tmp_path: Path) -> None:
    assert choose(tmp_path, 50, 50, is_default=False) == 50
    assert choose(tmp_path, 4, 5, is_default=False) == 4
    with pytest.raises(DiskTooSmall) as refused:
        choose(tmp_path, 50, 40, is_default=False)
    assert refused.value.facts == {"folder": str(tmp_path), "needed_gb": 50, "free_gb": 40}
    assert "ROOST_VOLUME_SIZE_GB=32" in refused.value.message


def test_a_disk_too_small_for_any_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DiskTooSmall) as refused:
        choose(tmp_path, 50, 3, is_default=True)
    assert "Free some space" in refused.value.message
    assert "ROOST_VOLUME_SIZE_GB" not in refused.value.message


def test_nothing_is_made_to_measure_the_disk(tmp_path: Path) -> None:
    home = tmp_path / "not" / "there"
    assert existing_parent(home) == tmp_path
    with pytest.raises(DiskTooSmall):
        choose_size_gb(home, 10**9, is_default=False)
    assert list(tmp_path.iterdir()) == []


def test_a_kernel_with_btrfs_is_recognized(tmp_path: Path) -> None:
    table = tmp_path / "filesystems"
    table.write_text("nodev\tproc\n\text4\n\tbtrfs\n")
    assert kernel_has_btrfs(Commands(), table)


def test_a_kernel_without_btrfs_is_recognized(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A modprobe that loads nothing, so that the kernel of the machine under test is left alone.
    modprobe = tmp_path / "modprobe"
    modprobe.write_text("#!/bin/sh\nexit 1\n")
    modprobe.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    table = tmp_path / "filesystems"
    table.write_text("nodev\tproc\n\text4\n")
    assert not kernel_has_btrfs(Commands(), table)
