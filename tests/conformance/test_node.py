from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from roost.domain.build import ImageSettings
from roost.domain.ids import SandboxId
from roost.domain.node import KillOrder
from roost.domain.sandbox import Size
from roost.testing.builds import FakeBuilds
from roost.testing.clock import ManualClock
from roost.testing.cluster import FakeSnapshots
from roost.testing.conformance.builds import HELLO, BuildConformance
from roost.testing.conformance.images import ImageConformance
from roost.testing.conformance.node import DozeConformance, NodeConformance, NodeRig, capture, snapshot_id
from roost.testing.node import FakeNode
from tests.conformance.remote import across

pytestmark = pytest.mark.anyio


async def rigged(node: FakeNode) -> NodeRig:
    async def end(sandbox: SandboxId) -> None:
        node.end(sandbox)

    snapshots = FakeSnapshots(node)
    snapshots.registry["docker.io/library/own:1"] = ImageSettings(workdir="/work")
    builds = FakeBuilds(node)
    builds.answers[HELLO[-1]] = [(3, "hello\n")]
    rig = NodeRig(node, snapshots, builds, snapshot_id(100), snapshot_id(101), "base", Size(), end, image="own:1")
    await node.import_disk(rig.disk, rig.root, "base")
    builder = SandboxId("i" + "8" * 20)
    order = rig.create_order(8)
    await node.create(type(order)(builder, 1, rig.disk, rig.size, order.identity, cold=True))
    await node.snapshot(capture(builder, 100))
    await node.kill(KillOrder(builder, 1))
    return rig


class TestFake(NodeConformance):
    @pytest.fixture
    async def rig(self) -> AsyncIterator[NodeRig]:
        node = FakeNode(clock=ManualClock())
        yield await rigged(node)
        node.close()


class TestFakeWithImages(ImageConformance):
    @pytest.fixture
    async def rig(self) -> AsyncIterator[NodeRig]:
        node = FakeNode(clock=ManualClock())
        yield await rigged(node)
        node.close()


class TestFakeWithBuilds(BuildConformance):
    @pytest.fixture
    async def rig(self) -> AsyncIterator[NodeRig]:
        node = FakeNode(clock=ManualClock())
        yield await rigged(node)
        node.close()


class TestFakeThatDozes(DozeConformance):
    @pytest.fixture
    async def rig(self) -> AsyncIterator[NodeRig]:
        node = FakeNode(clock=ManualClock(), dozers=2)
        yield await rigged(node)
        node.close()


class TestRemote(NodeConformance):
    @pytest.fixture
    async def rig(self, tmp_path: Path) -> AsyncIterator[NodeRig]:
        node = FakeNode(clock=ManualClock())
        async with across(await rigged(node), tmp_path / "node.sock") as rig:
            yield rig
        node.close()


class TestRemoteWithImages(ImageConformance):
    @pytest.fixture
    async def rig(self, tmp_path: Path) -> AsyncIterator[NodeRig]:
        node = FakeNode(clock=ManualClock())
        async with across(await rigged(node), tmp_path / "node.sock") as rig:
            yield rig
        node.close()


class TestRemoteWithBuilds(BuildConformance):
    @pytest.fixture
    async def rig(self, tmp_path: Path) -> AsyncIterator[NodeRig]:
        node = FakeNode(clock=ManualClock())
        async with across(await rigged(node), tmp_path / "node.sock") as rig:
            yield rig
        node.close()


class TestRemoteThatDozes(DozeConformance):
    @pytest.fixture
    async def rig(self, tmp_path: Path) -> AsyncIterator[NodeRig]:
        node = FakeNode(clock=ManualClock(), dozers=2)
        async with across(await rigged(node), tmp_path / "node.sock") as rig:
            yield rig
        node.close()
