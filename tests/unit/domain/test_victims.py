"""Who has to end: always enough, never the agent, never a bystander while the guilty suffice."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from roost.domain.victims import AGENT_PID, GuestProcess, MemoryExcess, over_memory, over_tasks

MB = 1 << 20
AGENT = GuestProcess(AGENT_PID, "agent", 30 * MB, group=1, program="python3")


def family(
    first: int, count: int, each_mb: int, program: str, *, group: int | None = None, user: int = 1000
) -> list[GuestProcess]:
    groups = [group if group is not None else pid for pid in range(first, first + count)]
    return [
        GuestProcess(first + number, program, each_mb * MB, group=groups[number], user=user, program=program)
        for number in range(count)
    ]


def total(processes: list[GuestProcess] | tuple[GuestProcess, ...]) -> int:
    return sum(each.memory_bytes for each in processes)


guests = st.lists(
    st.builds(
        GuestProcess,
        pid=st.integers(1, 10_000),
        command=st.just("x"),
        memory_bytes=st.integers(0, 500 * MB),
        group=st.integers(1, 4),
        user=st.integers(0, 1),
        program=st.sampled_from(("sh", "python3", "chromium")),
        threads=st.integers(1, 8),
    ),
    unique_by=lambda process: process.pid,
    max_size=30,
)


@given(guests, st.integers(1, 4000 * MB), st.booleans())
def test_the_whole_excess_is_covered_or_nobody_is_left(processes: list[GuestProcess], needed: int, again: bool) -> None:
    chosen = over_memory(processes, need=MemoryExcess(needed, total(processes)), again=again)
    assert AGENT_PID not in {each.pid for each in chosen}
    assert len({each.pid for each in chosen}) == len(chosen)
    assert total(chosen) >= needed or len(chosen) == sum(each.pid != AGENT_PID for each in processes)


@given(guests, st.integers(1, 4000 * MB), st.integers(1, 100 * MB))
def test_a_margin_costs_no_other_family(processes: list[GuestProcess], needed: int, spare: int) -> None:
    without = over_memory(processes, need=MemoryExcess(needed, total(processes)))
    more = over_memory(processes, need=MemoryExcess(needed, total(processes), spare))
    assert set(without) <= set(more)
    assert {(each.user, each.program) for each in more} == {(each.user, each.program) for each in without}


@given(guests, st.integers(1, 4000 * MB))
def test_nobody_is_killed_beyond_what_is_needed(processes: list[GuestProcess], needed: int) -> None:
    chosen = over_memory(processes, need=MemoryExcess(needed, total(processes)))
    assert total(chosen[:-1]) < needed


@given(guests, st.integers(1, 4000 * MB), st.data())
def test_what_is_on_its_way_is_not_asked_for_twice(processes: list[GuestProcess], needed: int, data: st.DataObject) -> None:
    condemned = {each.pid for each in processes if each.pid != AGENT_PID and data.draw(st.booleans())}
    chosen = over_memory(processes, need=MemoryExcess(needed, total(processes)), condemned=condemned)
    on_its_way = sum(each.memory_bytes for each in processes if each.pid in condemned)
    assert not condemned & {each.pid for each in chosen}
    if on_its_way >= needed:
        assert chosen == ()


@given(guests, st.integers(1, 100))
def test_hogs_end_alone(others: list[GuestProcess], percent: int) -> None:
    """One that holds more than all others together is the only one to go, whatever they are."""
    hog = GuestProcess(99_999, "hog", total(others) + MB, group=7, user=2, program="hog")
    processes = [*others, hog]
    needed = hog.memory_bytes * percent // 100
    assert over_memory(processes, need=MemoryExcess(needed, total(processes))) == ((hog,) if needed else ())


@given(guests, st.integers(1, 200))
def test_too_many_tasks_become_few_enough(processes: list[GuestProcess], limit: int) -> None:
    chosen = over_tasks(processes, limit=limit)
    tasks = sum(each.threads for each in processes)
    left = [each for each in processes if each not in chosen]
    assert AGENT_PID not in {each.pid for each in chosen}
    if tasks <= limit:
        assert chosen == ()
    else:
        assert sum(each.threads for each in left) <= limit or {each.pid for each in left} <= {AGENT_PID}


def test_sixty_small_ones_of_a_kind_pay_for_each_other_and_a_larger_bystander_does_not() -> None:
    crowd, worker = family(100, 60, 20, "python3", group=100), family(50, 1, 46, "postgres")
    processes = [AGENT, *worker, *crowd]
    chosen = over_memory(processes, need=MemoryExcess(300 * MB, total(processes)))
    assert len(chosen) == 15 and set(chosen) <= set(crowd)


def test_the_youngest_of_equals_go_first() -> None:
    crowd = family(100, 60, 20, "python3", group=100)
    chosen = over_memory(crowd, need=MemoryExcess(40 * MB, total(crowd)))
    assert [each.pid for each in chosen] == [159, 158]


def test_who_comes_back_at_once_goes_with_all_its_family_but_alone() -> None:
    crowd, worker = family(100, 60, 20, "python3", group=100), family(50, 1, 46, "postgres")
    processes = [AGENT, *worker, *crowd]
    chosen = over_memory(processes, need=MemoryExcess(30 * MB, total(processes)), again=True)
    assert set(chosen) == set(crowd)


def test_shared_pages_are_not_counted_with_everybody_who_maps_them() -> None:
    """A thousand forks seem to hold 13 GB; they hold 1.5."""
    crowd = family(100, 1000, 13, "bash", group=100)
    chosen = over_memory(crowd, need=MemoryExcess(150 * MB, 1500 * MB))
    assert 100 <= len(chosen) <= 101


def test_small_ones_that_share_pages_do_not_make_a_hog_look_small() -> None:
    """Sixty sleeping shells seem to hold 240 MB, and hold next to nothing."""
    shells, hog = family(100, 60, 4, "sleep"), family(50, 1, 450, "python3")
    assert over_memory([AGENT, *shells, *hog], need=MemoryExcess(400 * MB, 500 * MB, 32 * MB)) == tuple(hog)


def test_a_hog_goes_rather_than_many_of_a_desktop() -> None:
    desktop, hog = family(100, 25, 20, "chromium", group=100), family(50, 1, 300, "python3")
    processes = [AGENT, *desktop, *hog]
    assert over_memory(processes, need=MemoryExcess(250 * MB, total(processes))) == tuple(hog)


def test_of_a_fork_bomb_nobody_is_left_and_nobody_else_is_hurt() -> None:
    bomb, shells = family(1000, 400, 3, "bash", group=900), family(10, 20, 3, "bash")
    chosen = over_tasks([AGENT, *shells, *bomb], limit=300)
    assert set(chosen) == set(bomb)


def test_a_bomb_that_scatters_over_groups_is_one_family_all_the_same() -> None:
    bomb, services = family(1000, 400, 3, "bash"), family(10, 20, 3, "postgres", group=10)
    assert set(over_tasks([AGENT, *services, *bomb], limit=300)) == set(bomb)
