"""A cluster in memory: its nodes, and the snapshots that lie on them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import anyio.lowlevel

from roost.contracts.cluster import Node
from roost.contracts.node_builds import NodeBuilds
from roost.contracts.snapshots import NodeSnapshots, WarmTarget
from roost.domain.build import ImageSettings
from roost.domain.errors import Invalid, NotFound, SnapshotNotFound
from roost.domain.file import FileEntry, FileType, Listing
from roost.domain.ids import NodeId, SnapshotId
from roost.domain.image import ImportedImage, Reference
from roost.domain.image_errors import ImageNotFound
from roost.domain.node import Captured
from roost.testing.builds import FakeBuilds
from roost.testing.node import FakeImage, FakeNode


class FakeSnapshots:
    """The snapshots of a node in memory. Every image is a disk with one file, `/disk`, that holds what a guest wrote there."""

    def __init__(self, node: FakeNode) -> None:
        self._node = node
        self.registry: dict[str, ImageSettings] = {}  # what registries have: by the reference, as `str(Reference)` writes it

    async def resolve_image(self, reference: str) -> str:
        await anyio.lowlevel.checkpoint()
        asked = Reference.parse(reference)
        if not any(asked in (each, each.pinned(_digest(each))) for each in map(Reference.parse, self.registry)):
            raise ImageNotFound(str(asked), "there is none in this test")
        return str(asked if asked.digest else asked.pinned(_digest(asked)))

    async def import_image(self, snapshot: SnapshotId, reference: str, template: str) -> ImportedImage:
        pinned = Reference.parse(await self.resolve_image(reference))
        captured = await self._node.import_disk(snapshot, str(pinned), template)
        known = {_digest(Reference.parse(each)): settings for each, settings in self.registry.items()}
        return ImportedImage(captured, pinned.digest, known[pinned.digest])

    async def import_disk(self, snapshot: SnapshotId, root: str, template: str) -> Captured:
        return await self._node.import_disk(snapshot, root, template)

    async def delete_snapshot(self, snapshot: SnapshotId) -> None:
        await self._node.delete_snapshot(snapshot)

    async def keep_warm(self, wanted: Sequence[WarmTarget]) -> None:
        await self._node.keep_warm(wanted)

    async def list_files(self, snapshot: SnapshotId, path: str) -> Listing:
        await anyio.lowlevel.checkpoint()
        image = self._image(snapshot)
        if path.strip("/"):
            raise self._missing(snapshot, path)
        return Listing((FileEntry("disk", FileType.FILE, len(image.disk.encode()), image.created_at),))

    async def read_file(self, snapshot: SnapshotId, path: str, limit_bytes: int) -> bytes:
        await anyio.lowlevel.checkpoint()
        content = self._image(snapshot).disk.encode()
        if path.strip("/") != "disk":
            raise self._missing(snapshot, path)
        if len(content) > limit_bytes:
            raise Invalid("too_large", f"{path} is larger than {limit_bytes} bytes.", path=path)
        return content

    def _image(self, snapshot: SnapshotId) -> FakeImage:
        if snapshot in self._node.images:
            return self._node.images[snapshot]
        raise SnapshotNotFound(snapshot)

    def _missing(self, snapshot: SnapshotId, path: str) -> NotFound:
        return NotFound("file_not_found", f"There is no {path} in snapshot {snapshot}.", path=path)


def _digest(reference: Reference) -> str:
    """Every reference means another image."""
    return "sha256:" + hashlib.sha256(str(reference).encode()).hexdigest()


class FakeCluster:
    """One node, or several. `snapshots` and `builds` are theirs, for nodes that are wrapped."""

    def __init__(
        self, *nodes: FakeNode | Node, ids: Sequence[NodeId] = (), snapshots: Sequence[NodeSnapshots] = (),
        builds: Sequence[NodeBuilds] = (),
    ) -> None:  # fmt: skip
        named = ids or [node.id for node in nodes if isinstance(node, FakeNode)]
        theirs = snapshots or [FakeSnapshots(node) for node in nodes if isinstance(node, FakeNode)]
        builders = builds or [FakeBuilds(node) for node in nodes if isinstance(node, FakeNode)]
        self._nodes: dict[NodeId, Node] = dict(zip(named, nodes, strict=True))
        self._snapshots: dict[NodeId, NodeSnapshots] = dict(zip(named, theirs, strict=True))
        self._builds: dict[NodeId, NodeBuilds] = dict(zip(named, builders, strict=True))

    async def nodes(self) -> list[NodeId]:
        return list(self._nodes)

    def node(self, id: NodeId) -> Node:
        try:
            return self._nodes[id]
        except KeyError:
            raise NotFound("node_not_found", f"There is no node {id!r}.", node=id) from None

    def snapshots(self, id: NodeId) -> NodeSnapshots:
        self.node(id)
        return self._snapshots[id]

    def builds(self, id: NodeId) -> NodeBuilds:
        self.node(id)
        return self._builds[id]
