"""Directories as streams: a tar made of one while it is sent, and one unpacked while it comes. Constant memory both
ways.
"""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from roost.cli.rendering import note
from roost.domain.errors import Conflict

if TYPE_CHECKING:
    from roost.client.blocking.processes import Process

CHUNK_BYTES = 1 << 18
_HARMLESS_MODE = 0o755  # as tarfile leaves files: nobody else may write what came from a sandbox
Advance = Callable[[int], None]


def weigh(directory: Path) -> int:
    """The bytes of the files in it."""
    return sum(found.lstat().st_size for found in _walk(directory) if found.is_file() and not found.is_symlink())


def tar_of(directory: Path, advance: Advance) -> Iterator[bytes]:
    """A tar of what is in the directory, in pieces worth sending."""
    pending = bytearray()
    for piece in _pieces(directory, advance):
        pending += piece
        if len(pending) >= CHUNK_BYTES:
            yield bytes(pending)
            pending.clear()
    yield bytes(pending + bytes(2 * tarfile.BLOCKSIZE))


def _walk(directory: Path) -> Iterator[Path]:
    for entry in sorted(os.scandir(directory), key=lambda entry: entry.name):
        path = Path(entry.path)
        yield path
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(path)


def _pieces(directory: Path, advance: Advance) -> Iterator[bytes]:
    with tarfile.open(fileobj=io.BytesIO(), mode="w", format=tarfile.PAX_FORMAT) as describing:
        for path in _walk(directory):
            info = describing.gettarinfo(path, arcname=str(path.relative_to(directory)))
            if info is None or not (info.isreg() or info.isdir() or info.issym() or info.islnk()):
                note(f"Left out {path}: neither file, directory nor link.")
                continue
            if not info.isreg():
                yield info.tobuf(tarfile.PAX_FORMAT)
                continue
            with path.open("rb") as content:
                yield info.tobuf(tarfile.PAX_FORMAT)
                yield from _content(content, info.size, advance)
            yield bytes(-info.size % tarfile.BLOCKSIZE)


def _content(content: io.BufferedReader, size: int, advance: Advance) -> Iterator[bytes]:
    """Exactly as many bytes as the header said, whatever happens to the file meanwhile: else everything after it is
    garbage."""
    left = size
    while left:
        chunk = content.read(min(left, CHUNK_BYTES))
        if not chunk:
            note(f"{content.name} became shorter while it was read; the rest is sent as zeros.")
            chunk = bytes(min(left, CHUNK_BYTES))
        left -= len(chunk)
        advance(len(chunk))
        yield chunk


def unpack(process: Process, directory: Path, advance: Advance) -> str:
    """Unpacks the tar that the process writes into the directory, which is made if need be; what the process complained
    about."""
    reader = _OutputReader(process, advance)
    directory.mkdir(parents=True, exist_ok=True)
    modes: list[tuple[Path, int]] = []  # of directories: set last, since nothing can be written into a read-only one
    try:
        with tarfile.open(fileobj=reader, mode="r|", bufsize=CHUNK_BYTES) as tar:
            for member in tar:
                if member.isdev():
                    note(f"Left out {member.name}: a device.")
                    continue
                tar.extract(member, directory, filter=_confined, set_attrs=not member.isdir())
                if member.isdir() and member.name != ".":
                    modes.append((directory / member.name, member.mode & _HARMLESS_MODE))
    except tarfile.TarError as error:
        said = reader.complaints.decode(errors="replace").strip()
        raise Conflict("copy_failed", f"The copy broke off: {said or error}", path=str(directory)) from error
    for path, mode in reversed(modes):
        _set_mode(path, mode)
    return reader.complaints.decode(errors="replace").strip()


def _set_mode(directory: Path, mode: int) -> None:
    """Through no link: one that was here before may stand in its place."""
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        os.fchmod(descriptor, mode)
    finally:
        os.close(descriptor)


def _confined(member: tarfile.TarInfo, destination: str) -> tarfile.TarInfo | None:
    """Whatever a sandbox sends, nothing is written outside the destination: names and hard links must end inside it,
    through no symbolic link either. Symbolic links themselves may point anywhere, as in the original. Set-user-id bits
    are dropped."""
    if member.islnk():
        tarfile.data_filter(member, destination)
    return tarfile.tar_filter(member, destination)


class _OutputReader(io.RawIOBase):
    """The stdout of a process as a file to read; its stderr is kept aside."""

    def __init__(self, process: Process, advance: Advance) -> None:
        self.complaints = bytearray()
        self._outputs = iter(process)
        self._advance = advance
        self._pending = memoryview(b"")

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        from roost.client.output import Stream

        while not self._pending:
            output = next(self._outputs, None)
            if output is None:
                return b""
            if output.stream is Stream.STDERR:
                self.complaints += output.data
                del self.complaints[:-4096]
                continue
            self._advance(len(output.data))
            self._pending = memoryview(output.data)
        taken = self._pending if size < 0 else self._pending[:size]
        self._pending = self._pending[len(taken) :]
        return bytes(taken)
