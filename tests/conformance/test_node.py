from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from roost.domain.ids import SandboxId
from roost.domain.node import KillOrder
from roost.domain.sandbox import Size
from roost.drivers.cluster.remote import RemoteNode, RemoteSnapshots
from roost.drivers.cluster.served import answer_for
from roost.rpc.client import Client
from roost.rpc.server import serve
from roost.rpc.sockets import listening_unix
from roost.testing.clock import ManualClock
from roost.testing.conformance.node import DozeConformance, NodeConformance, NodeRig, capture, snapshot_id
from roost.testing.node import FakeNode, FakeSnapshots

pytestmark = pytest.mark.anyio


async def rigged(node: FakeNode) -> NodeRig:
    async def end(sandbox: SandboxId) -> None:
        node.end(sandbox)

    rig = NodeRig(node, FakeSnapshots(node), snapshot_id(100), snapshot_id(101), "base", Size(), end)
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


class TestFakeThatDozes(DozeConformance):
    @pytest.fixture
    async def rig(self) -> AsyncIterator[NodeRig]:
        node = FakeNode(clock=ManualClock(), dozers=2)
        yield await rigged(node)
        node.close()


@asynccontextmanager
async def across(rig: NodeRig, path: Path) -> AsyncIterator[NodeRig]:
    """The same node, as another process sees it."""
    with listening_unix(path) as door:
        async with anyio.create_task_group() as tasks:
            await tasks.start(serve, answer_for(rig.node, rig.snapshots, None, build="1"), door)
            client = Client(path, peer="node", build="1")
            await tasks.start(client.run)
            yield replace(rig, node=RemoteNode(client), snapshots=RemoteSnapshots(client))
            tasks.cancel_scope.cancel()


class TestRemote(NodeConformance):
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
