"""btrfs by ioctl: subvolumes, snapshots of them, and quota groups. No process is spawned; every call blocks for milliseconds.

Quota: a sandbox owns one level-1 group; each subvolume that it ever writes to is a member, by inheritance at creation. So what it
wrote before a sleep still counts after it, and is given back when it deletes it. The same calls serve simple and full quotas.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import hashlib
import os
import struct
from dataclasses import dataclass
from pathlib import Path

from roost.domain.errors import Fault, NodeFull
from roost.domain.ids import SandboxId

_MAGIC = 0x94
_PAGE = 4096


def _code(direction: int, number: int, size: int) -> int:
    return direction << 30 | size << 16 | _MAGIC << 8 | number


_READ, _WRITE = 2, 1
_SNAP_CREATE_V2 = _code(_WRITE, 23, _PAGE)
_SUBVOL_CREATE_V2 = _code(_WRITE, 24, _PAGE)
_SNAP_DESTROY = _code(_WRITE, 15, _PAGE)
_QGROUP_ASSIGN = _code(_WRITE, 41, 24)
_QGROUP_CREATE = _code(_WRITE, 42, 16)
_QGROUP_LIMIT = _code(_READ, 43, 48)
_SUBVOL_INFO = _code(_READ, 60, 504)
_FS_INFO = _code(_READ, 31, 1024)

_READ_ONLY = 1 << 1
_QGROUP_INHERIT = 1 << 2
_LIMIT_REFERENCED = 1
_SUPER_MAGIC = 0x9123683E

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class SubvolumeInfo:
    id: int
    uuid: str
    generation: int


def quota_group(sandbox: SandboxId) -> int:
    """The number of the sandbox's quota group: 48 bits of its id's hash, at level 1."""
    return 1 << 48 | int.from_bytes(hashlib.blake2b(sandbox.encode(), digest_size=6).digest())


def create(path: Path, *, group: int | None = None) -> None:
    """An empty writable subvolume."""
    _make(_SUBVOL_CREATE_V2, path, source=-1, flags=0, group=group)


def snapshot(source: Path, target: Path, *, read_only: bool, group: int | None = None) -> None:
    """`target` holds what `source` held when the call was made, O(1) in size. Flushes what the kernel has of `source`."""
    descriptor = os.open(source, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _make(_SNAP_CREATE_V2, target, source=descriptor, flags=_READ_ONLY if read_only else 0, group=group)
    finally:
        os.close(descriptor)


def delete(path: Path) -> None:
    """Gone at once; the space follows in the background. May be called twice."""
    try:
        parent = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return
    try:
        _ioctl(parent, _SNAP_DESTROY, struct.pack("=q4088s", 0, path.name.encode()))
    except OSError as error:
        if error.errno != errno.ENOENT:
            raise _translated(error, f"delete the subvolume {path}") from error
    finally:
        os.close(parent)


def info(path: Path) -> SubvolumeInfo:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        data = fcntl.ioctl(descriptor, _SUBVOL_INFO, bytes(504))
    finally:
        os.close(descriptor)
    number, generation = struct.unpack_from("=Q272xQ", data)
    return SubvolumeInfo(id=number, uuid=data[296:312].hex(), generation=generation)


def make_group(volume: Path, group: int, limit_bytes: int | None) -> None:
    """The quota group is there with this limit. May be called twice; does nothing where quotas are off."""
    descriptor = os.open(volume, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.ioctl(descriptor, _QGROUP_CREATE, struct.pack("=QQ", 1, group))
        except OSError as error:
            if error.errno == errno.ENOTCONN:  # quotas are off
                return
            if error.errno != errno.EEXIST:
                raise _translated(error, "make a quota group") from error
        flags, limit = (_LIMIT_REFERENCED, limit_bytes) if limit_bytes else (0, 0)
        fcntl.ioctl(descriptor, _QGROUP_LIMIT, struct.pack("=QQQQQQ", group, flags, limit, 0, 0, 0))
    finally:
        os.close(descriptor)


def join_group(path: Path, group: int) -> None:
    """What the subvolume at `path` allocates counts for the group from now on. May be called twice."""
    number = info(path).id
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.ioctl(descriptor, _QGROUP_ASSIGN, struct.pack("=QQQ", 1, number, group))
    except OSError as error:
        if error.errno not in (errno.EEXIST, errno.ENOTCONN):
            raise _translated(error, f"count {path} for its sandbox") from error
    finally:
        os.close(descriptor)


def leave_group(path: Path, group: int) -> None:
    """What is at `path` no longer counts for the group. May be called twice."""
    number = info(path).id
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.ioctl(descriptor, _QGROUP_ASSIGN, struct.pack("=QQQ", 0, number, group))
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTCONN):
            raise _translated(error, f"no longer count {path} for its sandbox") from error
    finally:
        os.close(descriptor)


def drop_group(volume: Path, group: int) -> None:
    """The quota group is gone, or empty and harmless. May be called twice."""
    descriptor = os.open(volume, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.ioctl(descriptor, _QGROUP_CREATE, struct.pack("=QQ", 0, group))
    except OSError:
        return  # still counts space that is being given back: it holds nothing up
    finally:
        os.close(descriptor)


def group_file(volume: Path, group: int) -> Path:
    """Where the kernel shows what the group uses, in bytes."""
    descriptor = os.open(volume, os.O_RDONLY | os.O_DIRECTORY)
    try:
        data = fcntl.ioctl(descriptor, _FS_INFO, bytes(1024))
    finally:
        os.close(descriptor)
    raw = data[16:32].hex()
    uuid = "-".join((raw[:8], raw[8:12], raw[12:16], raw[16:20], raw[20:]))
    return Path(f"/sys/fs/btrfs/{uuid}/qgroups/{group >> 48}_{group & (1 << 48) - 1}/referenced")


def _make(call: int, target: Path, *, source: int, flags: int, group: int | None) -> None:
    inherit_size = inherit_address = 0
    inherit = None
    if group is not None:
        inherit = ctypes.create_string_buffer(struct.pack("=10Q", 0, 1, 0, 0, 0, 0, 0, 0, 0, group), 80)
        inherit_size, inherit_address = 80, ctypes.addressof(inherit)
        flags |= _QGROUP_INHERIT
    parent = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        arguments = struct.pack("=qQQQQQQ4040s", source, 0, flags, inherit_size, inherit_address, 0, 0, target.name.encode())
        _ioctl(parent, call, arguments)
    except OSError as error:
        if group is not None and error.errno in (errno.EINVAL, errno.ENOTCONN):  # quotas are off
            return _make(call, target, source=source, flags=flags & ~_QGROUP_INHERIT, group=None)
        raise _translated(error, f"make the subvolume {target}") from error
    finally:
        os.close(parent)
        del inherit
    return None


def _ioctl(descriptor: int, code: int, argument: bytes) -> None:
    """As fcntl's, which holds the interpreter's lock for arguments this long: nothing else would run in the server while btrfs
    writes to the disk."""
    buffer = ctypes.create_string_buffer(argument, len(argument))
    if _libc.ioctl(descriptor, ctypes.c_ulong(code), buffer) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _translated(error: OSError, what: str) -> Fault | NodeFull:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return NodeFull("disk space", "some", "none")
    return Fault("volume_failed", f"The volume could not {what}: {error.strerror}.", what=what, errno=error.errno)
