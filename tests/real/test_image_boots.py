"""Any image is a sandbox: a program alone, a busybox without users, a whole Debian. The agent brings what it needs."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from roost.domain.ids import new_snapshot_id
from roost.domain.image import ImportedImage
from roost.domain.node import CaptureOrder, CreateOrder, KillOrder, Ran, RunOrder
from roost.node.service import NodeService
from roost.node.storage.puller import PullSettings
from tests.real.ground import CHANCE, Ground, create_order, image_sources
from tests.registry import File, Image, Registry, archive, busybox, directory, image, symlink

pytestmark = pytest.mark.anyio

LARGE = ("usr/libexec/gcc", "usr/lib/gcc", "usr/include", "usr/share/nodejs", "usr/share/perl", "usr/lib/git-core")


@pytest.fixture
async def node(ground: Ground, registry: Registry) -> AsyncIterator[NodeService]:
    async with ground.opened(images=image_sources(PullSettings(insecure=(registry.host,)))) as node:
        yield node


class Booted:
    """A sandbox made of an image, as a template is: booted, kept with its memory, cloned."""

    def __init__(self, node: NodeService, imported: ImportedImage, order: CreateOrder) -> None:
        self._node = node
        self.imported = imported
        self.order = order

    async def run(self, command: str, user: str = "root") -> str:
        ran = await self.try_to(command, user)
        assert ran.exit_code == 0, ran.output
        return ran.output

    async def try_to(self, command: str, user: str = "root") -> Ran:
        return await self._node.run(RunOrder(self.order.sandbox, 1, command, user, 60.0))


async def boot(node: NodeService, registry: Registry, name: str, made: Image, *, user: str = "root") -> Booted:
    disk, template = new_snapshot_id(CHANCE), new_snapshot_id(CHANCE)
    imported = await node.snapshots.import_image(disk, registry.push(name, made), name)

    def placed(order: CreateOrder) -> CreateOrder:
        identity = replace(order.identity, user=imported.settings.user or user, workdir=imported.settings.workdir)
        return replace(order, identity=identity)

    builder = placed(create_order(source=disk, cold=True))
    await node.create(builder)
    await node.snapshot(CaptureOrder(builder.sandbox, 1, template, disk, name))
    await node.kill(KillOrder(builder.sandbox, 1))
    order = placed(create_order(source=template))
    await node.create(order)
    return Booted(node, imported, order)


async def test_a_program_alone(node: NodeService, registry: Registry) -> None:
    """Nothing else: no shell, no users, no /etc, no library."""
    booted = await boot(node, registry, "alone", image(archive(File("busybox", busybox(), mode=0o755)), WorkingDir="/srv/data"))
    assert await booted.run("/busybox echo 'hello  there'") == "hello  there\n"
    assert await booted.run("/busybox pwd") == "/srv/data\n"  # made, as it is where images are run otherwise
    assert await booted.run("/busybox id -u") == "0\n"
    assert await booted.run("/busybox id -u", user="1000") == "1000\n"  # nobody has to have heard of them
    assert await booted.run("/busybox cat /etc/resolv.conf") == "nameserver 169.254.7.1\n"
    assert "127.0.0.1 localhost" in await booted.run("/busybox cat /etc/hosts")
    assert await booted.run("/busybox hostname") == f"{booted.order.identity.hostname}\n"
    assert "drwxrwxrwt" in await booted.run("/busybox ls -ld /tmp")
    assert "HOME=/" in await booted.run("/busybox env")


async def test_without_a_shell_what_needs_one_is_refused(node: NodeService, registry: Registry) -> None:
    booted = await boot(node, registry, "shell-less", image(archive(File("busybox", busybox(), mode=0o755))))
    ran = await booted.try_to("/busybox echo hi | /busybox cat")
    assert ran.exit_code != 0
    assert "this image has no shell" in ran.output


async def test_a_busybox_without_users(node: NodeService, registry: Registry) -> None:
    programs = [symlink(f"bin/{name}", "busybox") for name in ("sh", "cat", "echo", "id", "tr", "touch", "ls", "env")]
    layer = archive(
        File("bin/busybox", busybox(), mode=0o755), *programs, directory("etc"), symlink("etc/resolv.conf", "../run/none")
    )
    booted = await boot(node, registry, "busybox", image(layer, Env=["PATH=/bin"]))
    assert await booted.run("echo one two | tr o 0; echo $((40 + 2))") == "0ne tw0\n42\n"
    assert await booted.run("cat /etc/resolv.conf") == "nameserver 169.254.7.1\n"  # the link led nowhere
    assert await booted.run("touch /tmp/file /root-file && ls /tmp /root-file") == "/root-file\n\n/tmp:\nfile\n"


async def test_what_the_image_says_is_told(node: NodeService, registry: Registry) -> None:
    made = image(archive(File("busybox", busybox(), mode=0o755)), Entrypoint=["/busybox"], Cmd=["sh"], Env=["A=b"], User="1000")
    booted = await boot(node, registry, "told", made)
    assert (booted.imported.settings.entrypoint, booted.imported.settings.command) == (("/busybox",), ("sh",))
    assert (booted.imported.settings.env, booted.imported.settings.user) == ({"A": "b"}, "1000")


def without_its_tools(root: Path) -> bytes:
    """Debian is there without what compiles programs, which is most of it."""
    made = io.BytesIO()
    left_out: set[str] = set()
    with tarfile.open(root) as whole, tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as smaller:
        for entry in whole:
            name = entry.name.removeprefix("./")
            if name.startswith(LARGE) or entry.size > 8 << 20 or (entry.islnk() and entry.linkname in left_out):
                left_out.add(entry.name)
            else:
                smaller.addfile(entry, whole.extractfile(entry) if entry.isreg() else None)
    return made.getvalue()


async def test_a_whole_debian(node: NodeService, registry: Registry, ground: Ground) -> None:
    """The root filesystem of base, as an image: with users, sudo and links of its own."""
    booted = await boot(node, registry, "debian", image(without_its_tools(ground.root), compress=False), user="user")
    assert await booted.run("id -un", user="user") == "user\n"
    assert await booted.run("sudo -n id -un", user="user") == "root\n"
    assert "Debian" in await booted.run(". /etc/os-release; echo $NAME")
    assert json.loads(await booted.run("python3 -c 'import json; print(json.dumps(1))'")) == 1
