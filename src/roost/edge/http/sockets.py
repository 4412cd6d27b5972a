"""What the kernel is told of a client's socket."""

from __future__ import annotations

import socket
import struct

_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


def detect_dead_peer(sock: socket.socket | None) -> None:
    """An open tunnel may be silent for days, or half closed; a client that vanished must not hold one for ever."""
    if sock is not None and sock.family in (socket.AF_INET, socket.AF_INET6):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 120)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 30)


def reset_when_closed(sock: socket.socket | None) -> None:
    """Its end is told as a reset, and not as the end of what was sent."""
    if sock is not None and sock.fileno() >= 0:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
