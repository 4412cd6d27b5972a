"""Where things stand on the volume. Pure path arithmetic; nothing here touches the disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from roost.domain.ids import SandboxId, SnapshotId

MEMORY = "memory"
ROOT = "root"
SPEC = "spec.json"
MANIFEST = "manifest.json"
IMAGE = "image.json"


@dataclass(frozen=True, slots=True)
class SnapshotPaths:
    home: Path

    @property
    def root(self) -> Path:
        """Read-only subvolume: the disk."""
        return self.home / ROOT

    @property
    def memory(self) -> Path:
        return self.home / MEMORY

    @property
    def spec(self) -> Path:
        """The OCI spec it ran with: it restores only with an equal one."""
        return self.home / SPEC

    @property
    def manifest(self) -> Path:
        return self.home / MANIFEST

    @property
    def image(self) -> Path:
        """The record of the image that it was made of, where it was."""
        return self.home / IMAGE


@dataclass(frozen=True, slots=True)
class ContainerPaths:
    home: Path

    @property
    def root(self) -> Path:
        """Writable subvolume: the live disk."""
        return self.home / ROOT

    @property
    def bundle(self) -> Path:
        return self.home / "bundle"

    @property
    def spec(self) -> Path:
        return self.bundle / "config.json"

    @property
    def journal(self) -> Path:
        return self.home / "journal.json"


@dataclass(frozen=True, slots=True)
class ImagePaths:
    home: Path

    @property
    def making(self) -> Path:
        """Writable subvolume: the image while it is unpacked."""
        return self.home / "making"

    @property
    def root(self) -> Path:
        """Read-only subvolume: the image's files."""
        return self.home / ROOT

    @property
    def record(self) -> Path:
        """What the image says of itself. Written last: without it there is no image. Its time is that of the last use."""
        return self.home / IMAGE


@dataclass(frozen=True, slots=True)
class VolumePaths:
    home: Path

    @property
    def sandboxes(self) -> Path:
        return self.home / "sandboxes"

    @property
    def pool(self) -> Path:
        """Clones of templates, restored and frozen, that stand for no sandbox yet."""
        return self.home / "pool"

    @property
    def snapshots(self) -> Path:
        return self.home / "snapshots"

    @property
    def images(self) -> Path:
        """Images of registries, by digest: what was fetched once is not fetched again."""
        return self.home / "images"

    @property
    def gone(self) -> Path:
        """What containers left, on its way out."""
        return self.home / "gone"

    def sandbox(self, id: SandboxId) -> ContainerPaths:
        return ContainerPaths(self.sandboxes / id)

    def snapshot(self, id: SnapshotId) -> SnapshotPaths:
        return SnapshotPaths(self.snapshots / id)

    def image(self, digest: str) -> ImagePaths:
        return ImagePaths(self.images / digest.removeprefix("sha256:"))
