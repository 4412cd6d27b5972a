"""Images are made by strangers. Whatever an archive says, nothing outside of its directory is read, written or made, and what it
may take of the machine is bounded. The unpacking process runs as root on the host: these attacks are on it."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from roost.domain.image import Reference
from roost.domain.image_errors import (
    ImageBroken,
    ImageTooLarge,
    RegistryRefused,
    RegistryTooSlow,
)
from roost.node.storage.puller import Puller, PullSettings
from tests.false_registry import FalseRegistry, Reply, manifest_of, serving_false_registry
from tests.real.ground import image_sources
from tests.registry import LAYER, Blob, File, archive, assembled, digest_of, directory, hard_link, image, symlink

pytestmark = pytest.mark.anyio

LIMIT_BYTES = 64 << 20


@pytest.fixture
def registry() -> Iterator[FalseRegistry]:
    with serving_false_registry() as registry:
        yield registry


@pytest.fixture
def puller(registry: FalseRegistry) -> Puller:
    return image_sources(PullSettings(insecure=(registry.host,), limit_bytes=LIMIT_BYTES, timeout_s=60)).puller


@pytest.fixture
def into(tmp_path: Path) -> Path:
    (tmp_path / "canary").write_text("alive")
    (tmp_path / "into").mkdir()
    return tmp_path / "into"


async def unpack(puller: Puller, registry: FalseRegistry, into: Path, *layers: bytes) -> None:
    await puller.unpack(Reference.parse(registry.serve("app", image(*layers))), into)


def check_outside(into: Path) -> None:
    """Nothing but the canary lies beside the directory, and it is as it was."""
    assert sorted(path.name for path in into.parent.iterdir()) == ["canary", "into"]
    canary = into.parent / "canary"
    assert canary.read_text() == "alive"
    assert (canary.stat().st_mode & 0o7777, canary.stat().st_nlink) == (0o644, 1)


# Paths


async def test_a_path_with_dots_stays_inside(puller: Puller, registry: FalseRegistry, into: Path) -> None:
    up = "../" * 20
    outside = str(into.parent).lstrip("/")
    await unpack(
        puller,
        registry,
        into,
        archive(File("../canary", b"dead"), File(f"{up}{outside}/canary", b"dead"), File(f"a/../../../{outside}/new", b"x")),
    )
    check_outside(into)
    assert (into / "canary").read_bytes() == b"dead"
    assert (into / outside / "canary").read_bytes() == b"dead"


async def test_an_absolute_path_is_the_images_own(puller: Puller, registry: FalseRegistry, into: Path) -> None:
    await unpack(puller, registry, into, archive(File(str(into.parent / "canary"), b"dead")))
    check_outside(into)
    assert (into / str(into.parent / "canary").lstrip("/")).read_bytes() == b"dead"


@pytest.mark.parametrize("target", ["{outside}", "../../../../../../../../../../..{outside}", "/proc/1/root{outside}", "/.."])
async def test_a_file_through_a_link_stays_inside(puller: Puller, registry: FalseRegistry, into: Path, target: str) -> None:
    link = target.format(outside=into.parent)
    # Where the link leads there is nothing yet, inside: it is made there, or the image is refused. Outside it never is.
    with contextlib.suppress(ImageBroken):
        await unpack(puller, registry, into, archive(symlink("way", link), File("way/canary", b"dead"), File("way/new", b"x")))
    check_outside(into)


async def test_a_file_does_not_follow_a_link_in_its_place(puller: Puller, registry: FalseRegistry, into: Path) -> None:
    await unpack(puller, registry, into, archive(symlink("way", str(into.parent / "canary")), File("way", b"dead")))
    check_outside(into)
    assert not (into / "way").is_symlink()


async def test_a_link_of_a_lower_layer_leads_nowhere_else(puller: Puller, registry: FalseRegistry, into: Path) -> None:
    lower = archive(symlink("way", str(into.parent)), directory(str(into.parent)))
    upper = archive(File("way/canary", b"dead"), File("way/.wh.canary"), File("way/.wh..wh..opq"))
    await unpack(puller, registry, into, lower, upper)
    check_outside(into)


@pytest.mark.parametrize("target", ["{outside}/canary", "../canary", "../../../../../../../../..{outside}/canary"])
async def test_a_hard_link_cannot_take_a_file_of_the_host(
    puller: Puller, registry: FalseRegistry, into: Path, target: str
) -> None:
    with pytest.raises(ImageBroken):
        await unpack(puller, registry, into, archive(hard_link("mine", target.format(outside=into.parent))))
    check_outside(into)


async def test_a_hard_link_through_a_link_cannot_either(puller: Puller, registry: FalseRegistry, into: Path) -> None:
    layer = archive(symlink("way", str(into.parent)), hard_link("mine", "way/canary"), File("mine", b"dead"))
    with pytest.raises(ImageBroken):
        await unpack(puller, registry, into, layer)
    check_outside(into)


@pytest.mark.parametrize("name", [".wh...", ".wh..", "a/.wh...", ".wh.", "../.wh.canary", "../../.wh.into"])
async def test_a_removal_reaches_nothing_outside(puller: Puller, registry: FalseRegistry, into: Path, name: str) -> None:
    with contextlib.suppress(ImageBroken):
        await unpack(puller, registry, into, archive(directory("a")), archive(File(name)))
    check_outside(into)


async def test_a_directory_of_the_host_is_not_changed_by_a_link_to_it(
    puller: Puller, registry: FalseRegistry, into: Path
) -> None:
    before = into.parent.stat()
    layer = archive(symlink("way", str(into.parent)), directory("way", mode=0o777, uid=1000, gid=1000))
    await unpack(puller, registry, into, layer)
    after = into.parent.stat()
    assert (after.st_mode, after.st_uid) == (before.st_mode, before.st_uid)
    check_outside(into)


# Devices


async def test_no_device_is_made(puller: Puller, registry: FalseRegistry, into: Path) -> None:
    disk = File("disk", type=tarfile.BLKTYPE, mode=0o666)
    await unpack(puller, registry, into, archive(disk, File("memory", type=tarfile.CHRTYPE, mode=0o666), File("way/f", b"x")))
    assert {path.name for path in into.rglob("*")} == {"way", "f"}


async def test_a_pipe_is_made_and_never_opened(puller: Puller, registry: FalseRegistry, into: Path) -> None:
    """Opening one would wait for ever."""
    pipe = File("pipe", type=tarfile.FIFOTYPE, mode=0o666)
    with anyio.fail_after(30):
        await unpack(puller, registry, into, archive(pipe, hard_link("same", "pipe")), archive(pipe, File("pipe", b"a file now")))
    assert (into / "pipe").read_bytes() == b"a file now"


# Size


def bomb(size: int) -> bytes:
    """An archive of one file of zeros, made a thousand times smaller."""
    header = tarfile.TarInfo("bomb")
    header.size = size
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=9, mtime=0) as file:
        file.write(header.tobuf())
        for _ in range(size >> 20):
            file.write(bytes(1 << 20))
        file.write(bytes(1024))
    return packed.getvalue()


async def test_a_bomb_is_refused_before_it_goes_off(puller: Puller, registry: FalseRegistry, into: Path) -> None:
    packed = bomb(512 << 20)
    assert len(packed) * 100 < 512 << 20
    reference = registry.serve("app", assembled(image(b"").blobs[0], [Blob(packed, LAYER)]))
    with pytest.raises(ImageTooLarge, match="image_size_gb"):
        await puller.unpack(Reference.parse(reference), into)
    assert list(into.iterdir()) == []


async def test_a_bomb_of_many_files_is_bounded(puller: Puller, registry: FalseRegistry, into: Path) -> None:
    """Each is small enough."""
    layer = archive(*(File(f"f{number}", os.urandom(16) * (1 << 16)) for number in range(80)))
    with pytest.raises(ImageTooLarge):
        await unpack(puller, registry, into, layer)
    assert sum(path.stat().st_blocks * 512 for path in into.rglob("*")) <= LIMIT_BYTES


async def test_layers_count_together(puller: Puller, registry: FalseRegistry, into: Path) -> None:
    with pytest.raises(ImageTooLarge):
        await unpack(puller, registry, into, *(archive(File("same", bytes([each]) * (40 << 20))) for each in (1, 2)))


async def test_a_billion_entries_are_bounded(puller: Puller, registry: FalseRegistry, into: Path) -> None:
    """As many as fit into what is sent: empty files cost what their entries do."""
    entry = tarfile.TarInfo("x").tobuf()
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=1, mtime=0) as file:
        for _ in range(200):
            file.write(entry * 10_000)
    reference = registry.serve("app", assembled(image(b"").blobs[0], [Blob(packed.getvalue(), LAYER)]))
    with anyio.fail_after(60), pytest.raises(ImageTooLarge):
        await puller.unpack(Reference.parse(reference), into)
    assert len(list(into.iterdir())) <= 1


async def test_zeros_behind_an_archive_are_bounded(puller: Puller, registry: FalseRegistry, into: Path) -> None:
    packed = gzip.compress(archive(File("a", b"x")) + bytes(300 << 20), 1, mtime=0)
    reference = registry.serve("app", assembled(image(b"").blobs[0], [Blob(packed, LAYER)]))
    with pytest.raises(ImageTooLarge):
        await puller.unpack(Reference.parse(reference), into)


async def test_a_sparse_file_counts_as_large_as_it_seems(puller: Puller, registry: FalseRegistry, into: Path) -> None:
    pax = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "sparse", "GNU.sparse.realsize": str(8 << 30)}
    content = b"1\n0\n512\n".ljust(512, b"\0") + b"x" * 512
    with pytest.raises(ImageTooLarge):
        await unpack(puller, registry, into, archive(File("GNUSparseFile.0/sparse", content, pax=pax)))
    assert list(into.rglob("*")) == []


async def test_an_answer_of_the_registry_is_bounded(puller: Puller, registry: FalseRegistry, into: Path) -> None:
    registry.serve("app", image(archive()))
    registry.replies["/v2/app/manifests/1"].body += b" " * (32 << 20)
    with pytest.raises(ImageBroken):
        await puller.resolve(Reference.parse(f"{registry.host}/app:1"))


async def test_a_configuration_is_bounded(puller: Puller, registry: FalseRegistry, into: Path) -> None:
    config = image(archive()).blobs[0]
    registry.replies["/v2/app/manifests/1"] = Reply(
        manifest_of(config.described(size=1 << 40), []), headers={"content-type": "application/vnd.oci.image.manifest.v1+json"}
    )
    with pytest.raises(ImageBroken):
        await puller.resolve(Reference.parse(f"{registry.host}/app:1"))


# Names


@pytest.mark.parametrize("name", ["a" * 300, "/".join(["b" * 250] * 20)])
async def test_names_that_no_disk_takes_are_refused(puller: Puller, registry: FalseRegistry, into: Path, name: str) -> None:
    with pytest.raises(ImageBroken):
        await unpack(puller, registry, into, archive(File(name, b"x")))


async def test_links_in_a_circle_are_refused(puller: Puller, registry: FalseRegistry, into: Path) -> None:
    with pytest.raises(ImageBroken):
        await unpack(puller, registry, into, archive(symlink("a", "b"), symlink("b", "a"), File("a/file", b"x")))


async def test_an_archive_that_makes_no_sense_is_refused(puller: Puller, registry: FalseRegistry, into: Path) -> None:
    for content in (b"no archive at all" * 100, archive(File("a", b"x" * 2000))[:1500]):
        with pytest.raises(ImageBroken):
            await unpack(puller, registry, into, content)


# Where a registry can send the node


async def test_inner_addresses_are_not_asked_unless_somebody_said_so(registry: FalseRegistry) -> None:
    reference = Reference.parse(registry.serve("app", image(archive())))
    with pytest.raises(RegistryRefused, match="private_registries"):
        await image_sources(PullSettings(timeout_s=20)).puller.resolve(reference)
    assert registry.asked == []


async def test_an_inner_registry_without_https_is_insecure(registry: FalseRegistry) -> None:
    reference = Reference.parse(registry.serve("app", image(archive())))
    with pytest.raises(RegistryRefused, match="https"):
        await image_sources(PullSettings(private=(registry.host,), timeout_s=20)).puller.resolve(reference)
    assert registry.asked == []


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::ffff:127.0.0.1]"])
async def test_a_registry_cannot_send_the_node_elsewhere_for_a_token(registry: FalseRegistry, puller: Puller, host: str) -> None:
    with serving_false_registry() as inner:
        port = inner.host.rpartition(":")[2]
        challenge = f'Bearer realm="http://{host}:{port}/secrets",service="inner"'
        registry.replies["/v2/"] = Reply(b"{}", 401, {"www-authenticate": challenge})
        with pytest.raises((RegistryRefused, ImageBroken)):  # by us, or by the library
            await puller.resolve(Reference.parse(f"{registry.host}/app:1"))
        assert inner.asked == []


async def test_a_registry_cannot_send_the_node_elsewhere_for_a_blob(registry: FalseRegistry, puller: Puller, into: Path) -> None:
    made = image(archive(File("a", b"x")))
    reference = registry.serve("app", made)
    with serving_false_registry() as inner:
        for blob in made.blobs:
            inner.replies[f"/{digest_of(blob.content)}"] = Reply(blob.content)
            registry.replies[f"/v2/app/blobs/{digest_of(blob.content)}"] = Reply(
                b"", 307, {"location": f"http://{inner.host}/{digest_of(blob.content)}"}
            )
        with pytest.raises(RegistryRefused):
            await puller.unpack(Reference.parse(reference), into)
        assert inner.asked == []


async def test_a_manifest_cannot_send_the_node_elsewhere_for_a_layer(registry: FalseRegistry, puller: Puller, into: Path) -> None:
    made = image(archive(File("a", b"x")))
    with serving_false_registry() as inner:
        layer = made.blobs[1].described(urls=[f"http://{inner.host}/layer"])
        manifest = Blob(manifest_of(made.blobs[0].described(), [layer]), made.manifest.type)
        reference = registry.serve("app", type(made)(manifest, made.blobs[:1]))
        with pytest.raises(Exception, match="app"):
            await puller.unpack(Reference.parse(reference), into)
        assert inner.asked == []


async def test_a_registry_that_goes_on_for_ever_is_left(registry: FalseRegistry, into: Path) -> None:
    made = image(archive(File("a", os.urandom(1 << 20))))
    reference = registry.serve("app", made)
    blob = registry.replies[f"/v2/app/blobs/{digest_of(made.blobs[1].content)}"]
    blob.length, blob.body, blob.waits = len(blob.body), blob.body[:1000], threading.Event()
    hasty = image_sources(PullSettings(insecure=(registry.host,), timeout_s=2)).puller
    with anyio.fail_after(20), pytest.raises(RegistryTooSlow, match="image_timeout_s"):
        await hasty.unpack(Reference.parse(reference), into)
