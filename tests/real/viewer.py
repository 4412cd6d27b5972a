"""A small viewer of screens, as a browser's would be: RFB over a WebSocket, raw pictures only."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

PATIENCE_S = 60.0
_RAW, _DESKTOP_SIZE = 0, -223


class Viewer:
    def __init__(self, websocket: ClientConnection) -> None:
        self._websocket = websocket
        self._buffer = bytearray()
        self.width = self.height = 0
        self.name = ""

    # Reading

    def read(self, size: int) -> bytes:
        while len(self._buffer) < size:
            piece = self._websocket.recv(PATIENCE_S)
            assert isinstance(piece, bytes)
            self._buffer += piece
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    def meet(self) -> None:
        """The first words, as far as the name of the desktop."""
        assert self.read(12).startswith(b"RFB 003.")
        self.say(b"RFB 003.008\n")
        kinds = self.read(self.read(1)[0])
        assert 1 in kinds, f"security types {kinds!r}"
        self.say(b"\x01")
        assert self.read(4) == b"\0\0\0\0"
        self.say(b"\x00")
        self.width, self.height = struct.unpack(">HH", self.read(4))
        self.read(16)
        self.name = self.read(int.from_bytes(self.read(4))).decode()
        self.say(struct.pack(">BxxxBBBBHHHBBBxxx", 0, 32, 24, 0, 1, 255, 255, 255, 16, 8, 0))
        self.say(struct.pack(">BxH2i", 2, 2, _RAW, _DESKTOP_SIZE))

    def picture(self) -> bytes:
        """The whole screen, four bytes a pixel."""
        self.say(struct.pack(">BBHHHH", 3, 0, 0, 0, self.width, self.height))
        seen = bytearray(4 * self.width * self.height)
        covered = 0
        while covered < self.width * self.height:
            covered += self._message(seen)
        return bytes(seen)

    def _message(self, seen: bytearray) -> int:
        """The next message; how many pixels it painted."""
        kind = self.read(1)[0]
        if kind == 2:  # bell
            return 0
        if kind == 3:  # the clipboard
            self.read(3)
            self.read(int.from_bytes(self.read(4)))
            return 0
        assert kind == 0, f"message {kind}"
        self.read(1)
        painted = 0
        for _ in range(int.from_bytes(self.read(2))):
            x, y, width, height, encoding = struct.unpack(">HHHHi", self.read(12))
            if encoding == _DESKTOP_SIZE:
                continue
            assert encoding == _RAW
            pixels = self.read(4 * width * height)
            for row in range(height):
                start = 4 * ((y + row) * self.width + x)
                seen[start : start + 4 * width] = pixels[4 * width * row : 4 * width * (row + 1)]
            painted += width * height
        return painted

    def closed(self) -> tuple[int | None, str]:
        """How the WebSocket was closed, once it is."""
        try:
            while True:
                self._websocket.recv(PATIENCE_S)
        except ConnectionClosed as end:
            return (end.rcvd.code, end.rcvd.reason) if end.rcvd else (None, "")

    # Saying

    def say(self, words: bytes) -> None:
        self._websocket.send(words)

    def key(self, letter: str) -> None:
        for is_down in (1, 0):
            self.say(struct.pack(">BBHI", 4, is_down, 0, ord(letter)))

    def press(self, letter: str) -> None:
        self.say(struct.pack(">BBHI", 4, 1, 0, ord(letter)))

    def point(self, x: int, y: int) -> None:
        self.say(struct.pack(">BBHH", 5, 0, x, y))


@contextmanager
def opened(websocket_url: str) -> Iterator[Viewer]:
    """The WebSocket, before the first word. By whatever name the sandbox has: all are on loopback here."""
    port = urlsplit(websocket_url).port
    assert port is not None
    door = socket.create_connection(("127.0.0.1", port))
    with connect(
        websocket_url, sock=door, subprotocols=[Subprotocol("binary")], open_timeout=PATIENCE_S, ping_interval=None, max_size=None
    ) as websocket:
        yield Viewer(websocket)


@contextmanager
def watching(websocket_url: str) -> Iterator[Viewer]:
    with opened(websocket_url) as viewer:
        viewer.meet()
        yield viewer
