"""A role of a server that is none: what it does at its start, the file in its home says. `test_supervisor` starts it."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import anyio

from roost.domain.errors import Conflict
from roost.serving.role import Duty, run_role


async def serve(duty: Duty) -> None:
    name, home = sys.argv[1], Path(duty.settings.home)
    script = home / name
    with anyio.open_signal_receiver(signal.SIGTERM) as signals:
        match script.read_text() if script.exists() else "serve":
            case "refuse":
                raise Conflict("port_taken", "The port is taken.")
            case "break":
                raise ZeroDivisionError
            case "die":
                os.kill(os.getpid(), signal.SIGKILL)
            case _:
                duty.tell_ready(**{name: os.getpid()})
        async for _ in signals:
            with (home / "ended").open("a") as ended:
                ended.write(f"{name}\n")
            return


if __name__ == "__main__":
    run_role(serve)
