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
from roost.control.alarm import Alarm
from roost.control.builds import Builds
from roost.control.directory import RouteTable
from roost.control.drivers import Drivers
from roost.control.feed import Feed
from roost.control.fleet import Fleet
from roost.control.flights import Flights
from roost.control.forks import Forks
from roost.control.keys import Keys
from roost.control.links import Links
from roost.control.live import Live
from roost.control.moves import Moves
from roost.control.nodes import Nodes
from roost.control.notices import DriverNotices
from roost.control.power import Power
from roost.control.pulses import Pulses
from roost.control.questions import Questions
from roost.control.rollbacks import Rollbacks
from roost.control.sandboxes import Sandboxes
from roost.control.snapshots import Snapshots
from roost.control.templates import Templates
from roost.control.trash import Trash
from roost.control.undeletes import Undeletes
from roost.domain import ids
from roost.domain.sandbox import Size
from roost.domain.snapshot import Kind, Purpose, Snapshot
from roost.domain.team import DEFAULT_TEAM
from roost.domain.template import Template
from roost.edge.ledger import TrafficLedger
from roost.testing.clock import ManualClock
from roost.testing.node import FakeCluster, FakeImage, FakeNode
from roost.testing.store import MemoryStore


@dataclass(frozen=True, slots=True)
class House:
    app: FastAPI
    key: str
    clock: ManualClock
    node: FakeNode
    store: Store
    services: Services

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}


class UnusedGuest:
    """Templates are put into the store by hand here: nothing may be built."""

    def __getattr__(self, name: str) -> object:
        raise AssertionError(f"no guest is talked to here: {name}")


@asynccontextmanager
async def open_house(*, start: float = 1_700_000_000.0, port: int = 4700, store: Store | None = None) -> AsyncIterator[House]:
    clock, chance = ManualClock(start), random.Random(7)
    store = MemoryStore() if store is None else store
    node = FakeNode(clock=clock)
    cluster = FakeCluster(node)
    alarm, feed = Alarm(clock=clock), Feed(store=store)
    ledger = TrafficLedger(clock)
    pulses = Pulses(clock=clock, ledger=ledger)
    live = Live(clock=clock, pulses=pulses)
    nodes, builds = Nodes(cluster=cluster), Builds(clock=clock)
    notices = DriverNotices(nodes=nodes, clock=clock, alarm=alarm)
    routes = RouteTable(live.changed, notices.hear)
    moves = Moves(store=store, clock=clock, random=chance)
    trash = Trash(store=store, cluster=cluster, clock=clock, routes=routes)
    flights = Flights(store=store, cluster=cluster, clock=clock, moves=moves, routes=routes, alarm=alarm, trash=trash)
    keys = Keys(store=store, clock=clock, random=chance)
    services = Services(
        about=About("0.0.0", "roost.localhost", port, "/home/of/tests", 1, "engine 1", "agent 1"),
        sessions=Sessions(secret=b"secret of tests", scheme="http", now=clock.now),
        keys=keys,
        sandboxes=Sandboxes(
            store=store,
            flights=flights,
            nodes=nodes,
            routes=routes,
            pulses=pulses,
            alarm=alarm,
            clock=clock,
            random=chance,
            builds=builds,
            trash=trash,
        ),
        power=Power(store=store, flights=flights),
        snapshots=Snapshots(store=store, cluster=cluster, clock=clock, flights=flights),
        undeletes=Undeletes(store=store, clock=clock, random=chance, flights=flights, nodes=nodes, trash=trash),
        rollbacks=Rollbacks(store=store, cluster=cluster, clock=clock, moves=moves, flights=flights, routes=routes),
        forks=Forks(store=store, cluster=cluster, clock=clock, random=chance, flights=flights, nodes=nodes),
        templates=Templates(
            store=store,
            cluster=cluster,
            guest=UnusedGuest(),  # pyright: ignore[reportArgumentType]
            clock=clock,
            random=chance,
            nodes=nodes,
            builds=builds,
        ),
        feed=feed,
        fleet=Fleet(store=store, feed=feed, pulses=pulses, live=live, clock=clock),
        questions=Questions(store=store, feed=feed, flights=flights, keys=keys, alarm=alarm, clock=clock, random=chance),
        nodes=nodes,
        links=Links(store=store, clock=clock, random=chance, routes=routes, alarm=alarm),
        drivers=Drivers(store=store, clock=clock, routes=routes, alarm=alarm, ledger=ledger, notices=notices),
    )
    await add_template(store, node, clock, chance, "base")
    made: list[str] = []
    await keys.ensure_first(made.append)
    [key] = made
    async with anyio.create_task_group() as group:
        await group.start(flights.run)
        yield House(create_app(services), key, clock, node, store, services)
        await flights.drain()
        group.cancel_scope.cancel()
    node.close()


async def add_template(store: Store, node: FakeNode, clock: ManualClock, chance: random.Random, name: str) -> None:
    snapshot = Snapshot(
        id=ids.new_snapshot_id(chance),
        team=DEFAULT_TEAM,
        node=node.id,
        kind=Kind.MEMORY,
        purpose=Purpose.TEMPLATE,
        template=name,
        created_at=clock.now(),
    )
    template = Template(
        id=ids.new_template_id(chance),
        team=None,
        name=name,
        snapshot=snapshot.id,
        size=Size(),
        digest="d",
        created_at=clock.now(),
        description="What most things start from",
    )
    node.images[snapshot.id] = FakeImage(Kind.MEMORY, disk="disk", memory="sleepd", created_at=clock.now())
    async with store.transaction() as transaction:
        await transaction.put(snapshot, expect_revision=None)
        await transaction.put(template, expect_revision=None)
