"""What containers leave on the volume and in the machine's cgroups is taken away here: after whoever waits was told, several at a
time, on one thread.

What is left is in the folder `gone` from the first moment, and no longer anybody's: no order finds it, and the next server
empties that folder when it starts (`adoption`).
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import anyio
import structlog
from anyio import to_thread

from roost.archive.keys import ContainerPaths, VolumePaths
from roost.domain.errors import RoostError
from roost.node.engine.meter import Meter
from roost.node.storage import subvolumes
from roost.node.storage.attachments import Attachments

ENDING_LIMIT_S = 5.0  # for processes that were killed
FIRST_LOOK_S, LAST_LOOK_S = 0.01, 0.1  # whether they have ended; nothing tells
ANSWER_FIRST_S = 0.1  # all of this takes the processor: whoever waits for the kill is told of it before

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Remains:
    """Of one container. Its process was killed."""

    home: ContainerPaths | None  # in the folder `gone`
    container: str | None
    cgroup: str | None
    quota_group: int | None = None


class Removals:
    """`run` takes away what is put, until it is cancelled; `close` what is left then."""

    def __init__(self, *, volume: VolumePaths, meter: Meter, attachments: Attachments) -> None:
        self._volume = volume
        self._attachments = attachments
        self._meter = meter
        self._waiting: list[Remains] = []
        self._cgroups: set[str] = set()
        self._changed = anyio.Event()
        self._turn = anyio.Lock()

    def set_aside(self, home: Path) -> ContainerPaths:
        """Moves a container's directory out of everybody's sight, in one step. Blocks for a moment."""
        self._volume.gone.mkdir(exist_ok=True, mode=0o700)
        target = self._volume.gone / f"{home.name}-{secrets.token_hex(6)}"
        home.rename(target)
        return ContainerPaths(target)

    def put(self, remains: Remains) -> None:
        self._waiting.append(remains)
        if remains.cgroup is not None:
            self._cgroups.add(remains.cgroup)
        self._changed.set()

    async def wait_for(self, cgroup: str) -> None:
        """Returns when nothing of a container that had this cgroup holds it any more: the engine would take it for one that was
        prepared for it, without limits of its own."""
        if cgroup in self._cgroups:
            await self._take_away()

    async def run(self) -> None:
        while True:
            await self._changed.wait()
            await anyio.sleep(ANSWER_FIRST_S)
            self._changed = anyio.Event()
            await self._take_away()

    async def close(self) -> None:
        await self._take_away()

    async def _take_away(self) -> None:
        async with self._turn:
            batch, self._waiting = self._waiting, []
            if not batch:
                return
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(self._clear, batch)
                await self._remove_cgroups({remains.cgroup for remains in batch if remains.cgroup is not None})

    def _clear(self, batch: Collection[Remains]) -> None:
        for remains in batch:
            try:
                if remains.home is not None:
                    clear(remains.home)
                if remains.container is not None:
                    self._attachments.remove(remains.container)
                if remains.quota_group is not None:
                    subvolumes.drop_group(self._volume.home, remains.quota_group)
            except (RoostError, OSError) as error:  # the next server finds it
                log.warning("what a container left stays on the volume", home=str(remains.home), error=str(error))

    async def _remove_cgroups(self, cgroups: set[str]) -> None:
        pause_s, left = FIRST_LOOK_S, set(cgroups)
        with anyio.move_on_after(ENDING_LIMIT_S):
            while left := {cgroup for cgroup in left if not self._meter.remove_cgroup(cgroup)}:
                await anyio.sleep(pause_s)
                pause_s = min(2 * pause_s, LAST_LOOK_S)
        for cgroup in left:
            log.warning("processes of a container that was killed have not ended", cgroup=cgroup)
        self._cgroups -= cgroups


def clear(home: ContainerPaths) -> None:
    """Root and directory are gone. May be called twice. Blocks."""
    subvolumes.delete(home.root)
    shutil.rmtree(home.home, ignore_errors=True)
