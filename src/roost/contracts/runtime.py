"""The engine that isolates: what a node needs of it. A container here is one OCI container holding one sandbox."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from roost.domain.victims import GuestProcess


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a driver can do, as data."""

    engine: str  # name and exact version: an image restores only on the same
    flags: tuple[str, ...]  # those that must be equal at restore
    memory: bool  # can checkpoint and restore memory
    connections: bool  # established TCP connections survive


@dataclass(frozen=True, slots=True)
class Inspection:
    alive: bool
    pid: int | None


class Runtime(Protocol):
    """All methods may be called twice with the same arguments; a container is named by an id of the caller's."""

    @property
    def capabilities(self) -> Capabilities:
        """What this driver can do. Never changes while the server runs."""
        ...

    async def start(self, container: str, bundle: Path) -> None:
        """A cold boot: the bundle's process runs. Raises EngineFailed; then nothing of the container is left."""
        ...

    async def restore(self, container: str, bundle: Path, image: Path) -> None:
        """The container runs on where the image left off, in the bundle's namespaces, cgroup and root.
        Raises EngineFailed; then nothing of the container is left."""
        ...

    async def freeze(self, container: str, *, deep: bool = False) -> None:
        """No guest instruction runs afterwards; its network stack still answers. Deep: nothing of it runs, the network stack and
        its clocks neither, and it costs no processor at all; all that may be asked of it then is to freeze less deep, to thaw or
        to end. May be repeated: it is frozen as deep as was asked last. Raises SandboxLost when it is gone."""
        ...

    async def thaw(self, container: str) -> None:
        """Runs again, however deep it was frozen. Raises SandboxLost when it is gone."""
        ...

    async def checkpoint(self, container: str, into: Path) -> None:
        """The memory of a frozen container is written into the empty directory `into` (not synced) and the container is still
        frozen. Raises EngineFailed (container still frozen, `into` to be thrown away) or SandboxLost."""
        ...

    async def kill(self, container: str) -> None:
        """Neither process nor state of the container is left. May be called for one that never was."""
        ...

    async def inspect(self, container: str) -> Inspection:
        """Whether it lives, by looking at the process. Cheap: no process is spawned."""
        ...

    async def processes(self, container: str, *, in_full: bool = True) -> tuple[GuestProcess, ...]:
        """The guest's processes, frozen or not; empty where they cannot be told. Not in full: without command lines and memory,
        in a fraction of the time, which counts when there are thousands."""
        ...

    async def signal(self, container: str, pid: int, number: int) -> None:
        """The guest's process has the signal, to be taken when it next runs. Raises SandboxLost; a process that is gone is
        none."""
        ...

    async def wait(self, container: str) -> None:
        """Returns when the container's process has ended. Does not poll."""
        ...
