"""An image's files on the disk are what its layers say, to the last attribute."""

from __future__ import annotations

import os
import stat
import struct
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.domain.image import Reference
from roost.node.storage import subvolumes
from roost.node.storage.puller import Pulled, Puller, PullSettings
from tests.real.ground import image_sources
from tests.registry import Blob, File, Registry, archive, assembled, directory, hard_link, image, symlink

pytestmark = pytest.mark.anyio

# Version 2 of the kernel's format: net_raw, permitted and effective.
CAPABILITY = struct.pack("<IIIII", 0x02000001, 1 << 13, 0, 0, 0)


@pytest.fixture
def puller(registry: Registry) -> Puller:
    return image_sources(PullSettings(insecure=(registry.host,))).puller


@pytest.fixture
def into(home: Path) -> Iterator[Path]:
    path = home / "volume" / "unpacked"
    subvolumes.create(path)
    yield path
    subvolumes.delete(path)


async def unpack(puller: Puller, registry: Registry, into: Path, *layers: bytes) -> Pulled:
    return await puller.unpack(Reference.parse(registry.push("unpack", image(*layers))), into)


def output_of(*command: str, given: bytes = b"") -> bytes:
    return subprocess.run(command, input=given, capture_output=True, check=True).stdout


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


async def test_owner_mode_time_and_content(puller: Puller, registry: Registry, into: Path) -> None:
    await unpack(
        puller,
        registry,
        into,
        archive(
            directory("srv", mode=0o1777, uid=7, gid=8),
            File("srv/data", b"content", mode=0o640, uid=1000, gid=4_000_000_000, mtime=1_234_567_890),
            File("srv/sudo", b"x", mode=0o4755, uid=33, gid=33),
            File("srv/mail", b"x", mode=0o2711),
            File("srv/none", b"x", mode=0o000),
            symlink("srv/link", "/nowhere"),
            File("srv/pipe", type=tarfile.FIFOTYPE, mode=0o622),
        ),
    )
    data = (into / "srv/data").stat()
    assert (into / "srv/data").read_bytes() == b"content"
    assert (stat.S_IMODE(data.st_mode), data.st_uid, data.st_gid, data.st_mtime) == (0o640, 1000, 4_000_000_000, 1_234_567_890)
    assert stat.S_IMODE((into / "srv/sudo").stat().st_mode) == 0o4755
    assert stat.S_IMODE((into / "srv/mail").stat().st_mode) == 0o2711
    assert stat.S_IMODE((into / "srv/none").stat().st_mode) == 0
    folder = (into / "srv").stat()
    assert (stat.S_IMODE(folder.st_mode), folder.st_uid, folder.st_gid) == (0o1777, 7, 8)
    assert folder.st_mtime == 1_600_000_000  # although files were made in it afterwards
    assert str((into / "srv/link").readlink()) == "/nowhere"
    assert (into / "srv/link").lstat().st_mtime == 1_600_000_000
    assert stat.S_ISFIFO((into / "srv/pipe").stat().st_mode)
    assert stat.S_IMODE((into / "srv/pipe").stat().st_mode) == 0o622


async def test_hard_links_are_one_file_also_across_layers(puller: Puller, registry: Registry, into: Path) -> None:
    await unpack(
        puller,
        registry,
        into,
        archive(File("a", b"one", uid=5), hard_link("b", "a"), hard_link("dir/c", "./b")),
        archive(hard_link("d", "/a")),
    )
    assert {(into / name).stat().st_ino for name in ("a", "b", "dir/c", "d")} == {(into / "a").stat().st_ino}
    assert (into / "d").stat().st_nlink == 4


async def test_attributes_and_capabilities(puller: Puller, registry: Registry, into: Path) -> None:
    def pax(name: str, value: bytes) -> dict[str, str]:
        return {f"SCHILY.xattr.{name}": value.decode("utf-8", "surrogateescape")}

    foreign = {**pax("user.note", b"hello"), **pax("trusted.overlay.opaque", b"y"), **pax("security.selinux", b"x")}
    await unpack(
        puller,
        registry,
        into,
        archive(
            File("ping", b"x", mode=0o755, uid=1000, pax=pax("security.capability", CAPABILITY)),
            File("noted", b"x", pax=foreign),
            File("folder", type=tarfile.DIRTYPE, mode=0o755, pax=pax("user.note", b"of a folder")),
        ),
    )
    assert os.getxattr(into / "ping", "security.capability") == CAPABILITY
    assert os.listxattr(into / "noted") == ["user.note"]
    assert os.getxattr(into / "folder", "user.note") == b"of a folder"


async def test_names_may_be_long_and_of_any_bytes(puller: Puller, registry: Registry, into: Path) -> None:
    deep = "/".join(["d" * 200] * 15)
    await unpack(
        puller, registry, into, archive(File(f"{deep}/f", b"deep"), File("ü" * 120, b"wide"), symlink("far", "t" * 3000))
    )
    assert (into / deep / "f").read_bytes() == b"deep"
    assert (into / ("ü" * 120)).read_bytes() == b"wide"
    assert str((into / "far").readlink()) == "t" * 3000


async def test_zeros_take_no_room(puller: Puller, registry: Registry, into: Path) -> None:
    content = b"begin" + bytes(64 << 20) + b"end"
    await unpack(puller, registry, into, archive(File("sparse", content), File("zeros", bytes(32 << 20))))
    assert (into / "sparse").read_bytes() == content
    assert (into / "zeros").read_bytes() == bytes(32 << 20)
    assert (into / "sparse").stat().st_blocks * 512 < 1 << 20
    assert (into / "zeros").stat().st_blocks * 512 < 1 << 20


async def test_a_sparse_entry_is_a_sparse_file(puller: Puller, registry: Registry, into: Path, tmp_path: Path) -> None:
    """As GNU tar writes one."""
    with (tmp_path / "sparse").open("wb") as file:
        file.seek(300 << 20)
        file.write(b"end")
    made = output_of("tar", "--sparse", "--format=posix", "-cf", "-", "-C", str(tmp_path), "sparse")
    assert len(made) < 1 << 20
    await unpack(puller, registry, into, made)
    found = (into / "sparse").stat()
    assert (found.st_size, found.st_blocks * 512 < 1 << 20) == ((300 << 20) + 3, True)
    with (into / "sparse").open("rb") as file:
        file.seek(300 << 20)
        assert file.read() == b"end"


async def test_upper_layers_remove_what_they_say(puller: Puller, registry: Registry, into: Path) -> None:
    lower = archive(
        File("keep", b"1"), File("gone", b"1"), File("tree/a/b", b"1"), File("opaque/old", b"1"), File("opaque/both", b"lower"),
        File("opaque/sub/old", b"1"), File("was/file", b"1"), File("turns", b"a file"), directory("folder"),
        File("folder/x", b"1"),
    )  # fmt: skip
    upper = archive(
        File(".wh.gone"), File(".wh.tree"), File("opaque/both", b"upper"), directory("opaque/sub"), File("opaque/sub/new", b"2"),
        File("opaque/.wh..wh..opq"), File(".wh..wh.plnk"), File("was", b"a file now"), directory("turns"),
        File("turns/into", b"a folder"), symlink("folder", "keep"),
    )  # fmt: skip
    await unpack(puller, registry, into, lower, upper)
    assert names(into) == {
        "keep", "opaque", "opaque/both", "opaque/sub", "opaque/sub/new", "was", "turns", "turns/into", "folder",
    }  # fmt: skip
    assert (into / "opaque/both").read_bytes() == b"upper"


async def test_what_was_removed_may_come_again(puller: Puller, registry: Registry, into: Path) -> None:
    await unpack(puller, registry, into, archive(File("a", b"1")), archive(File(".wh.a")), archive(File("a", b"3")))
    assert (into / "a").read_bytes() == b"3"


async def test_files_go_through_directory_links_of_lower_layers(puller: Puller, registry: Registry, into: Path) -> None:
    """As /lib does, and /var/run, in most images."""
    await unpack(
        puller,
        registry,
        into,
        archive(directory("usr/lib"), symlink("lib", "usr/lib"), symlink("var/run", "/run")),
        archive(File("lib/module", b"1"), File("var/run/pid", b"2")),
    )
    assert (into / "usr/lib/module").read_bytes() == b"1"
    assert (into / "run/pid").read_bytes() == b"2"


async def test_layers_may_be_plain_or_zstd(puller: Puller, registry: Registry, into: Path) -> None:
    one, two = archive(File("plain", b"1")), archive(File("packed", b"2" * 100_000))
    packed = output_of("zstd", "-q", "-c", given=two)
    config = image(one, two).blobs[0]
    kind = "application/vnd.oci.image.layer.v1.tar"
    made = assembled(config, [Blob(one, kind), Blob(packed, f"{kind}+zstd")])
    await puller.unpack(Reference.parse(registry.push("zstd", made)), into)
    assert names(into) == {"plain", "packed"}


async def test_devices_are_left_out(puller: Puller, registry: Registry, into: Path) -> None:
    await unpack(
        puller,
        registry,
        into,
        archive(File("dev/null", type=tarfile.CHRTYPE), File("dev/sda", type=tarfile.BLKTYPE), File("dev/file", b"x")),
    )
    assert names(into) == {"dev", "dev/file"}
