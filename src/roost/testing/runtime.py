"""A runtime in memory that keeps `contracts.runtime` to the letter: its containers hold a counter instead of a guest."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from roost.contracts.runtime import Capabilities, Inspection
from roost.domain.errors import EngineFailed, SandboxLost
from roost.domain.victims import GuestProcess

_IMAGE = "checkpoint.img"


@dataclass(slots=True)
class _Container:
    counter: int = 0
    frozen: bool = False
    ended: anyio.Event = field(default_factory=anyio.Event)


class FakeRuntime:
    def __init__(self, *, engine: str = "fake 1") -> None:
        self._capabilities = Capabilities(engine=engine, flags=("--fake",), memory=True, connections=False)
        self._containers: dict[str, _Container] = {}

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    async def start(self, container: str, bundle: Path) -> None:
        if not (bundle / "config.json").exists():
            raise EngineFailed(f"boot container {container}", "the bundle has no config.json")
        self._containers.setdefault(container, _Container())

    async def restore(self, container: str, bundle: Path, image: Path) -> None:
        if not (bundle / "config.json").exists():
            raise EngineFailed(f"restore container {container}", "the bundle has no config.json")
        try:
            saved = json.loads((image / _IMAGE).read_text())
        except (OSError, ValueError) as error:
            raise EngineFailed(f"restore container {container}", f"the image cannot be read ({error})") from error
        self._containers.setdefault(container, _Container(counter=saved["counter"]))

    async def freeze(self, container: str, *, deep: bool = False) -> None:
        self._living(container).frozen = True

    async def thaw(self, container: str) -> None:
        self._living(container).frozen = False

    async def checkpoint(self, container: str, into: Path) -> None:
        living = self._living(container)
        if not into.is_dir() or any(into.iterdir()):
            raise EngineFailed(f"checkpoint container {container}", f"{into} is not an empty directory")
        (into / _IMAGE).write_text(json.dumps({"counter": living.counter}))

    async def kill(self, container: str) -> None:
        if found := self._containers.pop(container, None):
            found.ended.set()

    async def inspect(self, container: str) -> Inspection:
        found = self._containers.get(container)
        alive = found is not None and not found.ended.is_set()
        return Inspection(alive=alive, pid=None)

    async def processes(self, container: str, *, in_full: bool = True) -> tuple[GuestProcess, ...]:
        return (GuestProcess(1, "agent", 1 << 20),) if container in self._containers else ()

    async def signal(self, container: str, pid: int, number: int) -> None:
        self._living(container)

    async def wait(self, container: str) -> None:
        if found := self._containers.get(container):
            await found.ended.wait()

    def crash(self, container: str) -> None:
        """The process ends by itself."""
        self._living(container).ended.set()

    def _living(self, container: str) -> _Container:
        found = self._containers.get(container)
        if found is None or found.ended.is_set():
            raise SandboxLost(container, "there is no such process")
        return found
