"""Images of registries that lie on this node, each a read-only subvolume under its digest.

They are a cache: what is made of one is a snapshot of its subvolume, which shares its blocks and outlives it. One that nobody
asked for in a while goes, and so do all when the disk is full.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import anyio
import structlog
from anyio import to_thread

from roost.archive import manifest as manifests
from roost.archive.keys import ImagePaths, VolumePaths
from roost.domain.build import ImageSettings
from roost.domain.errors import NodeFull, RoostError
from roost.domain.image import Reference, read_settings
from roost.node.engine.meter import disk_space
from roost.node.storage import subvolumes
from roost.node.storage.puller import Puller

RESERVED_SHARE = 0.05  # of the volume: no image may take the last of it

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class PulledImage:
    digest: str
    paths: ImagePaths
    settings: ImageSettings


@dataclass(frozen=True, slots=True)
class ImageSources:
    """Where images come from, and how long they are kept unused."""

    puller: Puller
    keep_s: float = 30 * 86400.0


class PulledImages:
    def __init__(self, *, volume: VolumePaths, sources: ImageSources, now: Callable[[], float]) -> None:
        self._volume = volume
        self._puller = sources.puller
        self._keep_s = sources.keep_s
        self._now = now
        self._locks: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()

    async def open(self) -> None:
        """What a killed server left half-made is gone."""
        await to_thread.run_sync(self._sweep)

    async def resolve(self, reference: Reference) -> Reference:
        """Pinned to the image for this machine. The registry is not asked about an image that lies here."""
        if reference.digest and await to_thread.run_sync(self._volume.image(reference.digest).record.exists):
            return reference
        return reference.pinned(await self._puller.resolve(reference))

    @asynccontextmanager
    async def using(self, reference: Reference) -> AsyncIterator[PulledImage]:
        """The image lies on the node and stays for as long as this is held: fetched now if it did not. On failure nothing of it
        is left."""
        pinned = await self.resolve(reference)
        async with self._lock(pinned.digest):
            paths = self._volume.image(pinned.digest)
            found = await to_thread.run_sync(self._find, paths, pinned)
            if found is None:
                await self._pull(paths, pinned)
                found = await to_thread.run_sync(self._find, paths, pinned)
                assert found is not None
            yield found
        await self._drop(unused_since=self._now() - self._keep_s)

    async def _pull(self, paths: ImagePaths, pinned: Reference) -> None:
        try:
            await to_thread.run_sync(_begin, paths)
            room = await to_thread.run_sync(_room_bytes, self._volume.home)
            pulled = await self._puller.unpack(pinned, paths.making, room_bytes=room)
            read_settings(str(pinned), pulled.config)  # one that cannot be read is refused before it is kept
            await to_thread.run_sync(_finish, paths, str(pinned), pulled.config)
        except BaseException as error:
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(_discard, paths)
                if isinstance(error, NodeFull):  # whoever asks again finds the room
                    await self._drop(unused_since=self._now())
            raise

    async def _drop(self, *, unused_since: float) -> None:
        for paths in await to_thread.run_sync(self._list):
            lock = self._lock(f"sha256:{paths.home.name}")
            if not lock.locked():
                async with lock:
                    await to_thread.run_sync(_discard_unused, paths, unused_since)

    def _lock(self, digest: str) -> anyio.Lock:
        return self._locks.setdefault(digest, anyio.Lock())

    # Blocking

    def _find(self, paths: ImagePaths, pinned: Reference) -> PulledImage | None:
        try:
            record = json.loads(paths.record.read_bytes())
        except FileNotFoundError:
            return None
        now = self._now()
        os.utime(paths.record, (now, now))
        return PulledImage(pinned.digest, paths, read_settings(str(pinned), record["config"]))

    def _list(self) -> list[ImagePaths]:
        return [ImagePaths(home) for home in self._volume.images.iterdir()] if self._volume.images.is_dir() else []

    def _sweep(self) -> None:
        for paths in self._list():
            if not paths.record.exists():
                _discard(paths)


def _room_bytes(volume: Path) -> int:
    """What an image may take: sandboxes that run need the rest."""
    free, total = disk_space(volume)
    return max(0, free - int(total * RESERVED_SHARE))


def _begin(paths: ImagePaths) -> None:
    _discard(paths)
    paths.home.mkdir(parents=True, mode=0o700)
    subvolumes.create(paths.making)


def _finish(paths: ImagePaths, reference: str, config: Any) -> None:
    subvolumes.snapshot(paths.making, paths.root, read_only=True)
    subvolumes.delete(paths.making)
    aside = paths.record.with_suffix(".part")
    aside.write_text(json.dumps({"reference": reference, "config": config}))
    manifests.sync_file(aside)
    aside.replace(paths.record)
    manifests.sync_directory(paths.home)


def _discard(paths: ImagePaths) -> None:
    """The record first: from then on there is no image. May be called twice."""
    paths.record.unlink(missing_ok=True)
    subvolumes.delete(paths.making)
    subvolumes.delete(paths.root)
    shutil.rmtree(paths.home, ignore_errors=True)


def _discard_unused(paths: ImagePaths, since: float) -> None:
    try:
        if paths.record.stat().st_mtime < since:
            _discard(paths)
    except FileNotFoundError:
        return  # on its way in, or gone
    except (RoostError, OSError) as error:
        log.warning("an image that nobody uses could not be removed", image=paths.home.name, reason=str(error))
