"""Where templates are being made: sandboxes and snapshots that no record tells of. The keeper leaves them alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from roost.domain.ids import SandboxId, SnapshotId


class Sites:
    """In memory: what a server that died was making is nobody's, and swept away."""

    def __init__(self) -> None:
        self._builders: set[SandboxId] = set()
        self._snapshots: Counter[SnapshotId] = Counter()

    @property
    def builders(self) -> frozenset[SandboxId]:
        """Sandboxes that have no record because a template is being built in them."""
        return frozenset(self._builders)

    @property
    def unpublished(self) -> frozenset[SnapshotId]:
        """Snapshots that have no record yet because their template is being built, and those that are needed meanwhile."""
        return frozenset(self._snapshots)

    @contextmanager
    def building(self, sandbox: SandboxId) -> Iterator[None]:
        self._builders.add(sandbox)
        try:
            yield
        finally:
            self._builders.discard(sandbox)

    @contextmanager
    def needing(self, *snapshots: SnapshotId) -> Iterator[None]:
        self._snapshots.update(snapshots)
        try:
            yield
        finally:
            self._snapshots.subtract(snapshots)
            self._snapshots = +self._snapshots
