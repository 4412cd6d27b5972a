"""The process of a node that dies with -9 the moment it comes to the step that is named in HOME/dies-at: with its whole server,
or alone where the file says so. The file is gone afterwards, so that the next one on this home lives."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path

from roost.serving.node import serve_node
from roost.serving.role import Duty, run_role
from tests.real.mortal import ALONE, DIES_AT


def die_if_told(home: Path, step: str) -> None:
    order = home / DIES_AT
    if not order.exists():
        return
    told, _, how = order.read_text().partition("\n")
    if told == step:
        order.unlink()
        if how != ALONE:
            os.kill(os.getppid(), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)


async def serve(duty: Duty) -> None:
    await serve_node(duty, partial(die_if_told, duty.settings.home))


if __name__ == "__main__":
    run_role(serve)
