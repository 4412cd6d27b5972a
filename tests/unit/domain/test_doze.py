from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from roost.domain.doze import Dozer, who_goes
from roost.domain.ids import SandboxId

MB = 1 << 20
dozing = st.lists(st.integers(1, 500 * MB)).map(
    lambda sizes: [Dozer(SandboxId(f"i{number}"), size) for number, size in enumerate(sizes)]
)


@given(dozing, st.integers(0, 2000 * MB), st.integers(-2000 * MB, 2000 * MB))
def test_those_that_doze_longest_go_and_no_more_than_must(dozers: list[Dozer], limit: int, short: int) -> None:
    gone = who_goes(dozers, limit_bytes=limit, short_bytes=short)
    assert list(gone) == [each.sandbox for each in dozers[: len(gone)]]
    left = dozers[len(gone) :]
    freed = sum(each.held_bytes for each in dozers[: len(gone)])
    assert not left or (sum(each.held_bytes for each in left) <= limit and freed >= short)
    if gone:  # one less would not have been enough
        kept, last = [dozers[len(gone) - 1], *left], dozers[len(gone) - 1].held_bytes
        assert sum(each.held_bytes for each in kept) > limit or freed - last < short


def test_while_there_is_room_all_stay() -> None:
    assert who_goes([Dozer(SandboxId("i1"), 30 * MB)], limit_bytes=30 * MB, short_bytes=-1) == ()


def test_a_limit_of_nothing_keeps_nobody() -> None:
    assert who_goes([Dozer(SandboxId("i1"), 1)], limit_bytes=0) == ("i1",)
