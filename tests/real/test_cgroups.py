"""A container that was put out has no cgroup any more, though the kernel keeps one until its last process has ended."""

from __future__ import annotations

import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from roost.archive.keys import VolumePaths
from roost.node.engine.bundle import Agent
from roost.node.engine.containers import Containers, Engines
from roost.node.engine.meter import CGROUPS, Meter
from roost.node.inventory import Journal, Phase
from roost.node.network.slots import Slots
from roost.node.storage.attachments import Attachments
from roost.testing.runtime import FakeRuntime

pytestmark = pytest.mark.anyio


class Watched(Meter):
    """Tells when it has found the cgroup in use."""

    def __init__(self, volume: Path) -> None:
        super().__init__(volume=volume)
        self.was_in_use = anyio.Event()

    def remove_cgroup(self, cgroup: str) -> bool:
        gone = super().remove_cgroup(cgroup)
        if not gone:
            self.was_in_use.set()
        return gone


@pytest.fixture
def parent() -> Iterator[str]:
    name = f"roost-test-{secrets.token_hex(3)}"
    yield name
    assert Meter(volume=Path("/")).remove_cgroup(name)


@pytest.fixture
def straggler() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "1000"]) as process:
        yield process
        process.kill()


async def test_a_container_whose_processes_are_still_ending(
    parent: str, straggler: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    folder = (CGROUPS if (CGROUPS / "cgroup.controllers").exists() else CGROUPS / "memory") / parent / "one"
    folder.mkdir(parents=True)
    meter, engine = Watched(tmp_path), FakeRuntime()
    (folder / "cgroup.procs").write_text(str(straggler.pid))
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            containers = Containers(
                volume=VolumePaths(tmp_path),
                engines=Engines(engine, {"fake 1": engine}),
                slots=Slots(instance="t0000", tasks=tasks),
                agent=Agent("none", tmp_path, (), {}),
                meter=meter,
                cgroup_parent=parent,
                cpu_features=frozenset(),
                attachments=Attachments(tmp_path / "volumes"),
            )
            tasks.start_soon(containers.end_processes, Journal(Phase.RUNNING, "one", "fake 1", None, None))
            await meter.was_in_use.wait()
            straggler.kill()
    left = folder.exists()
    straggler.wait()
    meter.remove_cgroup(f"{parent}/one")
    assert not left
