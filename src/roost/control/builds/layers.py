"""Layers: what steps left, found by key. Nothing but a build needs one, so any that no build uses just now can go."""

from __future__ import annotations

from dataclasses import dataclass, replace

from roost.contracts.clock import Clock
from roost.contracts.cluster import Cluster
from roost.contracts.store import Query, Store
from roost.control.templates.sites import Sites
from roost.domain.access import Principal, Thing, Verb, forbidden, require
from roost.domain.build import ImageSettings
from roost.domain.builds import Layer
from roost.domain.ids import NodeId, TeamId
from roost.domain.node import Captured
from roost.domain.snapshot import Purpose, Snapshot
from roost.telemetry.log import get_logger

DAY_S = 86400.0
LAYER_DAYS = 14.0
_FRESH_S = 3600.0  # how often it is written down that a layer was used

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class NewLayer:
    key: str
    team: TeamId
    node: NodeId
    template: str
    text: str
    settings: ImageSettings | None = None


class Layers:
    def __init__(self, *, store: Store, cluster: Cluster, clock: Clock, sites: Sites, keep_s: float = LAYER_DAYS * DAY_S) -> None:
        self._store = store
        self._cluster = cluster
        self._clock = clock
        self._sites = sites
        self._keep_s = keep_s

    async def find(self, key: str) -> Layer | None:
        """It is there, and was used just now."""
        async with self._store.reading() as reader:
            layer = await reader.get(Layer, key)
            entry = await reader.get(Snapshot, layer.snapshot) if layer else None
        if layer is None or entry is None:
            return None
        if layer.used_at < self._clock.now() - _FRESH_S:
            async with self._store.transaction() as transaction:
                current = await transaction.get(Layer, key)
                if current is not None:
                    used = replace(current, used_at=self._clock.now())
                    return await transaction.put(used, expect_revision=current.revision)
        return layer

    async def keep(self, new: NewLayer, captured: Captured, *, since: float = 0.0) -> Layer:
        """Layer and snapshot are written at once. Of two builds that made the same one, the first wins, unless it is older than
        `since`; the other's snapshot is nobody's then, and swept away."""
        now = self._clock.now()
        layer = Layer(
            new.key, new.team, new.node, captured.snapshot, now, now, text=new.text, settings=new.settings
        )  # fmt: skip
        entry = Snapshot(
            id=captured.snapshot,
            team=new.team,
            node=new.node,
            kind=captured.kind,
            purpose=Purpose.LAYER,
            template=new.template,
            created_at=captured.created_at,
        )
        async with self._store.transaction() as transaction:
            known = await transaction.get(Layer, new.key)
            if known is not None and await transaction.get(Snapshot, known.snapshot) is not None:
                if known.created_at >= since:
                    return known
                await transaction.delete(Snapshot, known.snapshot)
            await transaction.put(entry, expect_revision=None)
            return await transaction.put(layer, expect_revision=known.revision if known else None)

    async def forget(self, key: str) -> None:
        """A layer whose snapshot is not on its node any more."""
        async with self._store.transaction() as transaction:
            layer = await transaction.get(Layer, key)
            if layer is not None:
                await transaction.delete(Layer, key)
                await transaction.delete(Snapshot, layer.snapshot)

    async def collect(self) -> None:
        """Those that nothing used for long are gone."""
        before = self._clock.now() - self._keep_s
        async with self._store.reading() as reader:
            layers = await reader.find(Layer, Query())
        await self._drop([layer for layer in layers if layer.used_at < before])

    async def prune(self, principal: Principal, keep_s: float) -> list[Layer]:
        """The team's layers that were not used for so long are gone, at once. Returns them. Raises Forbidden."""
        require(principal, Verb.CHANGE, Thing(principal.team), forbidden(principal, Verb.CHANGE))
        before = self._clock.now() - keep_s
        async with self._store.reading() as reader:
            layers = await reader.find(Layer, Query(equal={"team": principal.team}))
        return await self._drop([layer for layer in layers if layer.used_at <= before])

    async def _drop(self, layers: list[Layer]) -> list[Layer]:
        dropped: list[Layer] = []
        for layer in layers:
            if layer.snapshot in self._sites.unpublished:  # a build needs it now
                continue
            async with self._store.transaction() as transaction:
                await transaction.delete(Layer, layer.id)
                await transaction.delete(Snapshot, layer.snapshot)
            log.info("dropping a layer that no build used", layer=layer.id, text=layer.text)
            await self._cluster.snapshots(layer.node).delete_snapshot(layer.snapshot)
            dropped.append(layer)
        return dropped
