"""The first process of such a server: `python -m tests.unit.serving.first HOME`. Says what its roles told, and each change."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import anyio

from roost.domain.errors import RoostError
from roost.domain.ids import NodeId
from roost.serving.role import Assignment
from roost.serving.supervisor import Role, Supervisor
from roost.settings import Settings
from roost.setup.agent import AgentBundle
from roost.setup.engine import Engine
from roost.setup.installation import Installation
from roost.setup.running import hold_home
from roost.setup.volume import Quotas, Volume
from roost.setup.web import Web
from roost.telemetry import log as logs


def say(message: object) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


async def serve(home: Path) -> None:
    logs.configure(logs.Format.CONSOLE)
    settings = Settings(home=home)
    installation = Installation(
        Engine("1", home),
        AgentBundle("1", home, (), {}),
        Volume(home, Quotas.NONE, is_loop=False),
        {},
        {},
        Web(home, "1"),
    )
    with hold_home(home) as lock:
        assignment = Assignment(settings.model_dump(mode="json"), installation, NodeId("n"), 0, os.getpid())
        roles = [Role(name, (sys.executable, "-m", "tests.unit.serving.actor", name)) for name in ("node", "control")]
        supervisor = Supervisor(
            roles, assignment, lock, on_change=lambda: say({role.name: [role.pid, role.restarts] for role in supervisor.roles})
        )
        try:
            await supervisor.run(say)
        except RoostError as error:
            say({"error": error.message})


if __name__ == "__main__":
    anyio.run(serve, Path(sys.argv[1]), backend_options={"use_uvloop": True})
