"""The place on the host from which something can be attached to a sandbox while it runs.

Every spec has one mount for it (`bundle.VOLUMES_MOUNT`): a directory of the container, empty until something is mounted below
it, on the host, which is then there inside at once. All these directories are on one mount of the instance, shared with the
engine's processes and read-only: what is attached can be written to, the host's own memory under it cannot. Blocking.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

import structlog

_MS_READ_ONLY, _MS_REMOUNT, _MS_BIND, _MS_SHARED = 1, 32, 4096, 1 << 20
_MNT_DETACH = 2

_libc = ctypes.CDLL(None, use_errno=True)

log = structlog.get_logger(__name__)


class Attachments:
    def __init__(self, directory: Path) -> None:
        """`directory` must be on a filesystem that a reboot empties."""
        self._made = directory / "made"  # where directories are made
        self._shared = directory / "shared"  # where containers see them

    def open(self) -> None:
        """Mounted. May be repeated; what an earlier server mounted is taken up: sandboxes hold on to it."""
        for folder in (self._made, self._shared):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_mounted(self._shared):
            _mount(self._made, self._shared, _MS_BIND)
            _mount(None, self._shared, _MS_REMOUNT | _MS_BIND | _MS_READ_ONLY)
            _mount(None, self._shared, _MS_SHARED)

    def make(self, container: str) -> Path:
        """The container's directory, for its spec. May be repeated."""
        (self._made / container).mkdir(mode=0o755, exist_ok=True)
        return self._shared / container

    def remove(self, container: str) -> None:
        """May be repeated. Nothing may be attached to it any more."""
        with suppress(FileNotFoundError):
            (self._made / container).rmdir()

    def sweep(self, keep: Collection[str]) -> None:
        """Only the directories of these containers are left."""
        for name in {entry.name for entry in self._made.iterdir()} - set(keep):
            try:
                self.remove(name)
            except OSError as error:
                log.error("something is still attached to a container that is gone", container=name, error=str(error))

    def close(self) -> None:
        """Nothing of it is left. May be repeated, and called where nothing was ever opened. Only when no container is left."""
        while _libc.umount2(os.fsencode(self._shared), _MNT_DETACH) == 0:
            continue
        if self._made.exists():
            self.sweep(())
        for folder in (self._made, self._shared, self._shared.parent):
            with suppress(OSError):
                folder.rmdir()


def _mount(source: Path | None, target: Path, flags: int) -> None:
    if _libc.mount(os.fsencode(source or "none"), os.fsencode(target), b"none", flags, None) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"could not mount {target}: {os.strerror(number)}")


def _is_mounted(path: Path) -> bool:
    # Not by comparing devices: a directory that is mounted elsewhere on the same filesystem has the same one.
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return any(line.split()[4] == str(path) for line in lines)
