"""The gVisor driver against the runtime's conformance suite, and what only a real engine can show."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from roost.domain.errors import EngineFailed
from roost.domain.sandbox import Size
from roost.drivers.runtime.gvisor import GVisor
from roost.node.bundle import Agent, Place, boot_spec
from roost.setup.engine import Engine
from roost.setup.interpreter import Interpreter
from roost.testing.conformance.runtime import Bench, RuntimeConformance

COUNT = "import time, os\nn = 0\nwhile True:\n    n += 1\n    time.sleep(0.01)\n"


@pytest.fixture
def state() -> Path:
    return Path("/run") / f"roost-test-{secrets.token_hex(3)}"


@pytest.fixture
def gvisor(engine: Engine, state: Path) -> Iterator[GVisor]:
    runtime = GVisor(runsc=engine.path, version=engine.version, state=state)
    yield runtime
    anyio.run(_kill_all, runtime, state)
    runtime.dispose()
    assert not state.exists()


async def _kill_all(runtime: GVisor, state: Path) -> None:
    for file in state.glob("*.state"):
        await runtime.kill(file.name.partition("_sandbox:")[0])


@pytest.fixture
def bench(gvisor: GVisor, interpreter: Interpreter, tmp_path: Path) -> Bench:
    """Containers whose root is the agent's interpreter, counting."""

    def bundle(name: str) -> Path:
        path = tmp_path / name
        path.mkdir()
        nothing = tmp_path / f"{name}-mount"
        nothing.mkdir()
        agent = Agent("none", nothing, (*interpreter.command(""), "-c", COUNT), {"PYTHONHOME": "/usr"})
        place = Place(root=interpreter.path, netns="", cgroup=f"/roost-test-{tmp_path.name}/{name}", size=Size(disk_mb=0))
        spec = boot_spec(agent, place)
        spec["root"]["readonly"] = True
        spec["mounts"] = [mount for mount in spec["mounts"] if mount["destination"] != "/.roost"]
        for namespace in spec["linux"]["namespaces"]:
            namespace.pop("path", None)  # one of its own, empty
        del spec["linux"]["cgroupsPath"], spec["linux"]["resources"]
        (path / "config.json").write_text(json.dumps(spec))
        return path

    images = tmp_path / "images"
    images.mkdir()
    return Bench(gvisor, bundle, images)


class TestGVisor(RuntimeConformance):
    async def test_a_frozen_container_stays_frozen_after_its_checkpoint(self, bench: Bench) -> None:
        await bench.runtime.start("one", bench.bundle("one"))
        await bench.runtime.freeze("one")
        await bench.runtime.checkpoint("one", bench.image("image"))
        # The engine counts freezes: a checkpoint must not have thawed it, nor frozen it once more.
        await bench.runtime.thaw("one")
        await bench.runtime.freeze("one")
        await bench.runtime.thaw("one")
        await bench.runtime.kill("one")

    async def test_a_checkpoint_into_a_used_directory_is_refused_and_the_container_lives(self, bench: Bench) -> None:
        image = bench.image("image")
        await bench.runtime.start("one", bench.bundle("one"))
        await bench.runtime.freeze("one")
        await bench.runtime.checkpoint("one", image)
        with pytest.raises(EngineFailed):
            await bench.runtime.checkpoint("one", image)
        await bench.runtime.thaw("one")
        assert (await bench.runtime.inspect("one")).alive
        await bench.runtime.kill("one")

    async def test_nothing_stays_mounted_after_containers_that_started_side_by_side(
        self, bench: Bench, gvisor: GVisor, state: Path
    ) -> None:
        """The first ones each mount the engine's empty namespace, at times one over the other; here for sure."""
        await bench.runtime.start("one", bench.bundle("one"))
        namespace = state / "null-netns"
        await anyio.run_process(("mount", "--bind", str(namespace), str(namespace)))
        await bench.runtime.kill("one")
        gvisor.dispose()
        assert str(state) not in Path("/proc/self/mountinfo").read_text()
        assert not state.exists()
