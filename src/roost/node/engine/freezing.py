"""Holds a container still for several at once: a capture and the memory guard may both need it, and the first to be done must not
set the guest going under the other."""

from __future__ import annotations

import anyio

from roost.contracts.runtime import Runtime


class FreezeLock:
    """Frozen by the first who asks, thawed by the last who is done. Neither is ever left half done: both are shielded."""

    def __init__(self, runtime: Runtime, container: str, *, frozen: bool = False) -> None:
        self._runtime = runtime
        self._container = container
        self._holders = 1 if frozen else 0
        self._turn = anyio.Lock()

    async def freeze(self) -> None:
        """Raises SandboxLost, EngineFailed; then the caller holds nothing."""
        with anyio.CancelScope(shield=True):
            async with self._turn:
                if not self._holders:
                    await self._runtime.freeze(self._container)
                self._holders += 1

    async def thaw(self) -> None:
        """One holder less. Nothing when there is none. Raises SandboxLost, EngineFailed; then the caller holds it still."""
        with anyio.CancelScope(shield=True):
            async with self._turn:
                if self._holders == 1:
                    await self._runtime.thaw(self._container)
                self._holders = max(0, self._holders - 1)


class FreezeHold:
    """One holder's part in it: takes it once and lets go once, however often it is asked."""

    def __init__(self, freeze_lock: FreezeLock) -> None:
        self._freeze_lock = freeze_lock
        self._held = False

    async def take(self) -> None:
        with anyio.CancelScope(shield=True):
            await self._freeze_lock.freeze()
            self._held = True

    async def let_go(self) -> None:
        if self._held:
            with anyio.CancelScope(shield=True):
                await self._freeze_lock.thaw()
                self._held = False
