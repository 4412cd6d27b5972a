"""The agent inside a builder, as the node talks to it: by the slot's address."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from roost.domain.node_builds import CacheDirectory, CommandOrder, Exited, FileOrder, Output, Selection


class BuildGuest(Protocol):
    """All raise GuestUnreachable."""

    async def prepare(self, address: str) -> None:
        """Nothing is in memory that belongs on the disk; no process of the image is left. May be called twice."""
        ...

    def run(self, address: str, order: CommandOrder) -> AsyncIterator[Output | Exited]:
        """What the command says as it says it, and last how it ended."""
        ...

    async def settle(self, address: str) -> None:
        """No process is left but the agent. May be called twice."""
        ...

    async def unpack(
        self, address: str, order: FileOrder, archive: AsyncIterator[bytes], *, keeps_owner: bool, unpacks: bool
    ) -> int:
        """What a tar holds is where the order says; names in it are relative to the target. How many things. Raises
        StepFailed."""
        ...

    def pack(self, address: str, selection: Selection) -> AsyncIterator[bytes]:
        """Files as a tar. Raises StepFailed when there is none of them."""
        ...

    async def cover(self, address: str, cache: CacheDirectory, by: str) -> None:
        """The directory `by`, made if it is missing, lies over the cache's path. Raises StepFailed."""
        ...

    async def uncover(self, address: str, path: str) -> None:
        """Nothing lies over it any more. May be called twice."""
        ...

    async def remove(self, address: str, path: str) -> None:
        """The file, or the directory with all it holds, is gone. May be called twice."""
        ...
