"""Which node takes a new sandbox: a ranking, made from figures that may be a few seconds old.

The figures only keep the obviously impossible away from a node. The node itself has the last word: an order it cannot
carry out is refused with the same error and leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from roost.domain.errors import NodeFull, Unavailable
from roost.domain.ids import NodeId

MEMORY_FLOOR_BYTES = 256 * 1024**2
DISK_FLOOR_BYTES = 1024**3
_HEADROOM_BYTES, _HEADROOM_SHARE = 2 * 1024**3, 8


def headroom_bytes(memory_total_bytes: int) -> int:
    """How far a sandbox may outgrow its memory for the moment that it takes to end what outgrew it. Kept back on a node once:
    that two do it in the same moment is left to the machine's own reserves."""
    return min(_HEADROOM_BYTES, memory_total_bytes // _HEADROOM_SHARE)


@dataclass(frozen=True, slots=True)
class Room:
    """What one node has left."""

    node: NodeId
    memory_free_bytes: int
    disk_free_bytes: int


@dataclass(frozen=True, slots=True)
class RoomNeeded:
    """What has to be free before a node is asked. A clone shares its template's blocks, so its limits are not its need."""

    memory_bytes: int = MEMORY_FLOOR_BYTES
    disk_bytes: int = DISK_FLOOR_BYTES


def rank(rooms: Iterable[Room], need: RoomNeeded) -> list[NodeId]:
    """The nodes that can take it, the emptiest first. Raises NodeFull, naming what the best of them lacks; Unavailable when
    there is no node at all."""
    known = sorted(rooms, key=lambda room: (-room.memory_free_bytes, -room.disk_free_bytes, room.node))
    if not known:
        raise Unavailable("no_node", "No node takes orders now. Wait until one is up; `roost status` shows them.")
    able = [
        room.node for room in known if room.memory_free_bytes >= need.memory_bytes and room.disk_free_bytes >= need.disk_bytes
    ]
    if able:
        return able
    best = known[0]
    if best.memory_free_bytes < need.memory_bytes:
        raise NodeFull("memory", megabytes(need.memory_bytes), megabytes(best.memory_free_bytes))
    widest = max(known, key=lambda room: room.disk_free_bytes)
    raise NodeFull("disk", megabytes(need.disk_bytes), megabytes(widest.disk_free_bytes))


def megabytes(size_bytes: int) -> str:
    return f"{size_bytes / 1024**2:.0f} MB"
