"""Where a stage begins: a template, an image, or nothing at all."""

from __future__ import annotations

from typing import assert_never

from roost.contracts.cluster import Cluster
from roost.contracts.snapshots import EMPTY_ROOT
from roost.contracts.store import Store
from roost.control.builds.layers import Layers, NewLayer
from roost.control.builds.planning import BaseFacts, base_key
from roost.control.sandboxes.references import find_template
from roost.control.templates.sites import Sites
from roost.domain import ids
from roost.domain.access import Principal
from roost.domain.build import FromImage, FromNothing, FromTemplate, ImageSettings
from roost.domain.builds import Build, Layer
from roost.domain.ids import NodeId, SnapshotId

Outside = FromImage | FromTemplate | FromNothing
"""A base that is no stage of the same build."""


class Bases:
    def __init__(self, *, store: Store, cluster: Cluster, random: ids.Random, sites: Sites, layers: Layers) -> None:
        self._store = store
        self._cluster = cluster
        self._random = random
        self._sites = sites
        self._layers = layers

    async def find(self, principal: Principal, build: Build, node: NodeId, base: Outside) -> BaseFacts:
        """Its key and what it says of itself. An image that is not on the node is imported: only then its settings are known.
        Raises TemplateNotFound, and what `NodeSnapshots.import_image` raises."""
        match base:
            case FromTemplate(name, tag):
                async with self._store.reading() as reader:
                    template = await find_template(reader, principal, f"{name}:{tag}" if tag else name)
                plain = ImageSettings(env=dict(template.env), user=template.user, workdir=template.workdir)
                key = base_key(build.team, base, template.snapshot)
                return BaseFacts(key, template.settings or plain, template.snapshot)
            case FromImage(reference):
                layer = await self._image(build, node, base, await self._cluster.snapshots(node).resolve_image(reference))
                return BaseFacts(layer.id, layer.settings or ImageSettings(), layer.snapshot)
            case FromNothing():
                return BaseFacts(base_key(build.team, base, ""), ImageSettings())
            case _:
                assert_never(base)

    async def disk(self, build: Build, node: NodeId, base: Outside, facts: BaseFacts) -> SnapshotId:
        """It lies on the node."""
        if facts.snapshot is not None:
            return facts.snapshot
        known = await self._layers.find(facts.key)
        if known is not None and known.node == node:
            return known.snapshot
        snapshot = ids.new_snapshot_id(self._random)
        with self._sites.needing(snapshot):
            captured = await self._cluster.snapshots(node).import_disk(snapshot, EMPTY_ROOT, build.name)
            new = NewLayer(facts.key, build.team, node, build.name, "FROM scratch", facts.settings)
            return (await self._layers.keep(new, captured)).snapshot

    async def _image(self, build: Build, node: NodeId, base: FromImage, pinned: str) -> Layer:
        key = base_key(build.team, base, pinned)
        known = await self._layers.find(key)
        if known is not None and known.node == node:
            return known
        snapshot = ids.new_snapshot_id(self._random)
        with self._sites.needing(snapshot):
            imported = await self._cluster.snapshots(node).import_image(snapshot, pinned, build.name)
            new = NewLayer(key, build.team, node, build.name, f"FROM {base.reference}"[:200], imported.settings)
            return await self._layers.keep(new, imported.captured)
