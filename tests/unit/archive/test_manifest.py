"""A snapshot proves itself, also one that an older Roost wrote; what is not what was written is refused."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path

import pytest

from roost.archive import manifest as manifests
from roost.archive.keys import SnapshotPaths
from roost.archive.manifest import DiskProof, Manifest
from roost.domain.errors import SnapshotDamaged, SnapshotForeign, SnapshotNotFound
from roost.domain.ids import SnapshotId
from roost.domain.sandbox import Size
from roost.domain.snapshot import SnapshotKind

ID = SnapshotId("s" + "0" * 20)
PAGES = "memory/pages.img"
CONTENT = bytes(range(256)) * 40_000  # more than one chunk


@pytest.fixture
def paths(tmp_path: Path) -> SnapshotPaths:
    """A whole snapshot, as it is written now."""
    paths = SnapshotPaths(tmp_path / ID)
    paths.memory.mkdir(parents=True)
    (paths.home / PAGES).write_bytes(CONTENT)
    manifest = Manifest(
        snapshot=ID,
        kind=SnapshotKind.MEMORY,
        template="base",
        created_at=1.0,
        engine="gvisor 1",
        engine_flags=("--flag",),
        agent="a",
        cpu_features=("sse",),
        size=Size(),
        disk=DiskProof("uuid", 7),
        files={PAGES: manifests.prove(paths.home / PAGES)},
    )
    manifests.publish(paths, manifest)
    return paths


def rewrite(paths: SnapshotPaths, **changes: object) -> None:
    paths.manifest.write_text(json.dumps(json.loads(paths.manifest.read_text()) | changes))


def test_what_is_published_is_loaded_and_proven(paths: SnapshotPaths) -> None:
    manifest = manifests.load(paths, ID)
    assert manifests.decode(ID, manifests.encode(manifest)) == manifest
    assert manifest.memory_bytes == len(CONTENT)
    manifests.verify_file(paths, manifest, PAGES)


def test_a_snapshot_of_the_first_format_is_proven_by_its_own_hash(paths: SnapshotPaths) -> None:
    proof = {"size_bytes": len(CONTENT), "sha256": hashlib.sha256(CONTENT).hexdigest()}
    rewrite(paths, format=1, files={PAGES: proof})
    manifests.verify_file(paths, manifests.load(paths, ID), PAGES)
    rewrite(paths, files={PAGES: proof | {"sha256": "0" * 64}})
    with pytest.raises(SnapshotDamaged, match="hash"):
        manifests.verify_file(paths, manifests.load(paths, ID), PAGES)


@pytest.mark.parametrize("at", [0, len(CONTENT) // 2, len(CONTENT) - 1])
def test_one_flipped_bit_is_refused(paths: SnapshotPaths, at: int) -> None:
    with (paths.home / PAGES).open("r+b") as file:
        file.seek(at)
        file.write(bytes([CONTENT[at] ^ 1]))
    with pytest.raises(SnapshotDamaged, match="hash"):
        manifests.verify_file(paths, manifests.load(paths, ID), PAGES)


def test_what_is_too_short_or_missing_is_refused(paths: SnapshotPaths) -> None:
    manifest = manifests.load(paths, ID)
    (paths.home / PAGES).write_bytes(CONTENT[:-1])
    with pytest.raises(SnapshotDamaged, match="bytes long"):
        manifests.verify_file(paths, manifest, PAGES)
    (paths.home / PAGES).unlink()
    with pytest.raises(SnapshotDamaged, match="cannot be read"):
        manifests.verify_file(paths, manifest, PAGES)


def test_a_manifest_of_a_newer_roost_is_foreign_and_one_that_makes_no_sense_damaged(paths: SnapshotPaths) -> None:
    rewrite(paths, format=manifests.FORMAT + 1)
    with pytest.raises(SnapshotForeign):
        manifests.load(paths, ID)
    proof = dataclasses.asdict(manifests.prove(paths.home / PAGES))
    rewrite(paths, format=manifests.FORMAT, files={PAGES: proof | {"algorithm": "crc"}})
    with pytest.raises(SnapshotDamaged, match="crc"):
        manifests.load(paths, ID)
    paths.manifest.unlink()
    with pytest.raises(SnapshotNotFound):
        manifests.load(paths, ID)
