"""A real server on a home of its own, gone with everything of it afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from roost.client.blocking.roost import Roost
from roost.settings import Settings
from roost.setup.running import find_running

WARM = 4


@dataclass(frozen=True, slots=True)
class Bench:
    """What the cases work with."""

    settings: Settings
    roost: Roost
    pid: int

    def role(self, name: str) -> int:
        """The pid of one of the server's processes."""
        running = find_running(self.settings.home)
        assert running is not None
        return next(role.pid for role in running.roles if role.name == name)


@contextmanager
def serving(**settings: object) -> Iterator[Bench]:
    """Settings are as in roost.toml. Unless told otherwise those that sleep do not doze: it is the sleep that is measured."""
    with tempfile.TemporaryDirectory(prefix="roost-bench-", dir="/var/tmp") as folder:
        home = Path(folder) / "home"
        # A machine that was set up from a bundle may have another definition under that name: ROOST_TEMPLATES=base=minimal.
        base = os.environ.get("ROOST_TEMPLATES", "base")
        wanted = {"home": home, "port": 0, "warm_pool": WARM, "templates": base, "doze_memory_share": 0, **settings}
        environment = {**os.environ, **{f"ROOST_{name.upper()}": str(value) for name, value in wanted.items()}}
        environment.pop("ROOST_URL", None)
        environment.pop("ROOST_API_KEY", None)
        _roost(environment, "up", "--detach")
        try:
            record = json.loads((home / "server.json").read_text())
            key = (home / "key").read_text().strip()
            with Roost(record["url"], key) as roost:
                yield Bench(Settings.load(home=home), roost, record["pid"])
                for sandbox in list(roost.sandboxes()):
                    if sandbox.state != "dead":
                        roost.get(sandbox.id).kill()
        finally:
            _roost(environment, "down", "--all")


def _roost(environment: dict[str, str], *words: str) -> None:
    subprocess.run([sys.executable, "-m", "roost.cli.main", *words], env=environment, check=True, stdout=subprocess.DEVNULL)
