"""`GET /files/archive`: a directory with all it holds, as a gzipped tar that is made while it is sent."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Generator
from tarfile import BLKTYPE, BLOCKSIZE, CHRTYPE, DIRTYPE, FIFOTYPE, LNKTYPE, REGTYPE, SYMTYPE, TarInfo

from roost_agent.errors import HttpError, http_error
from roost_agent.files.read import CHUNK_BYTES, disposition, file_path, file_user
from roost_agent.http.connection import Exchange
from roost_agent.http.encoding import Compressor
from roost_agent.sandbox import Sandbox
from roost_agent.threads import in_thread

SEND_BYTES = 256 * 1024
_END = bytes(2 * BLOCKSIZE)
_KINDS = {
    stat.S_IFREG: REGTYPE,
    stat.S_IFDIR: DIRTYPE,
    stat.S_IFLNK: SYMTYPE,
    stat.S_IFIFO: FIFOTYPE,
    stat.S_IFCHR: CHRTYPE,
    stat.S_IFBLK: BLKTYPE,
}

Pieces = Generator[bytes, None, None]


class Archive:
    """GET /files/archive?path= → the directory under its own name, with modes, owners and links as they are."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    async def __call__(self, exchange: Exchange) -> None:
        query = exchange.head.parameters()
        path = file_path(self._sandbox, query.get("path", ""), file_user(self._sandbox, query.get("username")))
        name = os.path.basename(path) or "root"
        try:
            if not stat.S_ISDIR(os.stat(path).st_mode):
                raise HttpError(400, f"path '{path}' is not a directory: GET /files reads it")
        except FileNotFoundError as error:
            raise HttpError(404, f"path '{path}' does not exist") from error
        except OSError as failure:
            raise http_error(failure, f"cannot read '{path}'") from failure
        about = [("Content-Type", "application/gzip"), ("Content-Disposition", disposition("attachment", f"{name}.tar.gz"))]
        exchange.begin(200, about)
        if exchange.head.method == "HEAD":
            return
        compressor = Compressor()
        with contextlib.closing(packed(path, name)) as pieces:
            while some := await in_thread(_compressed, pieces, compressor):
                await exchange.send(some)
        exchange.push(compressor.finish())


def _compressed(pieces: Pieces, compressor: Compressor) -> bytes:
    """As much as is worth sending; nothing at the end."""
    ready = bytearray()
    for piece in pieces:
        ready += compressor.add(piece)
        if len(ready) >= SEND_BYTES:
            break
    return bytes(ready)


def packed(top: str, name: str, *, ends: bool = True, leaves_out: Callable[[str], bool] = lambda name: False) -> Pieces:
    """A tar of the directory `top`, there called `name`, piece by piece. What goes away meanwhile is left out, and so is what
    other file systems hold: of `/` nobody wants the processes and devices. `leaves_out` is asked with names in the tar."""
    top = os.path.realpath(top)
    device = os.stat(top).st_dev
    first_names: dict[int, str] = {}  # of files that have several
    waiting = [(top, name)]
    while waiting:
        path, name = waiting.pop()
        with contextlib.suppress(FileNotFoundError):
            status = os.lstat(path)
            member = _member(path, name, status)
            if member is None:
                continue
            if member.isreg() and status.st_nlink > 1 and (first := first_names.setdefault(status.st_ino, name)) != name:
                member.type, member.linkname = LNKTYPE, first
            if member.isreg():
                yield from _file(path, member)
            else:
                yield _head(member)
            if member.isdir() and status.st_dev == device:
                names = sorted(os.listdir(path), reverse=True)
                below = ((os.path.join(path, each), f"{name}/{each}") for each in names)
                waiting.extend((each, called) for each, called in below if not leaves_out(called))
    if ends:
        yield _END


def _member(path: str, name: str, status: os.stat_result) -> TarInfo | None:
    """How it is described in a tar; None for a socket, which is nothing without its program."""
    kind = _KINDS.get(stat.S_IFMT(status.st_mode))
    if kind is None:
        return None
    member = TarInfo(name)
    member.type = kind
    member.mode = stat.S_IMODE(status.st_mode)
    member.uid, member.gid = status.st_uid, status.st_gid
    member.mtime = int(status.st_mtime)
    if kind == SYMTYPE:
        member.linkname = os.readlink(path)
    elif kind in (CHRTYPE, BLKTYPE):
        member.devmajor, member.devminor = os.major(status.st_rdev), os.minor(status.st_rdev)
    return member


def _file(path: str, member: TarInfo) -> Pieces:
    # It may have become something else since: a link is not followed, a pipe not waited for.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY)
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        member.size = left = os.fstat(descriptor).st_size
        padding = -left % BLOCKSIZE
        yield _head(member)
        while left:
            # One that got shorter is filled up: its length is told already.
            piece = file.read(min(left, CHUNK_BYTES)) or bytes(min(left, CHUNK_BYTES))
            left -= len(piece)
            yield piece
        yield bytes(padding)


def _head(member: TarInfo) -> bytes:
    return member.tobuf(encoding="utf-8", errors="surrogateescape")
