"""What a node is told, read off the record alone: after a crash the same order can be given again."""

from __future__ import annotations

from typing import assert_never

from roost.contracts.cluster import Node
from roost.domain.errors import Fault
from roost.domain.ids import SnapshotId
from roost.domain.lifecycle import Action
from roost.domain.node import Captured, CaptureOrder, CreateOrder, Identity, KillOrder, Placed, ResumeOrder
from roost.domain.sandbox import Operation, Sandbox


async def carry_out(node: Node, record: Sandbox, operation: Operation) -> Placed | Captured | None:
    """Gives the order that `operation` stands for. Raises what the node raises."""
    match operation.action:
        case Action.CREATE:
            return await node.create(create_order(record, operation))
        case Action.RESUME:
            return await node.resume(resume_order(record, operation))
        case Action.PAUSE:
            return await node.pause(capture_order(record, operation))
        case Action.SNAPSHOT:
            return await node.snapshot(capture_order(record, operation))
        case Action.KILL:
            return await node.kill(kill_order(record, operation))
        case Action.EXIT | Action.LOSE:
            raise Fault("not_a_move", f"{operation.action} is a fact about a sandbox, nobody orders it.", sandbox=record.id)
        case _:
            assert_never(operation.action)


def identity_of(record: Sandbox, *, fresh: bool) -> Identity:
    return Identity(
        sandbox=record.id,
        hostname=record.name or record.id,
        template=record.template,
        access_token=record.access_token,
        env=record.env,
        user=record.user,
        workdir=record.workdir,
        fresh=fresh,
        driver=record.driver,
    )


def create_order(record: Sandbox, operation: Operation) -> CreateOrder:
    # Only a sandbox that lived before is created again: it lost its process, its disk survived.
    lived_before = record.incarnation > 1
    return CreateOrder(
        sandbox=record.id,
        incarnation=record.incarnation,
        source=record.origin,
        size=record.size,
        identity=identity_of(record, fresh=not lived_before),
        cold=lived_before or not operation.keep_memory,
        in_place=lived_before,
        egress=record.egress,
    )


def resume_order(record: Sandbox, operation: Operation) -> ResumeOrder:
    return ResumeOrder(
        sandbox=record.id,
        incarnation=record.incarnation,
        source=_snapshot(record, operation),
        size=record.size,
        identity=identity_of(record, fresh=False),
        cold=not operation.keep_memory,
        egress=record.egress,
    )


def capture_order(record: Sandbox, operation: Operation) -> CaptureOrder:
    return CaptureOrder(
        sandbox=record.id,
        incarnation=record.incarnation,
        snapshot=_snapshot(record, operation),
        parent=record.snapshot or record.origin,
        template=record.template,
        keep_memory=operation.keep_memory,
    )


def kill_order(record: Sandbox, operation: Operation) -> KillOrder:
    """Its disk is kept if a snapshot was thought of for it. One that sleeps has its own already."""
    makes_one = operation.snapshot is not None and operation.snapshot != record.snapshot
    return KillOrder(record.id, record.incarnation, keep=capture_order(record, operation) if makes_one else None)


def _snapshot(record: Sandbox, operation: Operation) -> SnapshotId:
    if operation.snapshot is None:
        raise Fault("no_snapshot", f"The {operation.action} of sandbox {record.id} names no snapshot.", sandbox=record.id)
    return operation.snapshot
