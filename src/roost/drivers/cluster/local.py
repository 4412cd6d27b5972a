"""A cluster of one: the node in this process."""

from __future__ import annotations

from roost.contracts.cluster import Node
from roost.contracts.node_builds import NodeBuilds
from roost.contracts.snapshots import NodeSnapshots
from roost.domain.errors import NotFound
from roost.domain.ids import NodeId


class LocalCluster:
    def __init__(self, *, id: NodeId, node: Node, snapshots: NodeSnapshots, builds: NodeBuilds) -> None:
        self._id = id
        self._node = node
        self._snapshots = snapshots
        self._builds = builds

    async def nodes(self) -> list[NodeId]:
        return [self._id]

    def node(self, id: NodeId) -> Node:
        self._check(id)
        return self._node

    def snapshots(self, id: NodeId) -> NodeSnapshots:
        self._check(id)
        return self._snapshots

    def builds(self, id: NodeId) -> NodeBuilds:
        self._check(id)
        return self._builds

    def _check(self, id: NodeId) -> None:
        if id != self._id:
            raise NotFound("node_not_found", f"There is no node {id!r}; this machine is {self._id!r}.", node=id)
