"""The real node against the suite that every node must pass."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from roost.domain.ids import SandboxId, SnapshotId
from roost.domain.node import KillOrder
from roost.domain.reconcile import EVERY_INCARNATION
from roost.node.storage.pulled import ImageSources
from roost.node.storage.puller import PullSettings
from roost.testing.conformance.builds import BuildConformance
from roost.testing.conformance.images import ImageConformance
from roost.testing.conformance.node import DozeConformance, NodeConformance, NodeRig
from tests.conformance.remote import across
from tests.real.ground import BASE, SIZE, TEMPLATE, Ground, image_sources
from tests.registry import Registry, archive, directory, image

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def rigged(
    ground: Ground, *, doze_bytes: int = 0, image: str = "", images: ImageSources | None = None
) -> AsyncIterator[NodeRig]:
    state = Path(f"/run/roost/{ground.instance}/runsc")

    async def end(sandbox: SandboxId) -> None:
        [file] = state.glob(f"{sandbox}-*.state")
        os.kill(json.loads(file.read_text())["sandbox"]["pid"], signal.SIGKILL)

    async with ground.opened(doze_bytes=doze_bytes, images=images) as node:
        yield NodeRig(node, node.snapshots, node.builds, TEMPLATE, BASE, "base", SIZE, end, image)
        await node.snapshots.keep_warm([])
        for home in list(ground.volume.sandboxes.iterdir()):
            await node.kill(KillOrder(SandboxId(home.name), EVERY_INCARNATION))
        for snapshot in (await node.report()).snapshots - {TEMPLATE, BASE}:
            await node.snapshots.delete_snapshot(SnapshotId(snapshot))


class TestNodeService(NodeConformance):
    """As control has it: through the socket of its process."""

    @pytest.fixture
    async def rig(self, ground: Ground, tmp_path: Path) -> AsyncIterator[NodeRig]:
        async with rigged(ground) as rig, across(rig, tmp_path / "node.sock") as remote:
            yield remote


class TestNodeServiceWithImages(ImageConformance):
    @pytest.fixture
    async def rig(self, ground: Ground, registry: Registry, tmp_path: Path) -> AsyncIterator[NodeRig]:
        reference = registry.push("conformance", image(archive(directory("work")), WorkingDir="/work"))
        images = image_sources(PullSettings(insecure=(registry.host,)))
        async with rigged(ground, image=reference, images=images) as rig, across(rig, tmp_path / "node.sock") as remote:
            yield remote


class TestNodeServiceWithBuilds(BuildConformance):
    @pytest.fixture
    async def rig(self, ground: Ground, tmp_path: Path) -> AsyncIterator[NodeRig]:
        async with rigged(ground) as rig, across(rig, tmp_path / "node.sock") as remote:
            yield remote


class TestNodeServiceThatDozes(DozeConformance):
    @pytest.fixture
    async def rig(self, ground: Ground) -> AsyncIterator[NodeRig]:
        async with rigged(ground, doze_bytes=2 << 30) as rig:
            yield rig
