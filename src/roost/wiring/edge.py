"""The edge's process: traffic by the routes that control tells, which is another process."""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from roost.drivers.clock import SystemClock
from roost.drivers.routes.remote import RemoteRouteFeed
from roost.edge.admission.hosts import Hosts
from roost.edge.app import Edge
from roost.edge.ledger import TrafficLedger
from roost.edge.limits import EdgeLimits
from roost.edge.route_copy import RouteCopy
from roost.edge.upstreams.api_upstream import ApiUpstream
from roost.rpc.client import Client
from roost.settings import Settings
from roost.wiring.identity import VERSION


@asynccontextmanager
async def open_edge(settings: Settings) -> AsyncIterator[Edge]:
    """An edge that knows every route, and carries traffic."""
    clock, limits = SystemClock(), EdgeLimits()
    client = Client(settings.control_socket, peer="control", build=VERSION)
    ledger = TrafficLedger(clock)
    routes = RouteCopy(RemoteRouteFeed(client), ledger, edge=f"{os.getpid()}-{secrets.token_hex(4)}")
    api = ApiUpstream(settings.api_socket, limits, routes.until_current)
    edge = Edge(routes, ledger, clock, Hosts(settings.domain, settings.own_names), api, limits)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.run)
        await tasks.start(edge.run)
        await tasks.start(routes.run)
        yield edge
        tasks.cancel_scope.cancel()
