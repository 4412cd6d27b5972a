"""Turns a root filesystem, an archive or a subvolume, into a disk snapshot that can be booted from cold. Blocks for seconds."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from roost.archive import manifest as manifests
from roost.archive.keys import SPEC, ImagePaths, SnapshotPaths
from roost.archive.manifest import DiskProof, Manifest
from roost.domain.errors import Fault, NodeFull
from roost.domain.ids import SnapshotId
from roost.domain.sandbox import Size
from roost.domain.snapshot import SnapshotKind
from roost.node.engine.containers import discard_snapshot
from roost.node.engine.meter import is_full
from roost.node.storage import subvolumes


def import_root(paths: SnapshotPaths, archive: Path | None, template: str, now: float) -> None:
    """Without an archive it is empty. The manifest is on disk afterwards; what an interrupted attempt left is thrown away."""
    writable = paths.home / "importing"
    subvolumes.delete(writable)
    discard_snapshot(paths)
    paths.home.mkdir(parents=True, mode=0o700)
    try:
        subvolumes.create(writable)
        if archive is not None:
            _extract(archive, writable, volume=paths.home.parents[1])
        subvolumes.snapshot(writable, paths.root, read_only=True)
    except BaseException:
        subvolumes.delete(writable)
        discard_snapshot(paths)
        raise
    subvolumes.delete(writable)
    _publish(paths, template, now)


def import_pulled(paths: SnapshotPaths, image: ImagePaths, template: str, now: float) -> None:
    """As `import_root`, of an image that lies here. Its record goes along: whoever asks again is told the same."""
    discard_snapshot(paths)
    paths.home.mkdir(parents=True, mode=0o700)
    try:
        subvolumes.snapshot(image.root, paths.root, read_only=True)
        shutil.copyfile(image.record, paths.image)
        manifests.sync_file(paths.image)
        _publish(paths, template, now)
    except BaseException:
        discard_snapshot(paths)
        raise


def _publish(paths: SnapshotPaths, template: str, now: float) -> None:
    paths.spec.write_text("{}")
    manifests.sync_file(paths.spec)
    disk = subvolumes.info(paths.root)
    manifests.publish(
        paths,
        Manifest(
            snapshot=SnapshotId(paths.home.name),
            kind=SnapshotKind.DISK,
            template=template,
            created_at=now,
            engine="",
            engine_flags=(),
            agent="",
            cpu_features=(),
            size=Size(),
            disk=DiskProof(disk.uuid, disk.generation),
            files={SPEC: manifests.prove(paths.spec)},
        ),
    )


def _extract(archive: Path, into: Path, *, volume: Path) -> None:
    command = [
        "tar",
        "--extract",
        "--numeric-owner",
        "--xattrs",
        "--xattrs-include=*",
        "--acls",
        f"--file={archive}",
        f"--directory={into}",
    ]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        detail = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"tar ended with {done.returncode}"
        if is_full(volume, into):
            raise NodeFull("disk space", f"{archive.stat().st_size >> 20} MB", "less")
        raise Fault(
            "archive_unreadable",
            f"The root filesystem {archive.name} could not be extracted: {detail}. Run `make setup` again.",
        )
