"""The nodes as control last saw them. Reports are looked at every few seconds, not on request paths: they grow with a node."""

from __future__ import annotations

from roost.contracts.cluster import Cluster
from roost.domain.access import MACHINE, Principal, Verb, forbidden, require
from roost.domain.errors import NodeFull
from roost.domain.ids import NodeId
from roost.domain.node import EgressOrder, InformOrder, NodeReport
from roost.domain.placement import Room, RoomNeeded, rank
from roost.domain.sandbox import Sandbox


class Nodes:
    def __init__(self, *, cluster: Cluster) -> None:
        self._cluster = cluster
        self._seen: dict[NodeId, NodeReport] = {}

    async def look(self) -> list[NodeReport]:
        """What is on every node now. Remembered for those who ask later."""
        self._seen = {id: await self._cluster.node(id).report() for id in await self._cluster.nodes()}
        return list(self._seen.values())

    async def last_seen(self) -> list[NodeReport]:
        """The last reports; a few seconds old at most once the keeper runs."""
        return list(self._seen.values()) or await self.look()

    async def inspect(self, principal: Principal) -> list[NodeReport]:
        """The last reports, for whoever operates the machine. Raises Forbidden."""
        require(principal, Verb.OPERATE, MACHINE, forbidden(principal, Verb.OPERATE))
        return await self.last_seen()

    async def set_egress(self, record: Sandbox) -> None:
        """What the record says it may reach holds now, if it runs. May be called twice."""
        await self._cluster.node(record.node).set_egress(EgressOrder(record.id, record.incarnation, record.egress))

    async def inform(self, record: Sandbox) -> bool:
        """The guest knows who drives and which token opens it, if it runs. May be called twice. Raises GuestUnreachable."""
        order = InformOrder(record.id, record.incarnation, record.driver, record.access_token)
        return await self._cluster.node(record.node).inform(order)

    async def place(self, holder: NodeId) -> NodeId:
        """The node for a sandbox made from a snapshot that lies on `holder`: that one, while snapshots stay where they were made.
        Raises NodeFull, Unavailable."""
        try:
            return _choose(await self.last_seen(), holder)
        except NodeFull:  # when it was last seen: nobody is refused for want of room that was made since
            return _choose(await self.look(), holder)


def _choose(reports: list[NodeReport], holder: NodeId) -> NodeId:
    rooms = [Room(each.node, each.memory_room_bytes, each.disk_free_bytes) for each in reports if each.node == holder]
    return rank(rooms, RoomNeeded())[0]
