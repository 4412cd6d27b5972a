"""How a file is described to callers: E2B's EntryInfo."""

from __future__ import annotations

import os
import stat

from roost_agent.connect import Message
from roost_agent.files import metadata
from roost_agent.timestamps import timestamp
from roost_agent.users import Users

_TYPES = {stat.S_IFREG: "FILE_TYPE_FILE", stat.S_IFDIR: "FILE_TYPE_DIRECTORY", stat.S_IFLNK: "FILE_TYPE_SYMLINK"}
_UNKNOWN = "FILE_TYPE_UNSPECIFIED"
_EMPTY_DIRECTORY_BYTES = 4096  # as on ext4, which E2B's clients know; on btrfs it would be 0
# Go's letters, in Go's order, which E2B's clients show.
_KINDS = {
    stat.S_IFDIR: "d",
    stat.S_IFLNK: "L",
    stat.S_IFBLK: "D",
    stat.S_IFCHR: "Dc",
    stat.S_IFIFO: "p",
    stat.S_IFSOCK: "S",
}


def describe(path: str, users: Users, status: os.stat_result | None = None) -> Message:
    """EntryInfo of one path. Raises OSError when there is nothing there.

    Of a link, type and mode are its target's; size, permissions and time its own.
    """
    own = status or os.lstat(path)
    kind = stat.S_IFMT(own.st_mode)
    entry: Message = {
        "name": os.path.basename(path) or "/",
        "path": path,
        "type": _TYPES.get(kind, _UNKNOWN),
        "size": str(own.st_size or (_EMPTY_DIRECTORY_BYTES if kind == stat.S_IFDIR else 0)),
        "mode": own.st_mode & 0o777,
        "permissions": permissions(own.st_mode),
        "owner": users.user_name(own.st_uid),
        "group": users.group_name(own.st_gid),
        "modifiedTime": timestamp(own.st_mtime_ns),
    }
    if kind == stat.S_IFLNK:
        _describe_target(path, entry)
    elif kept := metadata.load(path):
        entry["metadata"] = kept
    return entry


def _describe_target(path: str, entry: Message) -> None:
    entry["isSymlink"] = True
    try:
        entry["symlinkTarget"] = os.path.realpath(path, strict=True)
        target = os.stat(path)
    except OSError:  # A link to nowhere, or to itself.
        entry["symlinkTarget"] = path
        entry["type"] = _UNKNOWN
        entry["mode"] = 0
        return
    entry["type"] = _TYPES.get(stat.S_IFMT(target.st_mode), _UNKNOWN)
    entry["mode"] = target.st_mode & 0o777


def permissions(mode: int) -> str:
    """`-rw-r--r--`, `drwxr-xr-x`, `Lrwxrwxrwx`: Go's way of writing a mode."""
    kind = _KINDS.get(stat.S_IFMT(mode), "")
    letters = kind.replace("c", "")
    letters += "u" if mode & stat.S_ISUID else ""
    letters += "g" if mode & stat.S_ISGID else ""
    letters += "c" if "c" in kind else ""
    letters += "t" if mode & stat.S_ISVTX else ""
    bits = "".join(letter if mode & (0o400 >> at) else "-" for at, letter in enumerate("rwxrwxrwx"))
    return (letters or "-") + bits


def written(path: str, kept: dict[str, str]) -> Message:
    """The short description that an upload answers with."""
    entry: Message = {"path": path, "name": os.path.basename(path), "type": "file"}
    if kept:
        entry["metadata"] = kept
    return entry
