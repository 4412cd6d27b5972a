from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.drivers.runtime.gvisor import GVisor

pytestmark = pytest.mark.anyio


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "1000"]) as process:
        yield process
        process.kill()


async def test_a_number_that_became_a_strangers_is_neither_alive_nor_killed(
    tmp_path: Path, stranger: subprocess.Popen[bytes]
) -> None:
    runtime = GVisor(runsc=Path("/bin/true"), version="1", state=tmp_path)
    state = {"sandbox": {"pid": stranger.pid, "controlSocketPath": ""}}
    (tmp_path / "one_sandbox:one.state").write_text(json.dumps(state))
    assert not (await runtime.inspect("one")).alive
    await runtime.kill("one")
    assert stranger.poll() is None
