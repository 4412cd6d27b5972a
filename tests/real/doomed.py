"""A server that kills itself with -9 when it first comes to a named step: `python -m tests.real.doomed STEP HOME READY_FD`."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import anyio
from rich.console import Console

from roost import wiring
from roost.settings import Settings
from roost.setup.boards import show_progress
from roost.setup.installation import install


def main(step: str, home: str, ready_fd: str) -> None:
    settings = Settings.load(home=Path(home), port=0)
    with show_progress(Console(stderr=True)) as board:
        installation = install(settings, board)
    serving = False

    def die_at(reached: str) -> None:
        if serving and reached == step:
            os.kill(os.getpid(), signal.SIGKILL)

    def on_ready(info: wiring.ServerInfo) -> None:
        nonlocal serving
        serving = True
        os.write(int(ready_fd), json.dumps({"url": info.url, "pid": info.pid, "key": info.key}).encode())
        os.close(int(ready_fd))

    async def serve() -> None:
        await wiring.serve(settings, installation, on_ready=on_ready, crash_point=die_at)

    anyio.run(serve, backend_options={"use_uvloop": True})


if __name__ == "__main__":
    main(*sys.argv[1:])
