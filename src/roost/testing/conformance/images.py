"""What every node does with images of registries. The rig's `image` can be had, and has the working directory /work."""

from __future__ import annotations

from dataclasses import replace

import pytest

from roost.domain.image_errors import ImageNotFound, ReferenceInvalid
from roost.domain.snapshot import SnapshotKind
from roost.testing.conformance.node import NodeRig, snapshot_id


class ImageConformance:
    @pytest.fixture
    def rig(self) -> NodeRig:
        raise NotImplementedError("provide the node to test")

    async def test_an_image_is_imported_once_and_boots(self, rig: NodeRig) -> None:
        pinned = await rig.snapshots.resolve_image(rig.image)
        for reference in (rig.image, pinned):
            imported = await rig.snapshots.import_image(snapshot_id(1), reference, "own")
            assert (imported.captured.snapshot, imported.captured.kind) == (snapshot_id(1), SnapshotKind.DISK)
            assert pinned.endswith(f"@{imported.digest}")
            assert imported.settings.workdir == "/work"
        await rig.node.create(replace(rig.create_order(), source=snapshot_id(1), cold=True))

    async def test_a_pinned_reference_stays_what_it_is(self, rig: NodeRig) -> None:
        pinned = await rig.snapshots.resolve_image(rig.image)
        assert await rig.snapshots.resolve_image(pinned) == pinned

    async def test_an_image_that_nobody_has_is_refused_and_leaves_nothing(self, rig: NodeRig) -> None:
        unknown = rig.image.rpartition(":")[0] + ":unknown"
        with pytest.raises(ImageNotFound):
            await rig.snapshots.resolve_image(unknown)
        with pytest.raises(ImageNotFound):
            await rig.snapshots.import_image(snapshot_id(1), unknown, "own")
        assert not await rig.has(snapshot_id(1))

    async def test_what_is_no_reference_is_refused(self, rig: NodeRig) -> None:
        with pytest.raises(ReferenceInvalid):
            await rig.snapshots.import_image(snapshot_id(1), "Not An Image", "own")
