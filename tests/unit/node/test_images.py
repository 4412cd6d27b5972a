from __future__ import annotations

import os
from pathlib import Path

import anyio
import pytest

from roost.archive import manifest as manifests
from roost.archive.keys import SPEC, SnapshotPaths, VolumePaths
from roost.archive.manifest import DiskProof, Manifest
from roost.domain.errors import SnapshotDamaged, SnapshotNotFound
from roost.domain.ids import SnapshotId
from roost.domain.sandbox import Size
from roost.domain.snapshot import SnapshotKind
from roost.node.storage.images import Images

pytestmark = pytest.mark.anyio

ID = SnapshotId("s" + "0" * 20)
PAGES = "memory/pages.img"


@pytest.fixture
def paths(tmp_path: Path) -> SnapshotPaths:
    paths = VolumePaths(tmp_path).snapshot(ID)
    paths.memory.mkdir(parents=True)
    (paths.home / PAGES).write_bytes(os.urandom(3 << 20))
    paths.spec.write_text('{"linux": {}}')
    files = {name: manifests.prove(paths.home / name) for name in (SPEC, PAGES)}
    manifest = Manifest(ID, SnapshotKind.MEMORY, "base", 1.0, "fake 1", (), "1", (), Size(), DiskProof("u", 1), files=files)
    manifests.publish(paths, manifest)
    return paths


@pytest.fixture
def images(tmp_path: Path) -> Images:
    return Images(VolumePaths(tmp_path))


def flip(file: Path) -> None:
    with file.open("r+b") as opened:
        opened.seek(1 << 20)
        byte = opened.read(1)
        opened.seek(1 << 20)
        opened.write(bytes([byte[0] ^ 1]))


async def test_images_are_proven_once(images: Images, paths: SnapshotPaths) -> None:
    manifest = images.manifest(ID)
    assert images.unproven(manifest) == [PAGES, SPEC]
    await images.prove(manifest, again=False)
    assert images.unproven(manifest) == []
    assert Images(VolumePaths(paths.home.parent.parent)).unproven(manifest) == [PAGES, SPEC], "a node that starts knows nothing"


async def test_a_byte_that_flips_after_the_proof_is_found_by_the_next_clone(images: Images, paths: SnapshotPaths) -> None:
    manifest = images.manifest(ID)
    await images.prove(manifest, again=False)
    flip(paths.home / PAGES)
    assert images.unproven(manifest) == [PAGES]
    with pytest.raises(SnapshotDamaged, match=PAGES):
        await images.prove(manifest, again=False)
    assert images.unproven(manifest) == [PAGES]


async def test_a_byte_that_was_wrong_from_the_start_is_found_by_every_clone(images: Images, paths: SnapshotPaths) -> None:
    flip(paths.home / PAGES)
    manifest = images.manifest(ID)
    for _ in range(2):
        with pytest.raises(SnapshotDamaged, match=PAGES):
            await images.prove(manifest, again=False)


async def test_another_file_in_its_place_is_another_file(images: Images, paths: SnapshotPaths) -> None:
    manifest = images.manifest(ID)
    await images.prove(manifest, again=False)
    file, other = paths.home / PAGES, paths.home / "other"
    other.write_bytes(os.urandom(file.stat().st_size))
    times = file.stat()
    os.utime(other, ns=(times.st_atime_ns, times.st_mtime_ns))
    other.replace(file)
    with pytest.raises(SnapshotDamaged, match=PAGES):
        await images.prove(manifest, again=False)


async def test_a_file_that_is_gone_is_damage(images: Images, paths: SnapshotPaths) -> None:
    manifest = images.manifest(ID)
    await images.prove(manifest, again=False)
    (paths.home / PAGES).unlink()
    with pytest.raises(SnapshotDamaged, match=PAGES):
        await images.prove(manifest, again=False)


async def test_those_who_ask_at_once_share_one_proof(images: Images, paths: SnapshotPaths) -> None:
    manifest = images.manifest(ID)
    async with anyio.create_task_group() as tasks:
        for _ in range(16):
            tasks.start_soon(lambda: images.prove(manifest, again=False))
    assert images.unproven(manifest) == []


async def test_a_spec_is_read_only_once_it_is_proven(images: Images, paths: SnapshotPaths) -> None:
    manifest = images.manifest(ID)
    assert images.spec(manifest) == {"linux": {}}
    paths.spec.write_text('{"linux": []}')
    with pytest.raises(SnapshotDamaged, match=SPEC):
        images.spec(manifest)


async def test_a_snapshot_without_a_manifest_is_none(images: Images, paths: SnapshotPaths) -> None:
    images.manifest(ID)
    paths.manifest.unlink()
    with pytest.raises(SnapshotNotFound):
        images.manifest(ID)
