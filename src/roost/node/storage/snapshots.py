"""The snapshots on this node's volume: `contracts.snapshots.NodeSnapshots`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import anyio
from anyio import to_thread

from roost.contracts.snapshots import EMPTY_ROOT, WarmTarget
from roost.domain.errors import NotFound
from roost.domain.file import Listing
from roost.domain.ids import SnapshotId
from roost.domain.image import ImportedImage, Reference, read_settings
from roost.domain.node import Captured
from roost.node.engine.containers import Containers, discard_snapshot
from roost.node.engine.pool import Pool
from roost.node.storage.imports import import_pulled, import_root
from roost.node.storage.pulled import PulledImages
from roost.node.storage.reader import DiskReader


class SnapshotService:
    def __init__(
        self, *, containers: Containers, pool: Pool, roots: Mapping[str, Path], images: PulledImages, now: Callable[[], float]
    ) -> None:
        self._containers = containers
        self._pool = pool
        self._roots = roots  # archives of root filesystems, by name
        self._images = images
        self._now = now
        self._reader = DiskReader(containers.volume)
        self._importing = anyio.Lock()

    async def import_disk(self, snapshot: SnapshotId, root: str, template: str) -> Captured:
        archive = self._roots.get(root)
        if archive is None and root != EMPTY_ROOT:
            raise NotFound("root_not_found", f"This machine has no root filesystem {root!r}. Run `roost setup`.", root=root)
        paths = self._containers.volume.snapshot(snapshot)
        async with self._importing:
            if not paths.manifest.exists():
                await to_thread.run_sync(import_root, paths, archive, template, self._now())
        manifest = await to_thread.run_sync(self._containers.load, snapshot)
        return Captured(snapshot, manifest.kind, 0, manifest.created_at, 0.0)

    async def resolve_image(self, reference: str) -> str:
        return str(await self._images.resolve(Reference.parse(reference)))

    async def import_image(self, snapshot: SnapshotId, reference: str, template: str) -> ImportedImage:
        asked = Reference.parse(reference)
        paths = self._containers.volume.snapshot(snapshot)
        if not await to_thread.run_sync(paths.manifest.exists):
            async with self._images.using(asked) as image, self._importing:
                if not await to_thread.run_sync(paths.manifest.exists):  # nobody else did meanwhile
                    await to_thread.run_sync(import_pulled, paths, image.paths, template, self._now())
        told = json.loads(await to_thread.run_sync(paths.image.read_bytes))
        manifest = await to_thread.run_sync(self._containers.load, snapshot)
        captured = Captured(snapshot, manifest.kind, 0, manifest.created_at, 0.0)
        pinned = Reference.parse(told["reference"])
        return ImportedImage(captured, pinned.digest, read_settings(str(pinned), told["config"]))

    async def delete_snapshot(self, snapshot: SnapshotId) -> None:
        await to_thread.run_sync(discard_snapshot, self._containers.volume.snapshot(snapshot))

    async def keep_warm(self, wanted: Sequence[WarmTarget]) -> None:
        self._pool.want(wanted)

    async def list_files(self, snapshot: SnapshotId, path: str) -> Listing:
        return await self._reader.list_files(snapshot, path)

    async def read_file(self, snapshot: SnapshotId, path: str, limit_bytes: int) -> bytes:
        return await self._reader.read_file(snapshot, path, limit_bytes)
