"""The warm pool: clones of templates, restored, proven and frozen, that stand for nobody yet.

A claim thaws one (0.2 ms) instead of restoring one (100-200 ms). Refilling runs beside the orders, one clone at a time, and waits
while orders are being carried out, so that it never takes a core from somebody who waits.
"""

from __future__ import annotations

import secrets
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass

import anyio
import structlog
from anyio import to_thread

from roost.archive.keys import ContainerPaths
from roost.contracts.snapshots import WarmTarget
from roost.domain.errors import RoostError
from roost.domain.ids import SnapshotId
from roost.domain.sandbox import Size
from roost.node.engine.containers import Clone, Container, Containers
from roost.node.inventory import Phase
from roost.node.steps import Steps

_RETRY_S = 5.0

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Warm:
    """One that is ready, and how large it is."""

    container: Container
    size: Size


class Pool:
    def __init__(self, *, containers: Containers, busy: Busy) -> None:
        self._containers = containers
        self._busy = busy
        self._wanted: dict[SnapshotId, int] = {}
        self._ready: defaultdict[SnapshotId, deque[Warm]] = defaultdict(deque)
        self._changed = anyio.Event()
        self._scope = anyio.CancelScope()
        self._stopped = anyio.Event()

    def want(self, wanted: Sequence[WarmTarget]) -> None:
        self._wanted = {target.snapshot: target.count for target in wanted if target.count > 0}
        self._changed.set()

    def counts(self) -> dict[SnapshotId, int]:
        return {snapshot: len(ready) for snapshot, ready in self._ready.items() if ready}

    def take(self, snapshot: SnapshotId, size: Size) -> Container | None:
        """One that is frozen and ready, no longer the pool's; None when there is none of that size."""
        ready = self._ready.get(snapshot)
        if not ready or ready[0].size != size:
            return None
        self._changed.set()
        return ready.popleft().container

    async def run(self) -> None:
        """Keeps as many ready as are wanted, until `close`."""
        try:
            with self._scope:
                while True:
                    self._changed = anyio.Event()
                    if not await self._step():
                        await self._changed.wait()
        finally:
            self._stopped.set()

    async def close(self) -> None:
        """Nothing of the pool is left on the machine; a clone that was being made is taken back."""
        self._scope.cancel()
        await self._stopped.wait()
        for ready in self._ready.values():
            while ready:
                await self._let_go(ready.popleft().container)

    async def _step(self) -> bool:
        """One clone more or one less. False when all is as wanted."""
        for snapshot, ready in self._ready.items():
            if len(ready) > self._wanted.get(snapshot, 0):
                await self._let_go(ready.popleft().container)
                return True
        for snapshot, count in self._wanted.items():
            if len(self._ready[snapshot]) < count:
                await self._busy.wait_until_quiet()
                return await self._add(snapshot)
        return False

    async def _add(self, snapshot: SnapshotId) -> bool:
        try:
            warm = await self._make(snapshot)
        except (RoostError, OSError) as error:
            # Creates will say why to their callers; here it must only not spin, nor take the server down.
            log.warning("warm pool could not be filled", snapshot=snapshot, error=str(error))
            with anyio.move_on_after(_RETRY_S):
                await self._changed.wait()
            return True
        self._ready[snapshot].append(warm)
        return True

    async def _make(self, snapshot: SnapshotId) -> Warm:
        name = f"w{secrets.token_hex(8)}"
        paths = ContainerPaths(self._containers.volume.pool / name)
        size = (await to_thread.run_sync(self._containers.load, snapshot)).size
        async with Steps("warm") as steps:
            clone = Clone(paths=paths, name=name, source=snapshot, size=size, cold=False)
            container = await self._containers.make(steps, clone)
            await self._containers.engine_of(container).freeze(name)
            container = await self._containers.note(container, phase=Phase.WARM)
            steps.keep()
        return Warm(container, size)

    async def discard(self, container: Container) -> None:
        """One that was taken and is of no use is gone."""
        with anyio.CancelScope(shield=True):
            await self._containers.remove(container.paths, container.journal, release=container.slot)

    async def _let_go(self, container: Container) -> None:
        try:
            await self.discard(container)
        except (RoostError, OSError) as error:  # the next server finds it in the pool's directory
            log.warning("a warm clone could not be taken away", container=container.journal.container, error=str(error))


class Busy:
    """Counts orders under way; the pool waits for quiet."""

    def __init__(self) -> None:
        self._count = 0
        self._quiet = anyio.Event()
        self._quiet.set()

    def __enter__(self) -> None:
        self._count += 1
        if self._count == 1:
            self._quiet = anyio.Event()

    def __exit__(self, *_: object) -> None:
        self._count -= 1
        if self._count == 0:
            self._quiet.set()

    async def wait_until_quiet(self) -> None:
        while self._count:
            await self._quiet.wait()
