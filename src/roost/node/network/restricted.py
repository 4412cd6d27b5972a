"""Which slots belong to sandboxes that may ask for some names only, or none: an empty file for each, beside the address ranges.

The kernel keeps a slot's firewall when the server ends, but the forwarder keeps nothing. Until the next server has been
told what an adopted slot may ask for, those that are marked here are told nothing. Blocking; runs in threads.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


class RestrictedSlots:
    def __init__(self, directory: Path, instance: str) -> None:
        self._directory = directory / instance

    def put(self, index: int) -> None:
        """May be repeated."""
        while True:
            with suppress(FileExistsError):
                self._directory.mkdir(parents=True)
            # Slots change side by side: whoever drops the last mark takes the directory away, perhaps right here.
            with suppress(FileNotFoundError):
                (self._directory / str(index)).touch()
                return

    def drop(self, index: int) -> None:
        """May be repeated. The last one takes the directory with it."""
        (self._directory / str(index)).unlink(missing_ok=True)
        with suppress(OSError):
            self._directory.rmdir()

    def all(self) -> frozenset[int]:
        try:
            return frozenset(int(path.name) for path in self._directory.iterdir() if path.name.isdigit())
        except FileNotFoundError:
            return frozenset()
