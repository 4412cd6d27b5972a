"""Looking into snapshots, file by file."""

from __future__ import annotations

from typing import Protocol

from roost.domain.file import Listing
from roost.domain.ids import SnapshotId


class SnapshotReader(Protocol):
    """Reads the disks of the snapshots on one node. Paths are the guest's: absolute, or from its root. No path leads out of the
    snapshot, whatever links the guest made. Nothing is changed, and nothing that is no plain file or directory is ever opened."""

    async def list_files(self, snapshot: SnapshotId, path: str) -> Listing:
        """What the directory holds. Raises SnapshotNotFound, NotFound, Invalid for what is no directory."""
        ...

    async def read_file(self, snapshot: SnapshotId, path: str, limit_bytes: int) -> bytes:
        """The file. Raises SnapshotNotFound, NotFound, Invalid for what is no file or is larger than the limit."""
        ...
