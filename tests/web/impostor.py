"""A server that had the address before: what it left in a browser is still there when Roost answers at the same one."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field


@dataclass
class Impostor:
    """Answers with pages of its own until told to step aside; from then on all that comes is the real server's."""

    pages: dict[str, tuple[str, str]]  # by path: type and text
    real: int  # port
    _listener: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0)))
    _aside: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def step_aside(self) -> None:
        self._aside.set()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._pass if self._aside.is_set() else self._answer, args=(client,), daemon=True).start()

    def _answer(self, client: socket.socket) -> None:
        with client:
            path = client.recv(65536).split(b" ")[1].decode()
            kind, text = self.pages.get(path, ("text/plain", ""))
            head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(text)}\r\nConnection: close\r\n\r\n"
            client.sendall((head + text).encode())

    def _pass(self, client: socket.socket) -> None:
        server = socket.create_connection(("127.0.0.1", self.real))
        there = threading.Thread(target=_copy, args=(client, server), daemon=True)
        there.start()
        _copy(server, client)
        there.join()
        for each in (client, server):
            each.close()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(65536):
            sink.sendall(piece)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


@contextmanager
def impostor(real: int, pages: dict[str, tuple[str, str]]) -> Iterator[Impostor]:
    stand_in = Impostor(pages, real)
    threading.Thread(target=stand_in._serve, daemon=True).start()
    try:
        yield stand_in
    finally:
        stand_in._listener.shutdown(socket.SHUT_RDWR)
        stand_in._listener.close()
