"""A node as another process sees it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio

from roost.drivers.cluster.remote import RemoteBuilds, RemoteNode, RemoteSnapshots
from roost.drivers.cluster.served import answer_for
from roost.rpc.client import Client
from roost.rpc.server import serve
from roost.rpc.sockets import listening_unix
from roost.testing.conformance.node import NodeRig


@asynccontextmanager
async def across(rig: NodeRig, path: Path) -> AsyncIterator[NodeRig]:
    """The same node, behind a socket."""
    with listening_unix(path) as door:
        async with anyio.create_task_group() as tasks:
            await tasks.start(serve, answer_for(rig.node, rig.snapshots, rig.builds, None, build="1"), door)
            client = Client(path, peer="node", build="1")
            await tasks.start(client.run)
            yield replace(rig, node=RemoteNode(client), snapshots=RemoteSnapshots(client), builds=RemoteBuilds(client))
            tasks.cancel_scope.cancel()
