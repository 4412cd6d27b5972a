"""Files out of snapshots whose disks strangers wrote. No root is needed: any directory can stand for a disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from roost.archive.keys import VolumePaths
from roost.domain.errors import Invalid, NotFound, SnapshotNotFound
from roost.domain.file import FileType
from roost.domain.ids import SnapshotId
from roost.node.storage import reader
from roost.node.storage.reader import DiskReader

pytestmark = pytest.mark.anyio

ID = SnapshotId("s" + "0" * 20)
LIMIT = 1000


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    paths = VolumePaths(tmp_path / "volume").snapshot(ID)
    paths.root.mkdir(parents=True)
    paths.manifest.write_text("{}")
    (tmp_path / "secret").write_text("the host's")
    return paths.root


@pytest.fixture
def files(disk: Path, tmp_path: Path) -> DiskReader:
    return DiskReader(VolumePaths(tmp_path / "volume"))


async def test_directories_and_files_as_they_are(files: DiskReader, disk: Path) -> None:
    home = disk / "home/user"
    (home / "deep").mkdir(parents=True)
    (home / "note").write_text("remember me")
    os.utime(home / "note", (1, 1_700_000_000))
    (home / "link").symlink_to("note")
    os.mkfifo(home / "pipe")
    listing = await files.list_files(ID, "/home/user")
    assert [(entry.name, entry.type) for entry in listing.entries] == [
        ("deep", FileType.DIRECTORY),
        ("link", FileType.SYMLINK),
        ("note", FileType.FILE),
        ("pipe", FileType.OTHER),
    ]
    note = listing.entries[2]
    assert (note.size_bytes, note.modified_at, listing.truncated) == (11, 1_700_000_000, False)
    for path in ("/home/user/note", "home/user/note", "/home/user/link", "/home/../home/user/./note"):
        assert await files.read_file(ID, path, LIMIT) == b"remember me"


@pytest.mark.parametrize(
    "target", ["{host}/secret", "../../../../../secret", "/../../secret", "/proc/self/root{host}/secret", "{host}"]
)
async def test_no_link_leads_out(files: DiskReader, disk: Path, tmp_path: Path, target: str) -> None:
    (disk / "way").symlink_to(target.format(host=tmp_path))
    for path in ("/way", "/way/secret"):
        with pytest.raises((NotFound, Invalid)):
            await files.read_file(ID, path, LIMIT)
        with pytest.raises((NotFound, Invalid)):
            await files.list_files(ID, path)


@pytest.mark.parametrize("path", ["../secret", "/../secret", "/../../../secret", "home/../../secret"])
async def test_no_path_leads_out(files: DiskReader, disk: Path, path: str) -> None:
    (disk / "home").mkdir()
    with pytest.raises(NotFound):
        await files.read_file(ID, path, LIMIT)


async def test_a_link_within_is_followed_from_the_disks_own_root(files: DiskReader, disk: Path) -> None:
    (disk / "etc").mkdir()
    (disk / "etc/real").write_text("the guest's")
    (disk / "absolute").symlink_to("/etc/real")
    (disk / "above").symlink_to("../../../../etc/real")
    assert await files.read_file(ID, "/absolute", LIMIT) == b"the guest's"
    assert await files.read_file(ID, "/above", LIMIT) == b"the guest's"


async def test_what_is_no_file_is_never_opened(files: DiskReader, disk: Path) -> None:
    os.mkfifo(disk / "pipe")  # opening it would wait for a writer
    (disk / "round").symlink_to("round")
    for path, error in (("/pipe", Invalid), ("/", Invalid), ("/round", Invalid), ("/none", NotFound)):
        with pytest.raises(error):
            await files.read_file(ID, path, LIMIT)
    with pytest.raises(Invalid):
        await files.list_files(ID, "/pipe")


async def test_large_files_and_strange_paths_are_refused(files: DiskReader, disk: Path) -> None:
    (disk / "large").write_bytes(bytes(LIMIT + 1))
    (disk / "full").write_bytes(bytes(LIMIT))
    assert len(await files.read_file(ID, "/full", LIMIT)) == LIMIT
    for path in ("/large", "/nul\0l", "/" + "x" * 5000, "/" + "x" * 300):
        with pytest.raises(Invalid):
            await files.read_file(ID, path, LIMIT)


async def test_a_name_that_is_no_text_is_shown_all_the_same(files: DiskReader, disk: Path) -> None:
    (disk / os.fsdecode(b"caf\xe9")).touch()
    (entry,) = (await files.list_files(ID, "/")).entries
    assert entry.name == "caf\N{REPLACEMENT CHARACTER}"


async def test_a_directory_with_too_much_in_it_is_shown_in_part(files: DiskReader, disk: Path) -> None:
    for number in range(reader.MOST_ENTRIES + 1):
        (disk / str(number)).touch()
    listing = await files.list_files(ID, "")
    assert listing.truncated and len(listing.entries) == reader.MOST_ENTRIES


async def test_a_snapshot_without_a_manifest_is_none(files: DiskReader, disk: Path) -> None:
    (disk.parent / "manifest.json").unlink()
    with pytest.raises(SnapshotNotFound):
        await files.list_files(ID, "/")
    with pytest.raises(SnapshotNotFound):
        await files.list_files(SnapshotId("s" + "9" * 20), "/")
