"""What every node does for templates that are built on it. A node in memory has to be told what `HELLO` does."""

from __future__ import annotations

import hashlib
import io
import tarfile
from dataclasses import replace

import pytest

from roost.domain.build_failures import NothingToCopy, UploadBroken, UploadDiffers, UploadNotFound
from roost.domain.errors import Conflict, SandboxLost
from roost.domain.ids import SandboxId
from roost.domain.node_builds import CommandOrder, Exited, FileOrder, Output, Selection
from roost.testing.conformance.node import NodeRig

HELLO = ("/bin/sh", "-c", "echo hello; exit 3")


async def boot(rig: NodeRig, number: int = 1) -> SandboxId:
    """A builder: without a token."""
    order = rig.create_order(number)
    order = replace(order, source=rig.disk, cold=True, identity=replace(order.identity, access_token=""))
    await rig.node.create(order)
    await rig.builds.prepare(order.sandbox, 1)
    return order.sandbox


async def send(rig: NodeRig, **files: str) -> str:
    content = archive(**files)
    digest = hashlib.sha256(content).hexdigest()
    await rig.builds.append_upload("session", 0, content[:100])
    await rig.builds.append_upload("session", 100, content[100:])
    facts = await rig.builds.finish_upload("session", digest)
    assert facts is not None and (facts.digest, facts.size_bytes) == (digest, len(content))
    return digest


def archive(**files: str) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content.encode()))
    return made.getvalue()


class BuildConformance:
    @pytest.fixture
    def rig(self) -> NodeRig:
        raise NotImplementedError("provide the node to test")

    async def test_a_command_is_heard_and_its_end_comes_last(self, rig: NodeRig) -> None:
        sandbox = await boot(rig)
        events = [event async for event in rig.builds.run(CommandOrder(sandbox, 1, HELLO))]
        said = "".join(event.text for event in events if isinstance(event, Output))
        assert said == "hello\n"
        assert events[-1] == Exited(3)
        await rig.builds.settle(sandbox, 1)

    async def test_what_is_not_there_takes_no_orders(self, rig: NodeRig) -> None:
        nobody = SandboxId("i" + "7" * 20)
        with pytest.raises(SandboxLost):
            await rig.builds.prepare(nobody, 1)
        with pytest.raises(SandboxLost):
            [event async for event in rig.builds.run(CommandOrder(nobody, 1, HELLO))]
        with pytest.raises(SandboxLost):
            await rig.builds.write(FileOrder(nobody, 1, "/x"), "x", "content")

    async def test_files_of_an_upload_are_copied(self, rig: NodeRig) -> None:
        sandbox, upload = await boot(rig), await send(rig, a="1", b="2")
        assert await rig.builds.copy(FileOrder(sandbox, 1, "/into/"), upload, Selection(("a",))) == 1
        with pytest.raises(NothingToCopy):
            await rig.builds.copy(FileOrder(sandbox, 1, "/into/"), upload, Selection(("c",)))
        await rig.builds.delete_upload(upload)
        await rig.builds.delete_upload(upload)
        with pytest.raises(UploadNotFound):
            await rig.builds.copy(FileOrder(sandbox, 1, "/into/"), upload, Selection(("a",)))

    async def test_only_the_files_that_are_taken_tell_two_selections_apart(self, rig: NodeRig) -> None:
        first, second = await send(rig, a="1", b="2"), await send(rig, a="1", b="3")
        assert first != second
        digests = [await rig.builds.digest_files(upload, Selection(("a",))) for upload in (first, second)]
        assert digests[0] == digests[1]
        digests = [await rig.builds.digest_files(upload, Selection(("b",))) for upload in (first, second)]
        assert digests[0] != digests[1]

    async def test_an_upload_that_is_not_what_it_says_leaves_nothing(self, rig: NodeRig) -> None:
        content = archive(a="1")
        await rig.builds.append_upload("session", 0, content)
        with pytest.raises(UploadDiffers):
            await rig.builds.finish_upload("session", "0" * 64)
        with pytest.raises(Conflict):
            await rig.builds.append_upload("session", len(content), b"more")
        await rig.builds.append_upload("session", 0, b"no archive" * 100)
        with pytest.raises(UploadBroken):
            await rig.builds.finish_upload("session", hashlib.sha256(b"no archive" * 100).hexdigest())
        assert await rig.builds.finish_upload("session", None) is None
