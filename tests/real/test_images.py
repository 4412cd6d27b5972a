"""Images of a real registry on a node: fetched once, kept, collected; and everything that can go wrong with a registry."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest

from roost.archive.keys import VolumePaths
from roost.domain.errors import NodeFull, RoostError
from roost.domain.image import Reference
from roost.domain.image_errors import (
    ImageBroken,
    ImageNotFound,
    ImagePlatformMissing,
    RegistryDenied,
    RegistryTooSlow,
    RegistryUnreachable,
)
from roost.node.storage import subvolumes
from roost.node.storage.pulled import ImageSources, PulledImages
from roost.node.storage.puller import Puller, PullSettings
from roost.setup.tls import ensure_certificate, make_context
from tests.false_registry import FalseRegistry, manifest_of, serving_false_registry
from tests.real.ground import image_sources
from tests.registry import (
    ARCHITECTURE,
    OTHER_ARCHITECTURE,
    Blob,
    File,
    Registry,
    archive,
    digest_of,
    image,
    serving_registry,
)

pytestmark = pytest.mark.anyio

USER, PASSWORD = "agent", "secret"
# `htpasswd -nbB` of the two above.
PASSWORDS = "agent:$2b$05$hd4zk39rJlJe295vUWOpz.Mz2j/Mr/DCvdMxmVBnf1FyTZc1X83nK\n"


@pytest.fixture
def volume(home: Path) -> Iterator[VolumePaths]:
    paths = VolumePaths(home / "volume")
    yield paths
    clear(paths)


def clear(volume: VolumePaths) -> None:
    for folder in volume.images.glob("*"):
        for name in ("making", "root"):
            subvolumes.delete(folder / name)
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()


def kept(volume: VolumePaths) -> set[str]:
    return {folder.name for folder in volume.images.glob("*")}


def pulled_images(
    volume: VolumePaths, *hosts: str, keep_s: float = 86400, timeout_s: float = 60, now: Callable[[], float] = time.time
) -> PulledImages:
    sources = image_sources(PullSettings(insecure=hosts, timeout_s=timeout_s), keep_s=keep_s)
    return PulledImages(volume=volume, sources=sources, now=now)


@asynccontextmanager
async def used(images: PulledImages, reference: str) -> AsyncIterator[Path]:
    async with images.using(Reference.parse(reference)) as found:
        yield found.paths.root


async def test_an_image_is_fetched_once(volume: VolumePaths) -> None:
    with serving_false_registry() as registry:
        made = image(archive(File("hello", b"world")), Env=["A=1"])
        reference = registry.serve("once", made)
        images = pulled_images(volume, registry.host)
        for _ in range(2):
            async with used(images, reference) as root:
                assert (root / "hello").read_bytes() == b"world"
        layer = digest_of(made.blobs[1].content)
        assert len([path for path in registry.asked if layer in path]) == 1
        before = len(registry.asked)
        pinned = str(await images.resolve(Reference.parse(reference)))
        asked = len(registry.asked)
        assert asked > before
        async with used(images, pinned):
            pass
        assert len(registry.asked) == asked  # what is pinned and lies here needs no registry at all


async def test_two_who_ask_at_once_share_the_pull(volume: VolumePaths) -> None:
    with serving_false_registry() as registry:
        made = image(archive(File("hello", os.urandom(1 << 20))))
        reference = registry.serve("shared", made)
        images = pulled_images(volume, registry.host)

        async def use() -> None:
            async with used(images, reference):
                pass

        async with anyio.create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(use)
        assert len([path for path in registry.asked if digest_of(made.blobs[1].content) in path]) == 1


async def test_the_image_for_this_machine_is_chosen(registry: Registry, volume: VolumePaths) -> None:
    made = {each: image(archive(File(each, b"x")), architecture=each) for each in (OTHER_ARCHITECTURE, ARCHITECTURE)}
    reference = registry.push_index("many", made)
    async with used(pulled_images(volume, registry.host), reference) as root:
        assert [path.name for path in root.iterdir()] == [ARCHITECTURE]


async def test_an_image_for_other_machines_only_is_refused(registry: Registry, volume: VolumePaths) -> None:
    foreign = image(archive(), architecture=OTHER_ARCHITECTURE)
    images = pulled_images(volume, registry.host)
    for reference in (registry.push("foreign", foreign), registry.push_index("index", {OTHER_ARCHITECTURE: foreign})):
        with pytest.raises(ImagePlatformMissing, match=OTHER_ARCHITECTURE):
            await images.resolve(Reference.parse(reference))


@pytest.mark.parametrize("name", ["nobody/has:this", "known:nope", f"known@sha256:{'0' * 64}"])
async def test_an_unknown_image_is_told(registry: Registry, volume: VolumePaths, name: str) -> None:
    registry.push("known", image(archive()))
    with pytest.raises(ImageNotFound, match="docker_config"):
        async with used(pulled_images(volume, registry.host), f"{registry.host}/{name}"):
            pass
    assert kept(volume) == set()


async def test_a_registry_that_is_down_is_told_at_once(volume: VolumePaths) -> None:
    with anyio.fail_after(15), pytest.raises(RegistryUnreachable, match="refused"):
        await pulled_images(volume, "127.0.0.1:1").resolve(Reference.parse("127.0.0.1:1/app:1"))


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Registry]:
    (tmp_path / "htpasswd").write_text(PASSWORDS)
    with serving_registry(tmp_path, password_file=tmp_path / "htpasswd", user=(USER, PASSWORD)) as registry:
        yield registry


def docker_config(folder: Path, host: str, password: str) -> str:
    folder.mkdir()
    auth = base64.b64encode(f"{USER}:{password}".encode()).decode()
    (folder / "config.json").write_text(json.dumps({"auths": {host: {"auth": auth}}}))
    return str(folder)


async def test_credentials_come_from_dockers_config(guarded: Registry, volume: VolumePaths, tmp_path: Path) -> None:
    reference = Reference.parse(guarded.push("private", image(archive())))

    def asking(config: str) -> PulledImages:
        allowed = PullSettings(insecure=(guarded.host,), docker_config=config, timeout_s=60)
        return PulledImages(volume=volume, sources=image_sources(allowed), now=time.time)

    assert (await asking(docker_config(tmp_path / "right", guarded.host, PASSWORD)).resolve(reference)).digest
    for config in ("", docker_config(tmp_path / "wrong", guarded.host, "wrong")):
        with pytest.raises(RegistryDenied, match="docker login"):
            await asking(config).resolve(reference)


async def test_a_mirror_is_asked_first_and_the_registry_if_it_has_none(registry: Registry, volume: VolumePaths) -> None:
    with serving_false_registry() as mirror:
        mirror.serve("mirrored", image(archive(File("of-the-mirror", b"x"))))
        registry.push("mirrored", image(archive(File("of-the-registry", b"x"))))
        registry.push("only-there", image(archive(File("of-the-registry", b"x"))))
        allowed = PullSettings(insecure=(registry.host, mirror.host), mirrors={registry.host: (mirror.host,)}, timeout_s=60)
        images = PulledImages(volume=volume, sources=image_sources(allowed), now=time.time)
        async with used(images, f"{registry.host}/mirrored:1") as root:
            assert (root / "of-the-mirror").exists()
        async with used(images, f"{registry.host}/only-there:1") as root:
            assert (root / "of-the-registry").exists()


async def test_a_private_registry_needs_a_certificate_that_is_trusted(
    volume: VolumePaths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = ensure_certificate(tmp_path, "roost.localhost", "127.0.0.1", datetime.now(UTC))
    with serving_false_registry(make_context(certificate)) as registry:
        reference = Reference.parse(registry.serve("app", image(archive())))

        def asking(allowed: PullSettings) -> PulledImages:
            return PulledImages(volume=volume, sources=image_sources(allowed), now=time.time)

        private = asking(PullSettings(private=(registry.host,), timeout_s=20))
        with pytest.raises(RegistryUnreachable, match="certificate"):
            await private.resolve(reference)
        assert (await asking(PullSettings(insecure=(registry.host,), timeout_s=20)).resolve(reference)).digest
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate.ca))  # as if it were among the machine's
        assert (await private.resolve(reference)).digest


# Registries that lie, break, or are slow


def lie_about_the_layer(registry: FalseRegistry, **lies: object) -> str:
    """The manifest says so of a layer that is served as it is."""
    made = image(archive(File("a", b"x" * 5000)))
    config, layer = made.blobs
    manifest = Blob(manifest_of(config.described(), [layer.described(**lies)]), made.manifest.type)
    reference = registry.serve("liar", type(made)(manifest, made.blobs))
    if "digest" in lies:
        registry.replies[f"/v2/liar/blobs/{lies['digest']}"] = registry.replies[f"/v2/liar/blobs/{digest_of(layer.content)}"]
    return reference


@pytest.mark.parametrize("lies", [{"size": 10}, {"size": 1 << 20}, {"digest": "sha256:" + "ab" * 32}])
async def test_lies_about_size_or_digest_are_found_out(volume: VolumePaths, lies: dict[str, object]) -> None:
    with serving_false_registry() as registry:
        reference = lie_about_the_layer(registry, **lies)
        with pytest.raises(ImageBroken):
            async with used(pulled_images(volume, registry.host), reference):
                pass
    assert kept(volume) == set()


async def test_a_layer_that_its_configuration_does_not_know_is_refused(volume: VolumePaths) -> None:
    with serving_false_registry() as registry:
        config = image(archive(File("a", b"what was signed"))).blobs[0]
        other = image(archive(File("a", b"what is sent")))
        manifest = Blob(manifest_of(config.described(), [other.blobs[1].described()]), other.manifest.type)
        reference = registry.serve("liar", type(other)(manifest, (config, other.blobs[1])))
        with pytest.raises(ImageBroken, match="configuration says"):
            async with used(pulled_images(volume, registry.host), reference):
                pass
    assert kept(volume) == set()


async def test_a_manifest_that_is_another_is_refused(volume: VolumePaths) -> None:
    with serving_false_registry() as registry:
        made = image(archive())
        registry.serve("app", made)
        wanted = "sha256:" + "cd" * 32
        registry.replies[f"/v2/app/manifests/{wanted}"] = registry.replies["/v2/app/manifests/1"]
        with pytest.raises(ImageBroken):
            await pulled_images(volume, registry.host).resolve(Reference.parse(f"{registry.host}/app@{wanted}"))


async def test_a_connection_that_breaks_leaves_nothing(volume: VolumePaths) -> None:
    with serving_false_registry() as registry:
        made = image(archive(File("a", os.urandom(1 << 20))))
        reference = registry.serve("app", made)
        blob = registry.replies[f"/v2/app/blobs/{digest_of(made.blobs[1].content)}"]
        blob.length, blob.body = len(blob.body), blob.body[: 1 << 19]
        with pytest.raises(RegistryUnreachable):
            async with used(pulled_images(volume, registry.host), reference):
                pass
    assert kept(volume) == set()


def stalling(registry: FalseRegistry) -> str:
    made = image(archive(File("a", os.urandom(1 << 20))))
    reference = registry.serve("slow", made)
    blob = registry.replies[f"/v2/slow/blobs/{digest_of(made.blobs[1].content)}"]
    blob.length, blob.body, blob.waits = len(blob.body), blob.body[: 1 << 19], threading.Event()
    return reference


async def test_a_slow_registry_is_given_up(volume: VolumePaths) -> None:
    with serving_false_registry() as registry, pytest.raises(RegistryTooSlow, match="image_timeout_s"):
        async with used(pulled_images(volume, registry.host, timeout_s=2), stalling(registry)):
            pass
    assert kept(volume) == set()


async def test_whoever_goes_away_leaves_nothing(volume: VolumePaths) -> None:
    with serving_false_registry() as registry:
        images, reference = pulled_images(volume, registry.host), stalling(registry)
        layer = next(reply for reply in registry.replies.values() if reply.waits)

        async def pull() -> None:
            async with used(images, reference):
                pass

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pull)
            await anyio.to_thread.run_sync(layer.sent.wait, 30)
            tasks.cancel_scope.cancel()
    assert kept(volume) == set()


def descendants(pid: int) -> set[int]:
    children: set[int] = set()
    for tasks in Path(f"/proc/{pid}/task").glob("*/children"):
        children |= {int(child) for child in tasks.read_text().split()}
    return children.union(*(descendants(child) for child in children)) if children else set()


def wait_until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_node_that_is_killed_leaves_no_process(tmp_path: Path) -> None:
    """Neither the one that fetches nor the one that unpacks."""
    (tmp_path / "into").mkdir()
    with serving_false_registry() as registry:
        reference = stalling(registry)
        layer = next(reply for reply in registry.replies.values() if reply.waits)
        command = (sys.executable, "-m", "tests.real.pulling", reference, registry.host, str(tmp_path / "into"))
        with subprocess.Popen(command) as node:
            try:
                assert layer.sent.wait(30)
                wait_until(lambda: len(descendants(node.pid)) == 2)
                left = descendants(node.pid)
            finally:
                node.kill()
        wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in left))


async def test_a_configuration_that_makes_no_sense_leaves_nothing(registry: Registry, volume: VolumePaths) -> None:
    reference = registry.push("senseless", image(archive(File("a", b"x")), Env="no list"))
    with pytest.raises(ImageBroken):
        async with used(pulled_images(volume, registry.host), reference):
            pass
    assert kept(volume) == set()


@pytest.fixture
def small_volume(tmp_path: Path) -> Iterator[VolumePaths]:
    file, mounted = tmp_path / "small.btrfs", tmp_path / "small"
    with file.open("wb") as made:
        made.truncate(128 << 20)
    subprocess.run(("mkfs.btrfs", "--quiet", file), check=True)
    mounted.mkdir()
    subprocess.run(("mount", "-o", "loop", file, mounted), check=True)
    yield VolumePaths(mounted)
    subprocess.run(("umount", mounted), check=True)


async def test_a_full_disk_is_told(registry: Registry, small_volume: VolumePaths) -> None:
    """By the kernel, in the middle of a file."""
    huge = registry.push("huge", image(*(archive(File(f"f{each}", os.urandom(48 << 20))) for each in range(4))))
    into = small_volume.home / "into"
    into.mkdir()
    with pytest.raises(NodeFull):
        await image_sources(PullSettings(insecure=(registry.host,))).puller.unpack(Reference.parse(huge), into)


async def test_an_image_leaves_room_for_others_and_nothing_of_itself(registry: Registry, small_volume: VolumePaths) -> None:
    """Those that lie there go too: whoever asks again finds the room."""
    images = pulled_images(small_volume, registry.host)
    async with used(images, registry.push("small", image(archive(File("f", b"x"))))):
        pass
    huge = registry.push("huge", image(*(archive(File(f"f{each}", os.urandom(48 << 20))) for each in range(4))))
    with pytest.raises(NodeFull):
        async with used(images, huge):
            pass
    assert kept(small_volume) == set()


# Keeping


async def test_an_image_that_nobody_asks_for_goes(registry: Registry, volume: VolumePaths) -> None:
    now = time.time()
    old = registry.push("old", image(archive(File("old", b"x"))))
    new = registry.push("new", image(archive(File("new", b"x"))))
    images = pulled_images(volume, registry.host, keep_s=100, now=lambda: now)
    async with used(images, old):
        pass
    assert len(kept(volume)) == 1
    now += 90
    async with used(images, new):
        pass
    assert len(kept(volume)) == 2
    now += 20
    async with used(images, new):
        pass
    assert len(kept(volume)) == 1
    async with used(images, old) as root:  # and comes again
        assert (root / "old").exists()


async def test_what_a_killed_server_left_is_thrown_away(registry: Registry, volume: VolumePaths) -> None:
    reference = registry.push("left", image(archive(File("a", b"x"))))
    images = pulled_images(volume, registry.host)
    async with used(images, reference):
        pass
    half = volume.image("sha256:" + "ef" * 32)
    half.home.mkdir()
    subvolumes.create(half.making)
    (half.making / "file").write_text("half")
    await pulled_images(volume, registry.host).open()
    assert not half.home.exists()
    assert len(kept(volume)) == 1


async def test_a_program_that_cannot_be_built_says_so(volume: VolumePaths) -> None:
    def missing() -> Path:
        raise RoostError("puller_build_failed", "There is no Go.")

    images = PulledImages(volume=volume, sources=ImageSources(Puller(missing, PullSettings())), now=time.time)
    with pytest.raises(RoostError, match="no Go"):
        await images.resolve(Reference.parse("debian:12"))
