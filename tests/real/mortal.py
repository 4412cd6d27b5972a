"""How tests get servers that can be told to die (`doomed`).

They are forked from one process that has imported everything: to import what a server is made of takes two seconds of a
processor, and whoever kills servers by the dozen would spend most of the time on that.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
DIES_AT = "dies-at"  # the file in the home that names the step
ALONE = "alone"  # on its second line: the node's process dies, and the server's others do not


class Mortal:
    """Such a server's process, with as much of `subprocess.Popen` as a test needs."""

    def __init__(self, home: Path, environment: Mapping[str, str], log: int, ready: int) -> None:
        """It has copies of the two descriptors: it writes its log to one, and to the other its address once it serves."""
        reader, writer = os.pipe()
        order = json.dumps({"home": str(home), "environment": dict(environment)}).encode()
        socket.send_fds(_nursery(), [order], [log, ready, writer])
        os.close(writer)
        self._told = os.fdopen(reader, "rb", buffering=0)
        first = self._told.readline()
        assert first, "nobody forked it: what the process said that it should have been forked from is above"
        self.pid = int(first)
        self._code: int | None = None

    def kill(self) -> None:
        self._send(signal.SIGKILL)

    def terminate(self) -> None:
        self._send(signal.SIGTERM)

    def poll(self) -> int | None:
        return self._look(0)

    def wait(self, timeout: float) -> int:
        code = self._look(timeout)
        if code is None:
            raise subprocess.TimeoutExpired("a server that can be told to die", timeout)
        return code

    def _send(self, number: signal.Signals) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it ended meanwhile
                os.kill(self.pid, number)

    def _look(self, timeout: float) -> int | None:
        if self._code is None and select.select([self._told], [], [], timeout)[0]:
            self._code = int(self._told.readline())
            self._told.close()
        return self._code


@functools.cache
def _nursery() -> socket.socket:
    """The process that servers are forked from takes orders here. It ends when nobody holds this any more."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        words = [sys.executable, "-m", "tests.real.doomed", str(theirs.fileno())]
        process = subprocess.Popen(words, cwd=REPOSITORY, stdin=subprocess.DEVNULL, pass_fds=(theirs.fileno(),))

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours
