"""What this node has read and proven of snapshots, and need not read again: manifests, specs, and that memory images are whole.

A snapshot is written once and cloned many times. So its images are hashed for the first clone after a start of the node, and
again when a file is not the one it was: its inode, size or time of change differs. Nothing can write to a file without changing
that time, and what a disk corrupts below it is refused by the checksums of btrfs. A sandbox's own sleep is another matter: it
is read once, after any length of time, and hashed whenever it wakes.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

import anyio
from anyio import to_thread

from roost.archive import manifest as manifests
from roost.archive.keys import SPEC, VolumePaths
from roost.archive.manifest import Manifest
from roost.domain.errors import SnapshotDamaged, SnapshotNotFound
from roost.domain.ids import SnapshotId
from roost.node.engine.bundle import Spec

T = TypeVar("T")

KEPT = 1024  # of each kind, the last ones used

FileIdentity = tuple[int, int, int, int]


class Images:
    """Blocking, but for `prove`; to be used from several threads."""

    def __init__(self, volume: VolumePaths) -> None:
        self._volume = volume
        self._manifests: _Known[Manifest] = _Known()
        self._specs: _Known[Spec] = _Known()
        self._whole: _Known[str] = _Known()  # digests
        self._turns: WeakValueDictionary[SnapshotId, anyio.Lock] = WeakValueDictionary()

    def manifest(self, snapshot: SnapshotId) -> Manifest:
        """Raises SnapshotNotFound, SnapshotDamaged, SnapshotForeign."""
        paths = self._volume.snapshot(snapshot)
        try:
            return self._manifests.get(paths.manifest, lambda: manifests.load(paths, snapshot))
        except OSError as error:
            raise SnapshotNotFound(snapshot) from error

    def spec(self, manifest: Manifest) -> Spec:
        """Not to be changed. Proven before it is read: it tells the engine what of the host to mount. Raises SnapshotDamaged."""
        paths = self._volume.snapshot(manifest.snapshot)

        def read() -> Spec:
            manifests.verify_file(paths, manifest, SPEC)
            return json.loads(paths.spec.read_bytes())

        try:
            return self._specs.get(paths.spec, read)
        except OSError as error:
            raise SnapshotDamaged(manifest.snapshot, SPEC, f"cannot be read ({error.strerror})") from error

    def unproven(self, manifest: Manifest) -> list[str]:
        """The files that were not hashed since they are what they are, the largest first."""
        home = self._volume.snapshot(manifest.snapshot).home
        largest_first = sorted(manifest.files, key=lambda name: -manifest.files[name].size_bytes)
        return [name for name in largest_first if self._whole.peek(home / name) != manifest.files[name].digest]

    async def prove(self, manifest: Manifest, *, again: bool) -> None:
        """Every byte of the files is the one that was written; `again`: whatever is known of them. Whoever asks while the same
        snapshot is being hashed waits for that. Raises SnapshotDamaged."""
        async with self._turns.setdefault(manifest.snapshot, anyio.Lock()):
            names = list(manifest.files) if again else await to_thread.run_sync(self.unproven, manifest)
            if names:
                await to_thread.run_sync(self._hash, manifest, names)

    def _hash(self, manifest: Manifest, names: Collection[str]) -> None:
        paths = self._volume.snapshot(manifest.snapshot)
        for name in names:

            def check(name: str = name) -> str:
                manifests.verify_file(paths, manifest, name)
                return manifest.files[name].digest

            try:
                self._whole.read(paths.home / name, check)
            except OSError as error:
                raise SnapshotDamaged(manifest.snapshot, name, f"cannot be read ({error.strerror})") from error


class _Known(Generic[T]):
    """What was read of files, for as long as they are the same files."""

    def __init__(self) -> None:
        self._of: OrderedDict[Path, tuple[FileIdentity, T]] = OrderedDict()

    def peek(self, path: Path) -> T | None:
        """None also when there is no such file."""
        known = self._of.get(path)
        try:
            return known[1] if known is not None and known[0] == _identity(path) else None
        except OSError:
            return None

    def get(self, path: Path, read: Callable[[], T]) -> T:
        """Raises OSError, and what `read` raises."""
        found = self.peek(path)
        return found if found is not None else self.read(path, read)

    def read(self, path: Path, read: Callable[[], T]) -> T:
        identity = _identity(path)  # before it is read: one that changes meanwhile is not known
        value = read()
        self._of[path] = identity, value
        while len(self._of) > KEPT:
            self._of.popitem(last=False)
        return value


def _identity(path: Path) -> FileIdentity:
    status = path.stat()
    return status.st_dev, status.st_ino, status.st_size, status.st_ctime_ns
