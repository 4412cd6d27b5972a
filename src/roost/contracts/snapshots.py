"""The snapshots that lie on one node: imported, read, kept warm, deleted. Taking one is an order to its sandbox (`Node`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from roost.domain.file import Listing
from roost.domain.ids import SnapshotId
from roost.domain.image import ImportedImage
from roost.domain.node import Captured

EMPTY_ROOT = "scratch"
"""The root filesystem that every node has: one without any file."""


@dataclass(frozen=True, slots=True)
class WarmTarget:
    """How many clones of a snapshot to keep restored and frozen."""

    snapshot: SnapshotId
    count: int


class NodeSnapshots(Protocol):
    """Paths in a snapshot are the guest's: absolute, or from its root. No path leads out of the snapshot, whatever links the
    guest made; nothing that is no plain file or directory is ever opened."""

    async def import_disk(self, snapshot: SnapshotId, root: str, template: str) -> Captured:
        """A disk snapshot made of the root filesystem of that name, or of none (`EMPTY_ROOT`), to boot from cold. May be
        called twice. Raises NotFound when the node has no such root filesystem, NodeFull, Fault."""
        ...

    async def resolve_image(self, reference: str) -> str:
        """The same reference, pinned by the digest of the image for this machine: what it means now, to be imported later or on
        another node. Asks the registry, unless the reference is pinned to an image that lies here. Raises ReferenceInvalid,
        ImageNotFound, ImagePlatformMissing, ImageBroken, RegistryDenied, RegistryRefused, RegistryUnreachable,
        RegistryTooSlow."""
        ...

    async def import_image(self, snapshot: SnapshotId, reference: str, template: str) -> ImportedImage:
        """A disk snapshot made of an image of a registry, to boot from cold. May be called twice. An image that lies on the node
        already is not fetched again. On failure nothing of it is left. Raises as `resolve_image`, and ImageTooLarge, NodeFull,
        Fault."""
        ...

    async def delete_snapshot(self, snapshot: SnapshotId) -> None:
        """Manifest first, then images and subvolume are gone. May be called twice."""
        ...

    async def keep_warm(self, wanted: Sequence[WarmTarget]) -> None:
        """From now on so many clones of each are kept ready; others are let go. Returns at once."""
        ...

    async def list_files(self, snapshot: SnapshotId, path: str) -> Listing:
        """What the directory holds. Raises SnapshotNotFound, NotFound, Invalid for what is no directory."""
        ...

    async def read_file(self, snapshot: SnapshotId, path: str, limit_bytes: int) -> bytes:
        """The file. Raises SnapshotNotFound, NotFound, Invalid for what is no file or is larger than the limit."""
        ...
