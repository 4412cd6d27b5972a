"""A home whose engine changes, as with an update of Roost that brings another: what was made with the old one goes on with it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from roost.client import Sandbox
from roost.setup.engine import Engine
from roost.setup.engine_build import GVISOR
from tests.real.server import Server, said, sandbox_of, serving


def test_what_ran_and_slept_on_another_engine_goes_on_with_it(engine: Engine, cache: Path, tmp_path: Path) -> None:
    # That of Roost 0.1.0, if this machine had it; else this one under another name.
    plain = cache / "engines" / GVISOR / "runsc"
    older = shutil.copy2(plain if plain.is_file() else engine.path, tmp_path / "runsc")
    with serving(engine=older) as server, sandbox_of(server) as asleep, sandbox_of(server) as awake:
        was = engine_of(server, asleep)
        for sandbox in (asleep, awake):
            said(sandbox, "echo in memory > /dev/shm/mark")
        asleep.pause()
        server.stop()
        del server.settings["engine"]
        server.start()
        asleep, awake = (server.roost.get(each.id) for each in (asleep, awake))
        assert awake.record.state == "running"
        assert not asleep.resume().cold
        awake.pause()
        assert not awake.resume().cold
        for sandbox in (asleep, awake):
            assert said(sandbox, "cat /dev/shm/mark") == "in memory"
            assert engine_of(server, sandbox) == was
        with sandbox_of(server) as new:
            assert said(new, "echo it works") == "it works"
            assert engine_of(server, new) == f"gvisor {engine.version}" != was


def engine_of(server: Server, sandbox: Sandbox) -> str:
    return json.loads((server.volume / "sandboxes" / sandbox.id / "journal.json").read_text())["engine"]
