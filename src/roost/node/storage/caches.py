"""What cache mounts of builds keep between builds: an archive each, written by the agent inside and unpacked there again.

A cache may be lost at any time: so one that is too large is not kept, and old ones go. Blocking.
"""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from pathlib import Path

from anyio import to_thread

from roost.node.engine.meter import disk_space

LARGEST_BYTES = 2 << 30
KEPT_S = 30 * 86400.0
_DISK_RESERVE_BYTES = 2 << 30
_PIECE_BYTES = 1 << 20
_NAME = re.compile(r"[0-9a-f]{64}")


class Caches:
    def __init__(self, volume: Path, *, now: Callable[[], float] = time.time) -> None:
        self._volume = volume
        self._directory = volume / "caches"
        self._now = now

    def read(self, name: str) -> Iterator[bytes] | None:
        """None: there is none."""
        with suppress(FileNotFoundError):
            file = self._path(name).open("rb")

            def pieces() -> Iterator[bytes]:
                with file:
                    while piece := file.read(_PIECE_BYTES):
                        yield piece

            return pieces()
        return None

    async def write(self, name: str, content: AsyncIterator[bytes]) -> bool:
        """False: it is too large to be kept, or there is no room; then the one before is gone too."""
        path = self._path(name)
        partial = path.with_suffix(".part")
        self._directory.mkdir(mode=0o700, exist_ok=True)
        size, fits = 0, True
        try:
            with partial.open("wb") as file:
                async for piece in content:
                    size += len(piece)
                    fits = fits and size <= LARGEST_BYTES and disk_space(self._volume)[0] > _DISK_RESERVE_BYTES
                    if fits:
                        await to_thread.run_sync(file.write, piece)
            if fits:
                partial.replace(path)
            else:
                path.unlink(missing_ok=True)
            return fits
        finally:
            partial.unlink(missing_ok=True)

    def sweep(self) -> None:
        """What a server that died was writing is gone, and what nobody wrote for long."""
        with suppress(FileNotFoundError):
            for path in self._directory.iterdir():
                if path.suffix == ".part" or path.stat().st_mtime < self._now() - KEPT_S:
                    path.unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} names no cache")
        return self._directory / f"{name}.tar"
