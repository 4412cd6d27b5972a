"""Files that came for builds: plain archives on the volume, each under the digest of what was sent, with an index beside it.

Nothing of them is ever unpacked here. An archive is read once, when it arrives, to know what is in it; a copy sends the members
it takes into the builder, where the agent unpacks them. Blocking.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import re
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO

from roost.domain.build_failures import UploadBroken, UploadDiffers, UploadNotFound, UploadTooLarge
from roost.domain.errors import Conflict, NodeFull
from roost.domain.node_builds import Selection, UploadFacts
from roost.node.engine.meter import disk_space
from roost.node.storage import selecting
from roost.node.storage.selecting import Member, Selected

_PIECE_BYTES = 1 << 20
_DISK_RESERVE_BYTES = 1 << 30
_MOST_MEMBERS = 500_000
_LONGEST_READ_BYTES = 4 << 20  # of a header: an archive may claim that its next one has gigabytes
_DIGEST = re.compile(r"[0-9a-f]{64}")
_SESSION = re.compile(r"[0-9a-z]{1,40}")
_KEPT_KINDS = frozenset("0125")
_XATTR = "SCHILY.xattr."


class Uploads:
    def __init__(self, volume: Path, *, limit_bytes: int) -> None:
        self._volume = volume
        self._directory = volume / "uploads"
        self._limit_bytes = limit_bytes

    def append(self, session: str, offset: int, content: bytes) -> None:
        """Raises Conflict, UploadTooLarge, NodeFull."""
        path = self._partial(session)
        self._directory.mkdir(mode=0o700, exist_ok=True)
        if offset + len(content) > self._limit_bytes:
            path.unlink(missing_ok=True)
            raise UploadTooLarge(self._limit_bytes)
        free, _ = disk_space(self._volume)
        if free < _DISK_RESERVE_BYTES + len(content):
            raise NodeFull("disk space", f"{(_DISK_RESERVE_BYTES + len(content)) >> 20} MB", f"{free >> 20} MB")
        with path.open("ab" if offset else "wb") as file:
            if file.tell() != offset:
                raise Conflict("upload_disordered", f"{offset} bytes should have arrived by now, and {file.tell()} did.")
            file.write(content)

    def give_up(self, session: str) -> None:
        self._partial(session).unlink(missing_ok=True)

    def finish(self, session: str, digest: str) -> UploadFacts:
        """Raises UploadDiffers, UploadBroken, UploadTooLarge; then nothing of it is left."""
        path = self._partial(session)
        plain = path.with_suffix(".plain")
        try:
            with path.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
            if found != digest:
                raise UploadDiffers(digest, found)
            size = path.stat().st_size
            self._make_plain(path, plain)
            index = [asdict(member) for member in _read_members(plain, self._limit_bytes)]
            self._index(digest).write_text(json.dumps(index))
            with plain.open("rb+") as file:
                os.fsync(file.fileno())
            plain.replace(self._archive(digest))  # last: an upload is there when its archive is
        except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, ValueError) as error:
            raise UploadBroken(str(error) or "it ends too early") from error
        finally:
            path.unlink(missing_ok=True)
            plain.unlink(missing_ok=True)
        return UploadFacts(digest, size, self._archive(digest).stat().st_mtime)

    def delete(self, digest: str) -> None:
        self._archive(digest).unlink(missing_ok=True)
        self._index(digest).unlink(missing_ok=True)

    def sweep(self) -> None:
        """What a server that died was receiving is gone."""
        with suppress(FileNotFoundError):
            for path in self._directory.iterdir():
                if path.suffix in (".part", ".plain"):
                    path.unlink(missing_ok=True)

    def digest_files(self, digest: str, selection: Selection) -> str:
        """Raises UploadNotFound, NothingToCopy."""
        return selecting.digest(self._members(digest), selection)

    def select(self, digest: str, selection: Selection) -> tuple[Path, list[Selected], Mapping[str, Member]]:
        """The archive, and what of it is taken. Raises UploadNotFound, NothingToCopy."""
        members = self._members(digest)
        return self._archive(digest), selecting.select(members, selection), members

    def _members(self, digest: str) -> dict[str, Member]:
        try:
            if not self._archive(digest).exists():
                raise UploadNotFound(digest)
            told = json.loads(self._index(digest).read_text())
        except FileNotFoundError:
            raise UploadNotFound(digest) from None
        members = (Member(**{**each, "attributes": tuple(map(tuple, each["attributes"]))}) for each in told)
        return {member.name: member for member in members}

    def _make_plain(self, path: Path, plain: Path) -> None:
        with path.open("rb") as file:
            is_packed = file.read(2) == b"\x1f\x8b"
        if not is_packed:
            path.rename(plain)
            return
        written = 0
        with gzip.open(path) as source, plain.open("wb") as into:
            while piece := source.read(_PIECE_BYTES):
                written += len(piece)
                if written > self._limit_bytes:
                    raise UploadTooLarge(self._limit_bytes)
                into.write(piece)

    def _partial(self, session: str) -> Path:
        if not _SESSION.fullmatch(session):
            raise ValueError(f"{session!r} names no upload")
        return self._directory / f"{session}.part"

    def _archive(self, digest: str) -> Path:
        if not _DIGEST.fullmatch(digest):
            raise UploadNotFound(digest)
        return self._directory / f"{digest}.tar"

    def _index(self, digest: str) -> Path:
        return self._archive(digest).with_suffix(".json")


class _Careful(io.RawIOBase):
    """A file that refuses to be read in pieces that no honest archive needs."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _LONGEST_READ_BYTES:
            raise tarfile.TarError("one of its headers is too long")
        return self._file.read(size)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()


def _read_members(path: Path, limit_bytes: int) -> Iterator[Member]:
    with path.open("rb") as file, tarfile.open(fileobj=_Careful(file), mode="r:") as archive:
        count = 0
        while (found := archive.next()) is not None:
            archive.members = []  # pyright: ignore[reportAttributeAccessIssue] tarfile keeps them all otherwise
            count += 1
            if count > _MOST_MEMBERS:
                raise tarfile.TarError(f"it has more than {_MOST_MEMBERS} members")
            kind = "0" if found.isreg() else found.type.decode("latin-1")
            if kind not in _KEPT_KINDS or found.issparse():
                raise tarfile.TarError(f"{found.name!r} is neither a file nor a directory nor a link")
            name = _relative(found.name)
            content = _content_digest(file, found) if kind == "0" else ""
            yield Member(
                name=name,
                kind=kind,
                mode=found.mode & 0o7777,
                size=found.size if kind == "0" else 0,
                offset=found.offset_data,
                link=_relative(found.linkname) if kind == "1" else found.linkname,
                digest=content,
                mtime=float(found.mtime),
                attributes=tuple(sorted((n, v) for n, v in found.pax_headers.items() if n.startswith(_XATTR))),
            )


def _relative(name: str) -> str:
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts or "\0" in name:
        raise tarfile.TarError(f"{name!r} leads out of it")
    return "/".join(parts)


def _content_digest(file: IO[bytes], member: tarfile.TarInfo) -> str:
    position, told, left = file.tell(), hashlib.sha256(), member.size
    file.seek(member.offset_data)
    while left:
        piece = file.read(min(left, _PIECE_BYTES))
        if not piece:
            raise tarfile.TarError("it ends too early")
        told.update(piece)
        left -= len(piece)
    file.seek(position)
    return told.hexdigest()


def packed(archive: Path, selected: list[Selected], members: Mapping[str, Member]) -> Iterator[bytes]:
    """A tar of what was selected, under the names it gets. A hard link whose file is not taken becomes that file."""
    names: dict[str, str] = {}
    with archive.open("rb") as file:
        for each in selected:
            member = each.member
            source, link = member, names.get(member.link, "") if member.kind == "1" else ""
            if member.kind == "1" and not link:
                source = members.get(member.link, member)
                if source.kind != "0":
                    raise UploadBroken(f"{member.name!r} is a link to what is not there")
            names[member.name] = each.name
            info = tarfile.TarInfo(each.name)
            info.mode, info.mtime = source.mode, member.mtime
            info.pax_headers = dict(source.attributes)
            info.type = b"1" if link else source.kind.encode()
            info.linkname = link or source.link
            info.size = source.size if info.type == b"0" else 0
            yield info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")
            if info.size:
                yield from _content(file, source)
    yield bytes(1024)


def _content(file: IO[bytes], member: Member) -> Iterator[bytes]:
    file.seek(member.offset)
    left = member.size
    while left:
        piece = file.read(min(left, _PIECE_BYTES))
        if not piece:
            raise UploadBroken(f"{member.name!r} ends too early")
        left -= len(piece)
        yield piece
    yield bytes(-member.size % tarfile.BLOCKSIZE)


def single(name: str, content: bytes | None) -> bytes:
    """A tar of one file, or of a directory."""
    info = tarfile.TarInfo(name)
    info.mode = 0o755 if content is None else 0o644
    info.type = tarfile.DIRTYPE if content is None else tarfile.REGTYPE
    info.size = len(content or b"")
    head = info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")
    return head + (content or b"") + bytes(-info.size % tarfile.BLOCKSIZE) + bytes(1024)
