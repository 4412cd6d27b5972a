"""Nodes, as control sees them: they take orders and answer questions, wherever they are. No path and no address of a guest's
crosses this line."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from roost.contracts.node_builds import NodeBuilds
from roost.contracts.snapshots import NodeSnapshots
from roost.domain.ids import NodeId
from roost.domain.node import (
    Captured,
    CaptureOrder,
    CreateOrder,
    Departure,
    EgressOrder,
    InformOrder,
    KillOrder,
    NodeReport,
    Placed,
    Ran,
    ResumeOrder,
    RunOrder,
)


class Node(Protocol):
    """Makes it so. Every order is idempotent by `(sandbox, incarnation)`: repeated, it finishes what a crash left or returns what
    is already true. Two orders for one sandbox never run at once: the second waits for the first."""

    async def create(self, order: CreateOrder) -> Placed:
        """A clone of the source runs, limited, firewalled, with its identity, reachable at the address. On failure nothing of
        it is left. Raises SnapshotNotFound, SnapshotDamaged, SnapshotForeign, SnapshotHasNoMemory, NodeFull, EngineFailed,
        GuestUnreachable."""
        ...

    async def pause(self, order: CaptureOrder) -> Captured:
        """The snapshot's manifest is on disk and the source stands still, frozen, not yet killed: control commits *paused*,
        then orders `kill(asleep=True)`. Cancelled or failed before the manifest the source runs on as if nothing had been.
        Raises SandboxLost when its process is gone, NodeFull, EngineFailed."""
        ...

    async def resume(self, order: ResumeOrder) -> Placed:
        """The sandbox runs where the snapshot left it. A source that is still frozen from its pause, or dozes, is thawed instead
        of restored, if the snapshot is the one that it is equal to. Proof of the image is complete before it returns. On failure
        the snapshot is untouched. Raises as create."""
        ...

    async def snapshot(self, order: CaptureOrder) -> Captured:
        """The snapshot's manifest is on disk and the source runs on; it stood still only while memory and disk were taken.
        Of one whose process is gone the disk alone can still be kept. Raises as pause."""
        ...

    async def kill(self, order: KillOrder) -> Captured | None:
        """The process of the sandbox is gone and cannot come back, of this incarnation and older ones; a newer one is left alone.
        What it leaves (root, slot, cgroup) is nobody's any more and goes soon after, also when the node is killed meanwhile.
        May be called twice. With `asleep` the slot is kept for a while, and so may the frozen process be, in memory: the sandbox
        *dozes*, which the report tells, and is dropped whenever the node needs the memory. With `keep` the disk is in that
        snapshot, as it was when the process had ended; None where there was no disk of its own, or no room: a kill never fails
        for what it was to keep."""
        ...

    async def set_egress(self, order: EgressOrder) -> None:
        """The sandbox reaches what the order says and no more, open connections included. Of another incarnation, or of one that
        does not run, nothing changes. May be called twice. Raises Fault when the machine's firewall refuses."""
        ...

    async def inform(self, order: InformOrder) -> bool:
        """The agent inside takes this token and no other. Programs inside know who drives, and those that ask before they put in
        input refuse while a person does. False, and nothing changed, of another incarnation, or of one that does not run: it is
        told when it wakes. May be called twice. Raises GuestUnreachable."""
        ...

    async def run(self, order: RunOrder) -> Ran:
        """The command ran inside to its end, or to its time limit. Only in a sandbox without an access token: one that a template
        is built in. Raises GuestUnreachable, SandboxLost."""
        ...

    async def report(self) -> NodeReport:
        """What is there now, found by looking, not from memory of orders, with meter readings. Cheap: no process is spawned."""
        ...

    def watch(self) -> AsyncIterator[Departure]:
        """What happens there unasked, as it happens: processes that ended. One reader. Raises Unavailable when the node's process
        ended: the next one has to be told again what is kept in memory only, and what happened meanwhile is in its report."""
        ...


class Cluster(Protocol):
    async def nodes(self) -> list[NodeId]:
        """The nodes that take orders now."""
        ...

    def node(self, id: NodeId) -> Node:
        """Raises NotFound for a node that never was."""
        ...

    def snapshots(self, id: NodeId) -> NodeSnapshots:
        """The snapshots that lie on that node. Raises NotFound."""
        ...

    def builds(self, id: NodeId) -> NodeBuilds:
        """What that node does for templates that are built on it. Raises NotFound."""
        ...
