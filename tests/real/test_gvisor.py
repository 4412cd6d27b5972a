"""The gVisor driver against the runtime's conformance suite, and what only a real engine can show."""

from __future__ import annotations

import json
import os
import secrets
import select
import signal
import subprocess
from collections.abc import Collection, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import anyio
import pytest

from roost.domain.errors import EngineFailed
from roost.domain.sandbox import Size
from roost.drivers.runtime.gvisor import EngineDeadlines, GVisor
from roost.node.engine.bundle import Agent, ContainerPlace, boot_spec
from roost.node.engine.meter import CGROUPS, Meter
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
    for cgroup in {path.name for path in CGROUPS.glob(f"**/{state.name}-*")}:  # the node's to remove, for which none is here
        anyio.run(_remove_cgroup, f"/{cgroup}")


async def _kill_all(runtime: GVisor, state: Path) -> None:
    for file in state.glob("*.state"):
        await runtime.kill(file.name.partition("_sandbox:")[0])


def _processes_in(file: Path) -> tuple[int, int]:
    """Its kernel, and who opens files for it, as the engine wrote them down."""
    told = json.loads(file.read_text())
    return told["sandbox"]["pid"], told["goferPid"]


@pytest.fixture
def strangers() -> Iterator[tuple[subprocess.Popen[bytes], ...]]:
    with subprocess.Popen(["sleep", "1000"]) as one, subprocess.Popen(["sleep", "1000"]) as other:
        yield one, other
        one.kill()
        other.kill()


async def _end(pid: int) -> None:
    with suppress(ProcessLookupError), os.fdopen(os.pidfd_open(pid)) as process:
        signal.pidfd_send_signal(process.fileno(), signal.SIGKILL)
        await anyio.wait_readable(process)


async def _remove_cgroup(cgroup: str) -> None:
    """What a node does for containers that the engine knows of no more."""
    with anyio.fail_after(60):
        while not Meter(volume=Path("/")).remove_cgroup(cgroup):  # noqa: ASYNC110  nothing tells
            await anyio.sleep(0.01)


async def _thaw_when_doomed(freezer: Path, pids: Collection[int]) -> None:
    while not all(_is_doomed(pid) for pid in pids):  # noqa: ASYNC110  nothing tells
        await anyio.sleep(0.001)
    freezer.write_text("THAWED")


def _is_doomed(pid: int) -> bool:
    """Whether it was sent a SIGKILL."""
    try:
        status = dict(line.split(":\t") for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    except (FileNotFoundError, ProcessLookupError):
        return True
    return bool((int(status["SigPnd"], 16) | int(status["ShdPnd"], 16)) >> (signal.SIGKILL - 1) & 1)


@pytest.fixture
def bench(gvisor: GVisor, interpreter: Interpreter, state: Path, tmp_path: Path) -> Bench:
    """Containers whose root is the agent's interpreter, counting."""

    def bundle(name: str) -> Path:
        path = tmp_path / name
        path.mkdir()
        nothing = tmp_path / f"{name}-mount"
        nothing.mkdir()
        agent = Agent("none", nothing, (*interpreter.command(""), "-c", COUNT), {"PYTHONHOME": "/usr"})
        place = ContainerPlace(
            root=interpreter.path, netns="", cgroup=f"/{state.name}-{name}", size=Size(disk_mb=0), volumes=nothing
        )
        spec = boot_spec(agent, place)
        spec["root"]["readonly"] = True
        spec["mounts"] = [mount for mount in spec["mounts"] if not mount["destination"].startswith("/.roost")]
        for namespace in spec["linux"]["namespaces"]:
            namespace.pop("path", None)  # one of its own, empty
        del spec["linux"]["resources"]
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

    async def test_who_is_frozen_deep_stands_still_as_a_whole_until_it_is_frozen_less_deep(self, bench: Bench) -> None:
        await bench.runtime.start("one", bench.bundle("one"))
        for _ in range(2):
            await bench.runtime.freeze("one", deep=True)
            sentry = (await bench.runtime.inspect("one")).pid
            threads = list(Path(f"/proc/{sentry}/task").glob("*/stat"))
            assert threads and {stat.read_text().rpartition(")")[2].split()[0] for stat in threads} == {"T"}
        await bench.runtime.freeze("one")
        await bench.runtime.checkpoint("one", bench.image("image"))  # it answers again, and is frozen
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

    async def test_a_kernel_that_hangs_is_not_waited_for_and_can_be_killed(
        self, bench: Bench, engine: Engine, state: Path
    ) -> None:
        await bench.runtime.start("one", bench.bundle("one"))
        kernel, _ = _processes_in(state / "one_sandbox:one.state")
        os.kill(kernel, signal.SIGSTOP)
        impatient = GVisor(
            runsc=engine.path, version=engine.version, state=state, patience=EngineDeadlines(call_s=0.5, stall_s=0.5)
        )
        with anyio.fail_after(60):
            with pytest.raises(EngineFailed):
                await impatient.freeze("one")
            with pytest.raises(EngineFailed):
                await impatient.checkpoint("one", bench.image("image"))
            await impatient.kill("one")
        assert not (await bench.runtime.inspect("one")).alive

    async def test_what_a_launch_left_without_a_state_file_has_ended_when_it_was_killed(self, bench: Bench, state: Path) -> None:
        """A launch that is given up midway leaves processes before there is a state file. Here the file is taken away, and the
        processes take their time."""
        await bench.runtime.start("one", bench.bundle("one"))
        file = state / "one_sandbox:one.state"
        pids = _processes_in(file)
        file.unlink()
        freezer = CGROUPS / "freezer" / f"{state.name}-one" / "freezer.state"  # of cgroup v1: what is frozen does not even die
        with ExitStack() as opened, anyio.fail_after(60):
            processes = [opened.enter_context(os.fdopen(os.pidfd_open(pid))) for pid in pids]
            async with anyio.create_task_group() as tasks:
                if freezer.exists():
                    freezer.write_text("FROZEN")
                    opened.callback(freezer.write_text, "THAWED")
                    tasks.start_soon(_thaw_when_doomed, freezer, pids)
                await bench.runtime.kill("one")
                assert select.select(processes, [], [], 0)[0] == processes, "they have ended"
        await _remove_cgroup(f"/{state.name}-one")

    async def test_numbers_that_became_strangers_are_not_killed(
        self, bench: Bench, gvisor: GVisor, state: Path, strangers: tuple[subprocess.Popen[bytes], ...]
    ) -> None:
        """The engine writes down the numbers of its processes and kills whoever has them when it is told to delete. Here its own
        are dead, as after hours without a server, and the numbers others'."""
        await gvisor.start("one", bench.bundle("one"))
        file = state / "one_sandbox:one.state"
        for pid in _processes_in(file):
            await _end(pid)
        told = json.loads(file.read_text())
        told["sandbox"]["pid"], told["goferPid"] = (stranger.pid for stranger in strangers)
        file.write_text(json.dumps(told))
        await gvisor.kill("one")
        assert [stranger.poll() for stranger in strangers] == [None, None], "they live"
        assert not list(state.glob("*one*")), "the engine knows nothing of it any more"
        await _remove_cgroup(f"/{state.name}-one")

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
