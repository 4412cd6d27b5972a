"""Servers that can be told to die, forked one after the other: `mortal` starts this and sends it the orders.

Such a server's node is a `doomed_node`: it kills the server, or itself alone, when it comes to a step that it was told.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path

import anyio
from rich.console import Console

from roost.serving import server
from roost.settings import Settings
from roost.setup.boards import show_progress
from roost.setup.installation import install

ORDER_BYTES = 1 << 20


def take_orders(orders: socket.socket) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # who watches a server is waited for by nobody
    while True:
        order, given, *_ = socket.recv_fds(orders, ORDER_BYTES, 3)
        if not order:
            return
        if not os.fork():
            orders.close()
            log, ready, told = given
            _watch(log, ready, told, **json.loads(order))
        for descriptor in given:
            os.close(descriptor)


def _watch(log: int, ready: int, told: int, *, home: str, environment: Mapping[str, str]) -> None:
    """Tells the server's pid, and how it ended once it has."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if not pid:
        os.close(told)
        _run(log, ready, Path(home), environment)
    os.write(told, b"%d\n" % pid)
    for descriptor in (log, ready):
        os.close(descriptor)
    _, status = os.waitpid(pid, 0)
    os.write(told, b"%d\n" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def _run(log: int, ready: int, home: Path, environment: Mapping[str, str]) -> None:
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ.clear()
    os.environ.update(environment)
    code = 1
    try:
        _serve(home, ready)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)  # nothing of the process that it was forked from is to be ended by it


def _serve(home: Path, ready: int) -> None:
    settings = Settings.load(home=home, port=0)
    with show_progress(Console(stderr=True)) as board:
        installation = install(settings, board)

    def on_ready(info: server.ServerInfo) -> None:
        os.write(ready, json.dumps({"url": info.url, "pid": info.pid, "key": info.key}).encode())
        os.close(ready)

    async def serve() -> None:
        await server.serve(settings, installation, on_ready=on_ready, node_module="tests.real.doomed_node")

    anyio.run(serve, backend_options={"use_uvloop": True})


if __name__ == "__main__":
    take_orders(socket.socket(fileno=int(sys.argv[1])))
