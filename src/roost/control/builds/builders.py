"""Builders: sandboxes that no record tells of, booted from a disk to run steps in, and gone afterwards."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio

from roost.contracts.cluster import Cluster
from roost.contracts.node_builds import NodeBuilds
from roost.control.templates.sites import Sites
from roost.domain import ids
from roost.domain.ids import NodeId, SandboxId, SnapshotId
from roost.domain.node import Captured, CaptureOrder, CreateOrder, Identity, KillOrder
from roost.domain.sandbox import Size

INCARNATION = 1


@dataclass(frozen=True, slots=True)
class BuilderFacts:
    """What a builder is to be."""

    node: NodeId
    disk: SnapshotId
    size: Size
    template: str
    user: str = "root"
    workdir: str = "/"
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Builder:
    sandbox: SandboxId
    facts: BuilderFacts


class Builders:
    def __init__(self, *, cluster: Cluster, random: ids.Random, sites: Sites) -> None:
        self._cluster = cluster
        self._random = random
        self._sites = sites

    @asynccontextmanager
    async def booted(self, facts: BuilderFacts) -> AsyncIterator[Builder]:
        """Without a token: nobody but the node can reach it, and the node has to run its steps."""
        sandbox = ids.new_sandbox_id(self._random)
        identity = Identity(
            sandbox=sandbox,
            hostname=facts.template,
            template=facts.template,
            access_token="",
            env=facts.env,
            user=facts.user,
            workdir=facts.workdir,
            fresh=True,
        )
        node = self._cluster.node(facts.node)
        with self._sites.building(sandbox):
            try:
                await node.create(CreateOrder(sandbox, INCARNATION, facts.disk, facts.size, identity, cold=True))
                yield Builder(sandbox, facts)
            finally:
                with anyio.CancelScope(shield=True):
                    await node.kill(KillOrder(sandbox, INCARNATION))

    def on(self, builder: Builder) -> NodeBuilds:
        return self._cluster.builds(builder.facts.node)

    async def capture(self, builder: Builder, snapshot: SnapshotId, *, keep_memory: bool) -> Captured:
        """Whoever asks keeps the keeper from the snapshot until there is a record of it (`Sites.needing`)."""
        order = CaptureOrder(
            builder.sandbox,
            INCARNATION,
            snapshot,
            parent=builder.facts.disk,
            template=builder.facts.template,
            keep_memory=keep_memory,
        )
        return await self._cluster.node(builder.facts.node).snapshot(order)
