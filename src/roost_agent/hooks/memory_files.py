"""Files in memory (/tmp, /dev/shm) must not fill the memory of this sandbox, which may be less than its template's.

The kernel inside cannot make a tmpfs smaller that is mounted. So an empty one that is too large is covered by one that fits; one
with something in it (the sockets of a desktop) stays as it is, since whoever uses what is in it must go on finding it.
"""

from __future__ import annotations

import os
import sys

from roost_agent import procfs

SHARES = {"/tmp": 2, "/dev/shm": 4}  # one half and one quarter of the memory: both full leave a quarter for processes
_TOLERANCE = 1.05
_MS_NOSUID, _MS_NODEV = 2, 4


def too_large(total_bytes: int, sizes: dict[str, int]) -> dict[str, int]:
    """Which of them are too large for so much memory, and how large they may be."""
    allowed = {path: total_bytes // share for path, share in SHARES.items()}
    return {path: allowed[path] for path, size in sizes.items() if size > allowed[path] * _TOLERANCE}


def fit() -> None:
    """Those that are empty fit. On the way of every create: two calls when all is as it should be."""
    try:
        for path, size_bytes in too_large(_memory_total_bytes(), {path: _size_bytes(path) for path in SHARES}).items():
            if not os.listdir(path):
                _cover(path, size_bytes)
    except OSError as error:  # the sandbox is no worse than without
        sys.stderr.write(f"files in memory could not be limited: {error}\n")


def _memory_total_bytes() -> int:
    for line in procfs.read("/proc/meminfo").splitlines():
        if line.startswith(b"MemTotal:"):
            return int(line.split()[1]) << 10
    raise OSError("/proc/meminfo does not tell how much memory there is")


def _size_bytes(path: str) -> int:
    """Zero of what is no file system of its own."""
    if not os.path.ismount(path):
        return 0
    found = os.statvfs(path)
    return found.f_blocks * found.f_frsize


def _cover(path: str, size_bytes: int) -> None:
    import ctypes  # slow to load, and rarely needed

    libc = ctypes.CDLL(None, use_errno=True)
    options = f"mode=1777,size={size_bytes >> 10}k".encode()
    if libc.mount(b"tmpfs", path.encode(), b"tmpfs", ctypes.c_ulong(_MS_NOSUID | _MS_NODEV), options) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"mount {path}: {os.strerror(number)}")
