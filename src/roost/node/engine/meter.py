"""Meter readings: files of the kernel, on cgroup v1 and v2. No process is spawned."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from roost.domain.ids import SandboxId
from roost.node.storage.subvolumes import group_file, quota_group

CGROUPS = Path("/sys/fs/cgroup")
_PROBE_BYTES = 64 << 20


class Meter:
    def __init__(self, *, volume: Path, cgroups: Path = CGROUPS) -> None:
        self._cgroups = cgroups
        self._unified = (cgroups / "cgroup.controllers").exists()
        self._volume = volume
        self._group_files: dict[SandboxId, Path] = {}

    def cpu_s(self, cgroup: str) -> float:
        if self._unified:
            for line in _text(self._cgroups / cgroup.lstrip("/") / "cpu.stat").splitlines():
                if line.startswith("usage_usec "):
                    return int(line.split()[1]) / 1e6
            return 0.0
        return _number(self._cgroups / "cpuacct" / cgroup.lstrip("/") / "cpuacct.usage") / 1e9

    def memory_bytes(self, cgroup: str) -> int:
        if self._unified:
            return _number(self._cgroups / cgroup.lstrip("/") / "memory.current")
        return _number(self._cgroups / "memory" / cgroup.lstrip("/") / "memory.usage_in_bytes")

    def held_bytes(self, cgroup: str) -> int:
        """Without the cache of files, which gives way by itself."""
        folder = self._cgroups / cgroup.lstrip("/") if self._unified else self._cgroups / "memory" / cgroup.lstrip("/")
        return max(0, self.memory_bytes(cgroup) - cache_bytes(memory_stat(folder)))

    def disk_bytes(self, sandbox: SandboxId) -> int:
        """What the sandbox wrote beyond the template it is a clone of. Zero where quotas are off."""
        if sandbox not in self._group_files:
            self._group_files[sandbox] = group_file(self._volume, quota_group(sandbox))
        return _number(self._group_files[sandbox])

    def forget(self, sandbox: SandboxId) -> None:
        self._group_files.pop(sandbox, None)

    def remove_cgroup(self, cgroup: str) -> bool:
        """The engine removes it with the container; after a crash of the engine somebody must. May be called twice. False when
        it is still there, because processes in it have not ended yet."""
        roots = [self._cgroups] if self._unified else [path for path in self._cgroups.iterdir() if path.is_dir()]
        for root in roots:
            try:
                (root / cgroup.lstrip("/")).rmdir()
            except OSError as error:
                if error.errno == errno.EBUSY:
                    return False  # nor is it free elsewhere
        return True

    def sweep_cgroups(self, parent: str, keep: Collection[str]) -> None:
        """Those below `parent` that belong to none of `keep` and hold no process are gone. Blocks for a moment."""
        roots = [self._cgroups] if self._unified else [path for path in self._cgroups.iterdir() if path.is_dir()]
        for root in roots:
            with suppress(OSError):
                for name in {entry.name for entry in (root / parent).iterdir() if entry.is_dir()} - set(keep):
                    with suppress(OSError):
                        (root / parent / name).rmdir()


def memory_stat(folder: Path) -> dict[str, int]:
    """Figures of a cgroup's memory; none of one that is gone."""
    lines = _text(folder / "memory.stat").splitlines()
    return {name: int(figure) for name, _, figure in (line.partition(" ") for line in lines)}


def cache_bytes(stat: Mapping[str, int]) -> int:
    """What gives way when memory is needed."""
    return stat.get("inactive_file", 0) + stat.get("active_file", 0) + stat.get("slab_reclaimable", 0)


def memory_free_bytes() -> int:
    for line in _text(Path("/proc/meminfo")).splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    return 0


def memory_total_bytes() -> int:
    for line in _text(Path("/proc/meminfo")).splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) << 10
    return 0


def disk_space(volume: Path) -> tuple[int, int]:
    """Free and total bytes of the volume, bounded by what the disk under a sparse loop file really has."""
    inside = os.statvfs(volume)
    free, total = inside.f_bavail * inside.f_frsize, inside.f_blocks * inside.f_frsize
    loop_file = volume.parent / "volume.btrfs"
    if loop_file.exists():
        outside = os.statvfs(loop_file)
        free = min(free, outside.f_bavail * outside.f_frsize)
    return free, total


def is_full(volume: Path, folder: Path) -> bool:
    """Whether what just failed to be written into a folder of the volume failed for want of room. Found out by trying again:
    programs say why they failed in words of their own, and in the language of whoever started them."""
    free, _ = disk_space(volume)
    if free < _PROBE_BYTES:
        return True
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            os.posix_fallocate(probe.fileno(), 0, _PROBE_BYTES)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        raise
    return False


def cpu_features() -> frozenset[str]:
    """What the guest can see of the processor."""
    for line in _text(Path("/proc/cpuinfo")).splitlines():
        if line.startswith(("flags", "Features")):
            return frozenset(line.partition(":")[2].split())
    return frozenset()


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def _number(path: Path) -> int:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return 0
