"""The control plane's process: use cases on the store, on a node and beside an edge that are processes of their own."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio

from roost.api.services import About, Services
from roost.api.session import SECRET_BYTES, Sessions
from roost.control.compose import ControlOptions, Dependencies, compose
from roost.control.fleet.reported_ledger import ReportedLedger
from roost.domain.ids import NodeId
from roost.drivers.clock import SystemClock
from roost.drivers.cluster.local import LocalCluster
from roost.drivers.cluster.remote import RemoteBuilds, RemoteGuestListener, RemoteNode, RemoteSnapshots
from roost.drivers.store.sealing import KEY_BYTES, Seals
from roost.drivers.store.sql import SqlStore, sqlite_url
from roost.rpc.client import Client
from roost.settings import Settings
from roost.wiring.identity import VERSION, own_secret


@dataclass(frozen=True, slots=True)
class House:
    """The rooms of a running server, for those who serve it."""

    services: Services
    guests: RemoteGuestListener


@asynccontextmanager
async def open_control(settings: Settings, about: About, node: NodeId) -> AsyncIterator[House]:
    """Store and control, opened and joined with the node, which is waited for."""
    store = SqlStore(sqlite_url(settings.db), seals=Seals(own_secret(settings.store_key, KEY_BYTES)))
    try:
        await store.migrate()
        client = Client(settings.node_socket, peer="node", build=VERSION)
        async with anyio.create_task_group() as tasks:
            await tasks.start(client.run)
            yield _join(store, client, node, settings, about)
            tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await store.close()


def _join(store: SqlStore, client: Client, node: NodeId, settings: Settings, about: About) -> House:
    clock = SystemClock()
    cluster = LocalCluster(id=node, node=RemoteNode(client), snapshots=RemoteSnapshots(client), builds=RemoteBuilds(client))
    ledger = ReportedLedger(clock)
    control = compose(
        Dependencies(
            store=store,
            usage=store,
            cluster=cluster,
            ledger=ledger,
            clock=clock,
            random=random.SystemRandom(),
            reports=ledger,
        ),
        ControlOptions(
            warm=settings.warm_pool,
            warm_desktops=settings.warm_desktops,
            trash_s=settings.trash_hours * 3600,
            event_s=settings.event_days * 86400,
            private_proxies=settings.private_proxies,
            builds=settings.builds,
            upload_limit_bytes=settings.upload_limit_mb << 20,
            layer_s=settings.layer_days * 86400,
        ),
    )
    sessions = Sessions(
        secret=own_secret(settings.session_secret, SECRET_BYTES), scheme=about.scheme, instance=settings.instance, now=clock.now
    )
    return House(Services.of(control, about, sessions), RemoteGuestListener(client))
