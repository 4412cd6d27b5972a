"""The whole control plane on fakes, behind the real API: what the doors' tests knock at."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
from fastapi import FastAPI

from roost.api.app import create_app
from roost.api.services import About, Services
from roost.api.session import Sessions
from roost.contracts.store import Store
from roost.control.compose import Dependencies, compose
from roost.domain import ids
from roost.domain.sandbox import Size
from roost.domain.snapshot import Purpose, Snapshot, SnapshotKind
from roost.domain.team import DEFAULT_TEAM
from roost.domain.template import Template
from roost.drivers.store.sql import SqlStore
from roost.edge.ledger import TrafficLedger
from roost.testing.clock import ManualClock
from roost.testing.cluster import FakeCluster
from roost.testing.node import FakeImage, FakeNode
from roost.testing.store import MemoryStore

AnyStore = MemoryStore | SqlStore


@dataclass(frozen=True, slots=True)
class House:
    app: FastAPI
    key: str
    clock: ManualClock
    node: FakeNode
    store: AnyStore
    services: Services

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}


@asynccontextmanager
async def open_house(
    *, start: float = 1_700_000_000.0, port: int = 4700, store: MemoryStore | SqlStore | None = None
) -> AsyncIterator[House]:
    clock, rng = ManualClock(start), random.Random(7)
    store = MemoryStore() if store is None else store
    node = FakeNode(clock=clock)
    control = compose(
        Dependencies(
            store=store,
            usage=store,
            cluster=FakeCluster(node),
            ledger=TrafficLedger(clock),
            clock=clock,
            random=rng,
        )
    )
    about = About("0.0.0", "roost.localhost", port, "/home/of/tests", 1, "engine 1", "agent 1")
    sessions = Sessions(secret=b"secret of tests", scheme="http", instance="tests", now=clock.now)
    services = Services.of(control, about, sessions)
    await add_template(store, node, clock, rng, "base")
    made: list[str] = []
    await control.keys.ensure_operator(None, made.append)
    [key] = made
    async with anyio.create_task_group() as group:
        await group.start(control.flights.run)
        yield House(create_app(services), key, clock, node, store, services)
        await control.flights.drain()
        group.cancel_scope.cancel()
    node.close()


async def add_template(store: Store, node: FakeNode, clock: ManualClock, rng: random.Random, name: str) -> None:
    snapshot = Snapshot(
        id=ids.new_snapshot_id(rng),
        team=DEFAULT_TEAM,
        node=node.id,
        kind=SnapshotKind.MEMORY,
        purpose=Purpose.TEMPLATE,
        template=name,
        created_at=clock.now(),
    )
    template = Template(
        id=ids.new_template_id(rng),
        team=None,
        name=name,
        snapshot=snapshot.id,
        size=Size(),
        digest="d",
        created_at=clock.now(),
        description="What most things start from",
    )
    node.images[snapshot.id] = FakeImage(SnapshotKind.MEMORY, disk="disk", memory="sleepd", created_at=clock.now())
    async with store.transaction() as transaction:
        await transaction.put(snapshot, expect_revision=None)
        await transaction.put(template, expect_revision=None)
