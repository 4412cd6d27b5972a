"""Writes the files of a step as a tar that is the same wherever and whenever it is made."""

from __future__ import annotations

import hashlib
import os
import stat
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from roost.dockerfile.tree import Entry, Tree
from roost.domain.build import Copy
from roost.domain.build_errors import ContextChanged, StepUnsupported

DAY_2000 = 946_684_800
"""The time of every file. Not 1970: zip knows no year before 1980, and wheels are zips."""

_PIECE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Archive:
    digest: str  # sha256 of the file, hex
    path: Path
    size_bytes: int
    files: int


@dataclass(frozen=True, slots=True)
class Packing:
    """How far it is: for whoever waits."""

    files: int
    size_bytes: int
    total_bytes: int


class _Tee:
    """Writes to a file, and hashes what it writes."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.digest = hashlib.sha256()
        self.size_bytes = 0

    def write(self, data: bytes) -> int:
        self.digest.update(data)
        self.size_bytes += len(data)
        return self._file.write(data)


class ArchiveWriter:
    """Writes archives one after the other, and tells how far it is."""

    def __init__(self, tree: Tree, into: Path, total_bytes: int, tell: Callable[[Packing], None]) -> None:
        self._tree = tree
        self._into = into
        self._told = Packing(0, 0, total_bytes)
        self._tell = tell

    def write(self, step: Copy, entries: list[Entry]) -> Archive:
        partial = self._into / "partial"
        with partial.open("wb") as file:
            tee = _Tee(file)
            with tarfile.open(  # pyright: ignore[reportCallIssue]
                fileobj=tee,  # pyright: ignore[reportArgumentType]
                mode="w|",
                format=tarfile.PAX_FORMAT,
                bufsize=_PIECE,
            ) as tar:
                for name, entry in _with_parents(entries):
                    self._add(tar, name, entry, step)
        digest = tee.digest.hexdigest()
        path = self._into / f"{digest}.tar"
        partial.replace(path)
        return Archive(digest, path, tee.size_bytes, len(entries))

    def _add(self, tar: tarfile.TarFile, name: str, entry: Entry | None, step: Copy) -> None:
        info = tarfile.TarInfo(name)
        info.mtime = DAY_2000
        info.mode = stat.S_IMODE(entry.status.st_mode) if entry else 0o755
        if entry is None or stat.S_ISDIR(entry.status.st_mode):
            info.type = tarfile.DIRTYPE
            tar.addfile(info)
        elif stat.S_ISLNK(entry.status.st_mode):
            info.type, info.mode = tarfile.SYMTYPE, 0o777
            info.linkname = os.readlink(self._tree.absolute(entry.real))
            tar.addfile(info)
        elif stat.S_ISREG(entry.status.st_mode):
            info.size = entry.status.st_size
            self._add_file(tar, info, entry)
        else:
            raise StepUnsupported(step.place, f"{name}, neither file nor directory nor link,", "Exclude it by .dockerignore.")
        self._count(files=1)

    def _add_file(self, tar: tarfile.TarFile, info: tarfile.TarInfo, entry: Entry) -> None:
        try:
            # Between the walk and now a link may have come to where the file was: it is not followed.
            descriptor = os.open(self._tree.absolute(entry.real), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            with open(descriptor, "rb") as file:
                counted = _Counted(file, self._count)
                tar.addfile(info, counted)  # pyright: ignore[reportArgumentType]
                if file.read(1):
                    raise ContextChanged(entry.path, "it grew")
        except PermissionError as error:
            raise ContextChanged(entry.path, "you may not read it") from error
        except OSError as error:
            raise ContextChanged(entry.path, error.strerror or str(error)) from error

    def _count(self, *, files: int = 0, size_bytes: int = 0) -> None:
        told = self._told
        self._told = Packing(told.files + files, told.size_bytes + size_bytes, told.total_bytes)
        self._tell(self._told)


class _Counted:
    def __init__(self, file: BinaryIO, count: Callable[..., None]) -> None:
        self._file = file
        self._count = count

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        self._count(size_bytes=len(data))
        return data


def _with_parents(entries: list[Entry]) -> Iterator[tuple[str, Entry | None]]:
    """Every name, and before it the directories it is in; None: one that is only on the way."""
    there = {entry.path for entry in entries}
    for entry in entries:
        parts = entry.path.split("/")
        for end in range(1, len(parts)):
            above = "/".join(parts[:end])
            if above not in there:
                there.add(above)
                yield above, None
        if entry.path:
            yield entry.path, entry
