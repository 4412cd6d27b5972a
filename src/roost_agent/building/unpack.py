"""`POST /roost/build/unpack`: an archive that is unpacked while it arrives, as root, by the agent's own interpreter.

So it works in an image that has no tar and no shell. Names in the archive are relative to the target. What it does to this
machine, it does to a machine that is its owner's; nothing of it is ever unpacked on the host.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import posixpath
import stat
import struct
import tarfile
from collections.abc import Callable
from typing import IO

from roost_agent import fields
from roost_agent.building.modes import changed
from roost_agent.connect import Message
from roost_agent.errors import HttpError, RpcError, printable
from roost_agent.http.connection import Exchange
from roost_agent.http.inbound import Body
from roost_agent.sandbox import Sandbox
from roost_agent.threads import in_thread
from roost_agent.users import UnknownUser

_MAX_ORDER_BYTES = 1 << 20
_PIECE_BYTES = 1 << 20
_XATTR = "SCHILY.xattr."


class Unpack:
    """u32, as many bytes of JSON {target, owner?, mode?, keepsOwner?, unpacks?}, then a tar → {"files": number}.

    A target that ends in "/", or is a directory, is where things go, and so is one for what begins with "./": what a directory
    holds. Else it is what the one file is called. Parents are made.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    async def __call__(self, exchange: Exchange) -> None:
        source = _Arriving(exchange.body)
        order = _read_order(await source.exactly(struct.unpack(">I", await source.exactly(4))[0]))
        try:
            owner = self._owner(fields.text(order, "owner"), keeps=fields.flag(order, "keepsOwner"))
            placing = _Placing(fields.text(order, "target"), owner, _mode(order), unpacks=fields.flag(order, "unpacks"))
        except RpcError as error:
            raise HttpError(400, error.message) from error
        try:
            count = await in_thread(placing.unpack, source)
        except (tarfile.TarError, EOFError, ValueError) as error:
            raise HttpError(400, f"the archive cannot be read: {error}") from error
        except OSError as error:
            where = f" '{printable(str(error.filename))}'" if error.filename else ""
            raise HttpError(400, f"cannot write{where}: {error.strerror or error}") from error
        exchange.answer_json({"files": count})

    def _owner(self, text: str, *, keeps: bool) -> tuple[int, int] | None:
        """None: as the archive says. Raises HttpError for a user that this image does not have."""
        if not text:
            return None if keeps else (0, 0)
        try:
            user = self._sandbox.users.find(text)
        except UnknownUser as error:
            raise HttpError(400, f"there is no user or group '{printable(text)}' in this image") from error
        return user.uid, user.gid


def _mode(order: Message) -> int | str | None:
    mode = order.get("mode")
    return mode if isinstance(mode, str) else fields.whole_number(order, "mode") if mode is not None else None


def _read_order(raw: bytes) -> Message:
    try:
        order = json.loads(raw)
    except ValueError as error:
        raise HttpError(400, "the order is not valid JSON") from error
    if not isinstance(order, dict) or not isinstance(order.get("target"), str) or not order["target"].startswith("/"):
        raise HttpError(400, "field 'target' must be an absolute path")
    return order


class _Arriving(io.RawIOBase):
    """The body as a file that a thread reads, while the loop receives it."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self._loop = asyncio.get_running_loop()
        self._rest = b""

    async def exactly(self, size: int) -> bytes:
        if size > _MAX_ORDER_BYTES:
            raise HttpError(413, "the order is too long")
        while len(self._rest) < size:
            piece = await self._body.read(_PIECE_BYTES)
            if not piece:
                raise HttpError(400, "the request ends too early")
            self._rest += piece
        taken, self._rest = self._rest[:size], self._rest[size:]
        return taken

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        if not self._rest:
            self._rest = asyncio.run_coroutine_threadsafe(self._body.read(_PIECE_BYTES), self._loop).result()
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


class _Placing:
    """Writes members of archives to where they belong. Blocks."""

    def __init__(self, target: str, owner: tuple[int, int] | None, mode: int | str | None, *, unpacks: bool) -> None:
        self._target = posixpath.normpath(target)
        self._is_directory = target.endswith("/") or os.path.isdir(target)
        self._owner = owner
        self._mode = mode
        self._unpacks = unpacks
        self._made: dict[str, tarfile.TarInfo] = {}  # directories: their times and modes are set last
        self._count = 0
        self._has_target = False  # the one file that is called as the target is there

    def unpack(self, source: io.RawIOBase) -> int:
        with tarfile.open(fileobj=io.BufferedReader(source, _PIECE_BYTES), mode="r|") as archive:
            for member in archive:
                content = archive.extractfile(member) if member.isreg() else None
                if content is not None and self._unpacks and _is_archive(content):
                    self._unpack_inner(content)
                else:
                    self._place(member, content, archive)
        self._finish_directories()
        return self._count

    def _unpack_inner(self, content: IO[bytes]) -> None:
        """An archive within: its members go into the target, with the owners and modes that it gives them."""
        kept, self._owner = self._owner, None
        was_directory, self._is_directory = self._is_directory, True
        try:
            with tarfile.open(fileobj=content, mode="r|*") as inner:
                for member in inner:
                    self._place(member, inner.extractfile(member) if member.isreg() else None, inner)
        finally:
            self._owner, self._is_directory = kept, was_directory

    def _place(self, member: tarfile.TarInfo, content: IO[bytes] | None, archive: tarfile.TarFile) -> None:
        path = self._path_of(member.name, is_directory=member.isdir())
        self._count += 1
        if path == self._target and not member.isdir():
            if self._has_target:
                raise tarfile.TarError(f"several files cannot all be '{self._target}': a target for them ends in '/'")
            self._has_target = True
        if member.isdir():
            self._make_directory(path, member)
            return
        self._make_parents(posixpath.dirname(path))
        _clear(path)
        if content is not None:
            self._write(path, member, content)
        elif member.issym():
            os.symlink(member.linkname, path)
            self._own(path, member)
        elif member.islnk():
            os.link(self._path_of(member.linkname, is_directory=False), path, follow_symlinks=False)
        elif member.ischr() or member.isblk():
            kind = stat.S_IFCHR if member.ischr() else stat.S_IFBLK
            os.mknod(path, kind | member.mode, os.makedev(member.devmajor, member.devminor))
            self._own(path, member)
        elif member.isfifo():
            os.mkfifo(path, member.mode)
            self._own(path, member)
        else:
            raise tarfile.TarError(f"'{printable(member.name)}' is of a kind that is not known")

    def _path_of(self, name: str, *, is_directory: bool) -> str:
        relative = posixpath.normpath("/" + name).lstrip("/")  # `..` ends at the target
        if not relative:
            return self._target
        if not self._is_directory and not is_directory and not name.startswith("./") and "/" not in relative:
            return self._target
        return posixpath.join(self._target, relative)

    def _write(self, path: str, member: tarfile.TarInfo, content: IO[bytes]) -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            while piece := content.read(_PIECE_BYTES):
                view = memoryview(piece)
                while view:
                    view = view[file.write(view) :]
            owner = self._owner or (member.uid, member.gid)
            os.fchown(descriptor, *owner)
            os.fchmod(descriptor, changed(stat.S_IMODE(member.mode), self._mode, is_directory=False))
            for name, value in member.pax_headers.items():
                if name.startswith(_XATTR):
                    with contextlib.suppress(OSError):  # an attribute that this file system does not take
                        os.setxattr(descriptor, name[len(_XATTR) :], value.encode("utf-8", "surrogateescape"))
            os.utime(descriptor, (member.mtime, member.mtime))

    def _own(self, path: str, member: tarfile.TarInfo) -> None:
        os.chown(path, *(self._owner or (member.uid, member.gid)), follow_symlinks=False)

    def _make_directory(self, path: str, member: tarfile.TarInfo) -> None:
        self._make_parents(posixpath.dirname(path))
        self._is_directory = self._is_directory or path == self._target
        existed = os.path.isdir(path)
        if not existed:
            _clear(path)
            os.mkdir(path, 0o755)
        if not existed or path != self._target:  # a target that was there stays as it was
            self._own(path, member)
            self._made[path] = member

    def _make_parents(self, path: str) -> None:
        if not path or os.path.isdir(path):
            return
        self._make_parents(posixpath.dirname(path))
        os.mkdir(path, 0o755)
        os.chown(path, *(self._owner or (0, 0)))

    def _finish_directories(self) -> None:
        """Last: a directory that may not be written to is written to before."""
        for path, member in sorted(self._made.items(), reverse=True):
            os.chmod(path, changed(stat.S_IMODE(member.mode), self._mode, is_directory=True))
            os.utime(path, (member.mtime, member.mtime))


def _clear(path: str) -> None:
    """Whatever is no directory makes way."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def _is_archive(content: IO[bytes]) -> bool:
    peek: Callable[[int], bytes] = content.peek  # type: ignore[attr-defined]
    head = peek(512)[:512]
    packed = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00")
    return head[257:262] == b"ustar" or head.startswith(packed)
