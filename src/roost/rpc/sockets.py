"""The sockets that processes of one Roost meet at. Whoever starts the processes makes them and hands them down: so a caller can
connect while the process behind is being started again, and is served when it is there."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from roost.domain.errors import Fault

_BACKLOG = 128
_CREDENTIALS = struct.Struct("=iII")  # struct ucred: pid, uid, gid


@contextmanager
def listening_unix(path: Path) -> Iterator[socket.socket]:
    """A socket that nobody but this user can connect to. What a killed process left there is replaced. Raises Fault."""
    try:
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    except OSError as error:
        raise _cannot_listen(path, error) from error
    with listener:
        before = os.umask(0o177)  # its mode from the first moment on
        try:
            listener.bind(str(path))
            listener.listen(_BACKLOG)
        except OSError as error:
            raise _cannot_listen(path, error) from error
        finally:
            os.umask(before)
        try:
            yield listener
        finally:
            path.unlink(missing_ok=True)


def is_own(connection: socket.socket) -> bool:
    """Whether a process of this user is at the other end, or root's. The mode of the socket's file says it too; but a file can be
    moved and changed, and what the kernel says of the peer cannot."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _, uid, _ = _CREDENTIALS.unpack(credentials)
    return uid in (0, os.geteuid())


def _cannot_listen(path: Path, error: OSError) -> Fault:
    return Fault("socket_unusable", f"Roost's processes cannot meet at {path}: {error.strerror or error}.", path=str(path))
