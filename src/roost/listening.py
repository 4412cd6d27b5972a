"""The server's door: a socket that listens, or a sentence that says why not."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from roost.domain.errors import Conflict

_BACKLOG = 2048


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """Raises Conflict when the address cannot be had."""
    with ExitStack() as stack:
        try:
            family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
            door = stack.enter_context(socket.socket(family, socket.SOCK_STREAM))
            door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            door.bind((host, port))
            door.listen(_BACKLOG)
        except OSError as error:
            raise Conflict(
                "port_taken",
                f"Roost cannot listen on {host}:{port}: {error.strerror}."
                " Choose another port (`--port`, ROOST_PORT), or end what listens there.",
                host=host,
                port=port,
            ) from error
        yield door
