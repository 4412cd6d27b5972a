"""Reads files out of snapshots, safely: the disks were written by strangers. `contracts.reading.SnapshotReader`.

The kernel resolves paths with the snapshot as their root (openat2), so links lead nowhere else however they are made. A path is
first only pointed at; what it points at is opened when it is seen to be a plain file or a directory: opening a device can do
harm, and opening a pipe can wait for ever.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from anyio import to_thread

from roost.archive.keys import VolumePaths
from roost.domain.errors import Invalid, NotFound, SnapshotNotFound
from roost.domain.file import FileEntry, FileType, Listing
from roost.domain.ids import SnapshotId

MOST_ENTRIES = 10_000
LONGEST_PATH_BYTES = 4095
_OPENAT2 = 437  # the same on every architecture
_NO_XDEV, _NO_MAGICLINKS, _IN_ROOT = 0x01, 0x02, 0x10

_libc = ctypes.CDLL(None, use_errno=True)


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


class DiskReader:
    def __init__(self, volume: VolumePaths) -> None:
        self._volume = volume

    async def list_files(self, snapshot: SnapshotId, path: str) -> Listing:
        return await to_thread.run_sync(self._list, snapshot, path)

    async def read_file(self, snapshot: SnapshotId, path: str, limit_bytes: int) -> bytes:
        return await to_thread.run_sync(self._read, snapshot, path, limit_bytes)

    def _list(self, snapshot: SnapshotId, path: str) -> Listing:
        with self._pointed_at(snapshot, path) as pointer:
            if not stat.S_ISDIR(os.fstat(pointer).st_mode):
                raise Invalid("not_a_directory", f"{path} in snapshot {snapshot} is no directory.", path=path)
            directory = os.open(f"/proc/self/fd/{pointer}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                return _listing(directory)
            finally:
                os.close(directory)

    def _read(self, snapshot: SnapshotId, path: str, limit_bytes: int) -> bytes:
        with self._pointed_at(snapshot, path) as pointer:
            found = os.fstat(pointer)
            if not stat.S_ISREG(found.st_mode):
                raise Invalid("not_a_file", f"{path} in snapshot {snapshot} is no file.", path=path)
            if found.st_size > limit_bytes:
                message = f"{path} in snapshot {snapshot} has {found.st_size} bytes; {limit_bytes} is the most. Create a sandbox"
                raise Invalid("too_large", f"{message} from the snapshot and copy it out of there.", path=path)
            with os.fdopen(os.open(f"/proc/self/fd/{pointer}", os.O_RDONLY | os.O_CLOEXEC), "rb") as file:
                return file.read(limit_bytes)

    @contextmanager
    def _pointed_at(self, snapshot: SnapshotId, path: str) -> Iterator[int]:
        """A descriptor that says what is there and opens nothing. Raises SnapshotNotFound, NotFound, Invalid."""
        home = self._volume.snapshot(snapshot)
        encoded = _encoded(path)
        try:
            if not home.manifest.exists():
                raise SnapshotNotFound(snapshot)
            root = os.open(home.root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError as error:
            raise SnapshotNotFound(snapshot) from error
        try:
            pointer = _open_within(root, encoded)
        except OSError as error:
            raise _translated(error, snapshot, path) from error
        finally:
            os.close(root)
        try:
            yield pointer
        finally:
            os.close(pointer)


def _open_within(root: int, path: bytes) -> int:
    how = _OpenHow(os.O_PATH | os.O_CLOEXEC, 0, _IN_ROOT | _NO_MAGICLINKS | _NO_XDEV)
    while True:
        descriptor = _libc.syscall(_OPENAT2, root, path, ctypes.byref(how), ctypes.sizeof(how))
        if descriptor >= 0:
            return descriptor
        number = ctypes.get_errno()
        if number != errno.EAGAIN:  # something was renamed meanwhile, elsewhere on the machine: the kernel asks to try again
            raise OSError(number, os.strerror(number))


def _listing(directory: int) -> Listing:
    entries: list[FileEntry] = []
    with os.scandir(directory) as found:
        for each in found:
            if len(entries) == MOST_ENTRIES:
                return Listing(tuple(sorted(entries, key=_order)), truncated=True)
            told = each.stat(follow_symlinks=False)
            entries.append(FileEntry(_shown(each.name), _type(told.st_mode), told.st_size, told.st_mtime))
    return Listing(tuple(sorted(entries, key=_order)))


def _order(entry: FileEntry) -> tuple[bool, str]:
    return entry.type is not FileType.DIRECTORY, entry.name


def _shown(name: str) -> str:
    """Names are bytes: what is no text is shown as what could be."""
    return os.fsencode(name).decode(errors="replace")


def _type(mode: int) -> FileType:
    if stat.S_ISREG(mode):
        return FileType.FILE
    if stat.S_ISDIR(mode):
        return FileType.DIRECTORY
    return FileType.SYMLINK if stat.S_ISLNK(mode) else FileType.OTHER


def _encoded(path: str) -> bytes:
    encoded = path.encode(errors="surrogateescape") or b"/"
    if b"\0" in encoded or len(encoded) > LONGEST_PATH_BYTES:
        raise Invalid("path_invalid", f"A path has at most {LONGEST_PATH_BYTES} bytes, and no NUL.", path=path[:200])
    return encoded


def _translated(error: OSError, snapshot: SnapshotId, path: str) -> Invalid | NotFound:
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return NotFound("file_not_found", f"There is no {path[:200]} in snapshot {snapshot}.", path=path[:200], snapshot=snapshot)
    if error.errno in (errno.ELOOP, errno.ENAMETOOLONG, errno.EXDEV, errno.EACCES, errno.EINVAL):
        message = f"{path[:200]} in snapshot {snapshot} cannot be followed: {os.strerror(error.errno)}."
        return Invalid("path_invalid", message, path=path[:200], snapshot=snapshot)
    raise error
