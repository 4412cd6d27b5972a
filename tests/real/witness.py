"""Runs inside a sandbox and notices anything that a sleep takes away. Standard library only; `notice` sets it up from outside.

One thread counts. Every number goes over a loopback connection whose far end checks that none is missing, and into a file that
was deleted right after it was opened. Whoever connects to LINE_PORT and sends a line, or asks HTTP_PORT, gets the state as JSON.
"""

from __future__ import annotations

import hashlib
import http.server
import json
import os
import socket
import struct
import sys
import threading
import time

LINE_PORT = 7000
HTTP_PORT = 7001
BLOB_BYTES = 8 << 20
PAUSE_S = 0.005

NUMBER = struct.Struct(">Q")


class Witness:
    def __init__(self) -> None:
        self.blob = os.urandom(BLOB_BYTES)
        self.birth = os.urandom(8).hex()
        self.count = 0
        self.heard = 0
        self.faults: list[str] = []
        self.file = open("witness.file", "w+b", buffering=0)  # noqa: PTH123, SIM115
        os.unlink("witness.file")  # noqa: PTH108
        listener = socket.create_server(("127.0.0.1", 0))
        self.near = socket.create_connection(listener.getsockname())
        self.far = listener.accept()[0]
        self.lines = socket.create_server(("0.0.0.0", LINE_PORT))
        self.counting = threading.Lock()  # held from one whole count to the next: whoever looks sees no half of one

    def count_on(self) -> None:
        try:
            while True:
                with self.counting:
                    self.count += 1
                    number = NUMBER.pack(self.count)
                    self.file.write(number)
                    self.near.sendall(number)
                time.sleep(PAUSE_S)
        except OSError as error:
            self.faults.append(f"counting stopped at {self.count}: {error}")

    def hear(self) -> None:
        stream = self.far.makefile("rb")
        while number := stream.read(NUMBER.size):
            (heard,) = NUMBER.unpack(number)
            if heard != self.heard + 1:
                self.faults.append(f"heard {heard} after {self.heard}")
            self.heard = heard
        self.faults.append("the loopback connection was closed")

    def state(self) -> bytes:
        with self.counting:
            count, heard = self.count, self.heard
            size = os.fstat(self.file.fileno()).st_size // NUMBER.size
        written = os.pread(self.file.fileno(), size * NUMBER.size, 0)
        is_whole = written == b"".join(map(NUMBER.pack, range(1, size + 1)))
        state = {
            "birth": self.birth,
            "pid": os.getpid(),
            "count": count,
            "heard": heard,
            "written": size,
            "file_is_whole": is_whole,
            "file_is_deleted": not os.path.exists("witness.file"),  # noqa: PTH110
            "blob": hashlib.sha256(self.blob).hexdigest(),
            "faults": self.faults,
        }
        return json.dumps(state).encode()

    def answer_lines(self) -> None:
        while True:
            connection, _ = self.lines.accept()
            threading.Thread(target=self._answer_lines_of, args=(connection,), daemon=True).start()

    def _answer_lines_of(self, connection: socket.socket) -> None:
        """The first line of an HTTP upgrade is agreed to; from then on, as without one, a line is a question."""
        stream = connection.makefile("rwb", buffering=0)
        for line in stream:
            if line.startswith(b"GET "):
                while stream.readline() not in (b"\r\n", b""):
                    pass
                stream.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: lines\r\n\r\n")
                continue
            stream.write(self.state() + b"\n")


def main() -> None:
    witness = Witness()

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state = witness.state()
            self.send_response(200)
            self.send_header("Content-Length", str(len(state)))
            self.end_headers()
            self.wfile.write(state)

    for work in (witness.hear, witness.answer_lines, witness.count_on):
        threading.Thread(target=work, daemon=True).start()
    server = http.server.ThreadingHTTPServer(("0.0.0.0", HTTP_PORT), Answer)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
