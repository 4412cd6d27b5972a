from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from roost_agent.processes.ring import PIECE_COST_BYTES, Ring

WRITES = st.lists(st.tuples(st.sampled_from(["stdout", "stderr"]), st.binary(min_size=1, max_size=3000)), max_size=60)


@given(WRITES, st.integers(4096, 20000), st.data())
def test_reading_from_any_kept_byte_gives_what_was_written(
    writes: list[tuple[str, bytes]], capacity: int, data: st.DataObject
) -> None:
    ring = Ring(capacity)
    everything = [(kind, byte) for kind, content in writes for byte in content]
    for kind, content in writes:
        ring.append(kind, content)
    assert ring.end == len(everything)
    position = data.draw(st.integers(ring.start, ring.end))
    at_most = data.draw(st.integers(1, 5000))
    read: list[tuple[str, int]] = []
    while (found := ring.read(position, at_most)) is not None:
        kind, content = found
        assert 0 < len(content) <= at_most
        read += [(kind, byte) for byte in content]
        position += len(content)
    assert read == everything[len(everything) - len(read) :] and position == ring.end


@given(WRITES, st.integers(4096, 20000))
def test_it_stays_within_its_size_but_keeps_most_of_it(writes: list[tuple[str, bytes]], capacity: int) -> None:
    ring = Ring(capacity)
    for kind, content in writes:
        ring.append(kind, content)
        assert ring.cost_after(ring.start) <= capacity
        assert ring.cost_after(ring.end) == 0
    if ring.start > 0:
        assert ring.cost_after(ring.start) > capacity - capacity // 16 - PIECE_COST_BYTES - 1


@given(WRITES, st.integers(4096, 20000), st.integers(0, 9000))
def test_the_tail_is_the_end_of_what_is_kept(writes: list[tuple[str, bytes]], capacity: int, at_most: int) -> None:
    ring = Ring(capacity)
    for kind, content in writes:
        ring.append(kind, content)
    everything = b"".join(content for _, content in writes)
    size = min(at_most, ring.end - ring.start)
    assert ring.tail(at_most) == everything[len(everything) - size :]
