"""What every runtime must do. A driver's test module subclasses `RuntimeConformance` and gives it a `bench`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import anyio
import pytest

from roost.contracts.runtime import Runtime
from roost.domain.errors import EngineFailed, SandboxLost


class MakeBundle(Protocol):
    def __call__(self, name: str) -> Path: ...


@dataclass(frozen=True, slots=True)
class Bench:
    """A runtime, a way to make bundles for it, and room for images."""

    runtime: Runtime
    bundle: MakeBundle
    images: Path

    def image(self, name: str) -> Path:
        path = self.images / name
        path.mkdir()
        return path


class RuntimeConformance:
    pytestmark = pytest.mark.anyio

    async def test_a_started_container_lives_until_it_is_killed(self, bench: Bench) -> None:
        await bench.runtime.start("one", bench.bundle("one"))
        assert (await bench.runtime.inspect("one")).alive
        await bench.runtime.kill("one")
        assert not (await bench.runtime.inspect("one")).alive

    async def test_kill_may_be_called_twice_and_for_one_that_never_was(self, bench: Bench) -> None:
        await bench.runtime.kill("nobody")
        await bench.runtime.start("one", bench.bundle("one"))
        await bench.runtime.kill("one")
        await bench.runtime.kill("one")

    async def test_a_bundle_without_a_spec_is_refused_and_leaves_nothing(self, bench: Bench) -> None:
        bundle = bench.bundle("one")
        (bundle / "config.json").unlink()
        with pytest.raises(EngineFailed):
            await bench.runtime.start("one", bundle)
        assert not (await bench.runtime.inspect("one")).alive

    async def test_a_checkpoint_leaves_the_container_and_restores_into_another(self, bench: Bench) -> None:
        image = bench.image("image")
        await bench.runtime.start("one", bench.bundle("one"))
        await bench.runtime.freeze("one")
        await bench.runtime.checkpoint("one", image)
        await bench.runtime.thaw("one")
        assert any(image.iterdir())
        await bench.runtime.restore("two", bench.bundle("two"), image)
        assert (await bench.runtime.inspect("one")).alive
        assert (await bench.runtime.inspect("two")).alive
        await bench.runtime.kill("one")
        assert (await bench.runtime.inspect("two")).alive
        await bench.runtime.kill("two")

    async def test_an_image_that_is_none_is_refused_and_leaves_nothing(self, bench: Bench) -> None:
        with pytest.raises(EngineFailed):
            await bench.runtime.restore("one", bench.bundle("one"), bench.image("empty"))
        assert not (await bench.runtime.inspect("one")).alive

    async def test_what_is_gone_cannot_be_frozen_thawed_or_checkpointed(self, bench: Bench) -> None:
        for act in (bench.runtime.freeze, bench.runtime.thaw):
            with pytest.raises(SandboxLost):
                await act("nobody")
        with pytest.raises(SandboxLost):
            await bench.runtime.checkpoint("nobody", bench.image("image"))

    async def test_wait_returns_when_the_process_ends(self, bench: Bench) -> None:
        await bench.runtime.start("one", bench.bundle("one"))
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(bench.runtime.wait, "one")
                await anyio.lowlevel.checkpoint()
                await bench.runtime.kill("one")

    async def test_wait_for_one_that_never_was_returns_at_once(self, bench: Bench) -> None:
        with anyio.fail_after(60):
            await bench.runtime.wait("nobody")

    async def test_processes_of_a_running_container_are_told(self, bench: Bench) -> None:
        await bench.runtime.start("one", bench.bundle("one"))
        first = (await bench.runtime.processes("one"))[0]
        assert first.pid == 1
        assert first.memory_bytes > 0
        assert [each.pid for each in await bench.runtime.processes("one", in_full=False)] == [1]
        await bench.runtime.kill("one")
        assert await bench.runtime.processes("one") == ()

    async def test_capabilities_do_not_change(self, bench: Bench) -> None:
        assert bench.runtime.capabilities == bench.runtime.capabilities
        assert bench.runtime.capabilities.memory

    async def test_a_signal_to_a_process_that_is_gone_is_none(self, bench: Bench) -> None:
        await bench.runtime.start("one", bench.bundle("one"))
        await bench.runtime.signal("one", 4711, 9)
        assert (await bench.runtime.inspect("one")).alive
        await bench.runtime.kill("one")
        with pytest.raises(SandboxLost):
            await bench.runtime.signal("one", 1, 9)
