"""A server that can be told to die: `python -m tests.real.doomed HOME READY_FD`.

It kills itself with -9 the moment it comes to the step that is named in HOME/dies-at. The file is gone afterwards, so that the
next server on this home lives.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import anyio
from rich.console import Console

from roost import serving
from roost.settings import Settings
from roost.setup.boards import show_progress
from roost.setup.installation import install

DIES_AT = "dies-at"


def main(home: str, ready_fd: str) -> None:
    settings = Settings.load(home=Path(home), port=0)
    with show_progress(Console(stderr=True)) as board:
        installation = install(settings, board)
    order = settings.home / DIES_AT

    def die_if_told(step: str) -> None:
        if order.exists() and order.read_text() == step:
            order.unlink()
            os.kill(os.getpid(), signal.SIGKILL)

    def on_ready(info: serving.ServerInfo) -> None:
        os.write(int(ready_fd), json.dumps({"url": info.url, "pid": info.pid, "key": info.key}).encode())
        os.close(int(ready_fd))

    async def serve() -> None:
        await serving.serve(settings, installation, on_ready=on_ready, crash_point=die_if_told)

    anyio.run(serve, backend_options={"use_uvloop": True})


if __name__ == "__main__":
    main(*sys.argv[1:])
