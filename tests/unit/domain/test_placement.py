from __future__ import annotations

import pytest

from roost.domain.errors import NodeFull, Unavailable
from roost.domain.ids import NodeId
from roost.domain.placement import Room, RoomNeeded, headroom_bytes, rank

GB = 1024**3


def room(id: str, memory_gb: float, disk_gb: float) -> Room:
    return Room(NodeId(id), int(memory_gb * GB), int(disk_gb * GB))


def test_the_emptiest_comes_first_and_full_ones_not_at_all() -> None:
    rooms = [room("a", 1, 50), room("b", 8, 50), room("c", 0.1, 50), room("d", 9, 0.5), room("e", 8, 60)]
    assert rank(rooms, RoomNeeded()) == ["e", "b", "a"]


def test_the_order_does_not_depend_on_the_order_asked_in() -> None:
    rooms = [room("a", 1, 5), room("b", 1, 5)]
    assert rank(rooms, RoomNeeded()) == rank(rooms[::-1], RoomNeeded()) == ["a", "b"]


@pytest.mark.parametrize(("memory_gb", "disk_gb", "what"), [(0.2, 50, "memory"), (8, 0.9, "disk"), (0, 0, "memory")])
def test_a_refusal_says_what_is_missing_and_how_much(memory_gb: float, disk_gb: float, what: str) -> None:
    with pytest.raises(NodeFull) as refused:
        rank([room("a", memory_gb, disk_gb)], RoomNeeded())
    assert refused.value.facts["what"] == what
    assert refused.value.facts["needed"] in refused.value.message
    assert ("Pause" in refused.value.message) is (what == "memory"), "a sleep takes disk space"


def test_exactly_enough_is_enough() -> None:
    assert rank([room("a", 0.25, 1)], RoomNeeded()) == ["a"]


def test_the_headroom_is_bounded_on_small_machines() -> None:
    assert headroom_bytes(4 * GB) == GB // 2
    assert headroom_bytes(64 * GB) == 2 * GB


def test_no_node_is_not_the_callers_fault() -> None:
    with pytest.raises(Unavailable):
        rank([], RoomNeeded())
