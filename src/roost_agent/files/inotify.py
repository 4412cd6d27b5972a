"""The kernel's inotify, through the C library: loaded by the first watch, since most sandboxes never make one."""

from __future__ import annotations

import os
import struct

MODIFY = 0x2
ATTRIB = 0x4
MOVED_FROM = 0x40
MOVED_TO = 0x80
CREATE = 0x100
DELETE = 0x200
DELETE_SELF = 0x400
MOVE_SELF = 0x800
OVERFLOW = 0x4000
IGNORED = 0x8000
ONLY_DIRECTORY = 0x0100_0000
IS_DIRECTORY = 0x4000_0000
_WATCHED = MODIFY | ATTRIB | MOVED_FROM | MOVED_TO | CREATE | DELETE | DELETE_SELF | MOVE_SELF
_EVENT = struct.Struct("iIII")
_READ_BYTES = 64 * 1024


class Inotify:
    """One kernel queue of events. Every call may raise OSError."""

    def __init__(self) -> None:
        import ctypes

        self._ctypes = ctypes
        self._libc = ctypes.CDLL(None, use_errno=True)
        self.descriptor = self._checked(self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))

    def add(self, path: str) -> int:
        """Watch a directory; its watch number."""
        number = self._libc.inotify_add_watch(
            self.descriptor, os.fsencode(path), self._ctypes.c_uint32(_WATCHED | ONLY_DIRECTORY)
        )
        return self._checked(number)

    def remove(self, watch: int) -> None:
        self._libc.inotify_rm_watch(self.descriptor, watch)

    def read(self) -> list[tuple[int, int, str]]:
        """(watch, mask, name) of everything that is queued now."""
        found: list[tuple[int, int, str]] = []
        while True:
            try:
                raw = os.read(self.descriptor, _READ_BYTES)
            except BlockingIOError:
                return found
            at = 0
            while at < len(raw):
                watch, mask, _, length = _EVENT.unpack_from(raw, at)
                at += _EVENT.size
                found.append((watch, mask, os.fsdecode(raw[at : at + length].rstrip(b"\0"))))
                at += length

    def close(self) -> None:
        os.close(self.descriptor)

    def _checked(self, result: int) -> int:
        if result < 0:
            number = self._ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return result
