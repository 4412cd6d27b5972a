"""Runs inside a sandbox: opens and closes connections on loopback, so many a second, and tells which of them had to wait.

    connector.py <connections a second> <connections made first, as fast as they can be>

Both ends close first in turn, so that both remember connections. "ready" after the first ones. A line of JSON when it is told to
end (a line on its standard input): how many there were, from when until when those took that took longer than QUICK_S, and from
when until when nothing ran here at all, since the sandbox was asleep or the machine busy. Standard library only.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time

THREADS = 16
QUICK_S = 0.5
GIVES_UP_S = 60.0
BEAT_S = 0.05
MISSED_S = 0.25  # beats that are so late show that nothing ran


class Connector:
    def __init__(self, rate: float) -> None:
        self.pause_s = THREADS / rate
        self.count = 0
        self.slow: list[tuple[float, float]] = []
        self.missed: list[tuple[float, float]] = []
        self.ending = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)

    def serve(self) -> None:
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.answer, args=(client,), daemon=True).start()

    def answer(self, client: socket.socket) -> None:
        with client:
            client.sendall(b"x")
            if client.recv(1) == b"c":  # the caller closes first
                client.recv(1)

    def call(self, first: bytes) -> None:
        began = time.time()
        try:
            with socket.create_connection(self.listener.getsockname(), timeout=GIVES_UP_S) as connection:
                connection.sendall(first)
                while connection.recv(1) and first == b"s":
                    continue
        except OSError:
            self.slow.append((began, began + GIVES_UP_S))
            return
        ended = time.time()
        self.count += 1
        if ended - began > QUICK_S:
            self.slow.append((began, ended))

    def keep_calling(self) -> None:
        first = b"s"
        while not self.ending.is_set():
            self.call(first)
            first = b"c" if first == b"s" else b"s"
            self.ending.wait(self.pause_s)

    def beat(self) -> None:
        last = time.time()
        while True:
            time.sleep(BEAT_S)
            now = time.time()
            if now - last > MISSED_S:
                self.missed.append((last, now))
            last = now


def main() -> None:
    connector = Connector(float(sys.argv[1]))
    threading.Thread(target=connector.beat, daemon=True).start()
    threading.Thread(target=connector.serve, daemon=True).start()
    for _ in range(int(sys.argv[2])):
        connector.call(b"s")
    callers = [threading.Thread(target=connector.keep_calling) for _ in range(THREADS)]
    for caller in callers:
        caller.start()
    tell("ready")
    sys.stdin.readline()
    connector.ending.set()
    for caller in callers:
        caller.join()
    tell(json.dumps({"count": connector.count, "slow": connector.slow, "missed": connector.missed}))


def tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
