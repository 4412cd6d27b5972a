"""The table proves itself: complete, ends where it must, and keeps its promise over every history."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.domain.lifecycle import ASLEEP, LIVING, MOVES, MOVING, ON_A_NODE, TABLE, Action, State, Verdict, verdict

ASKED = (Action.PAUSE, Action.RESUME, Action.SNAPSHOT, Action.KILL)
FACTS = (Action.EXIT, Action.LOSE)
ANSWERS = {Verdict.GO, Verdict.JOIN, Verdict.WAIT, Verdict.ALREADY, Verdict.REFUSE}
CONSEQUENCES = {Verdict.IGNORE, Verdict.DIE, Verdict.REWIND, Verdict.REPAUSE}


def test_every_state_answers_every_action() -> None:
    assert TABLE.keys() == {(state, action) for state in State for action in (*ASKED, *FACTS)}


def test_questions_get_answers_and_facts_have_consequences() -> None:
    for (state, action), word in TABLE.items():
        assert word in (ANSWERS if action in ASKED else CONSEQUENCES), (state, action)


def test_a_move_joins_itself_and_only_itself() -> None:
    for (state, action), word in TABLE.items():
        under_way = next((move for move, way in MOVES.items() if way.via is state), None)
        assert (word is Verdict.JOIN) == (action is under_way), (state, action)


def test_nobody_waits_where_nothing_moves() -> None:
    assert {state for (state, _), word in TABLE.items() if word is Verdict.WAIT} <= MOVING


def test_each_move_has_a_state_of_its_own_on_the_way() -> None:
    assert len({move.via for move in MOVES.values()}) == len(MOVES) == len(MOVING)


def test_the_sets_follow_from_the_states() -> None:
    assert frozenset(State) - {State.DEAD} == LIVING
    assert ON_A_NODE | {State.PAUSED} == LIVING
    assert frozenset({State.PAUSED, State.RESUMING}) == ASLEEP
    assert MOVING <= LIVING


def next_states(state: State) -> set[State]:
    """Where one step leads, whatever comes of it."""
    steps: set[State] = set()
    for action, move in MOVES.items():
        if move.via is state:
            steps |= {move.success, move.failure}
        if action is not Action.CREATE and verdict(state, action) is Verdict.GO:
            steps.add(move.via)
    for fact in FACTS:
        match verdict(state, fact):
            case Verdict.DIE:
                steps.add(State.DEAD)
            case Verdict.REWIND:
                steps |= {State.PAUSED, State.CREATING, State.DEAD}
            case Verdict.REPAUSE:
                steps.add(State.PAUSED)
            case _:
                pass
    return steps


def reachable(state: State) -> set[State]:
    seen: set[State] = set()
    frontier = next_states(state)
    while frontier:
        seen |= frontier
        frontier = {after for before in frontier for after in next_states(before)} - seen
    return seen


@pytest.mark.parametrize("state", sorted(LIVING))
def test_dead_is_reachable_from_everywhere(state: State) -> None:
    assert State.DEAD in reachable(state)


def test_dead_is_left_from_nowhere() -> None:
    assert reachable(State.DEAD) == set()


def test_every_state_can_be_come_to() -> None:
    assert {State.CREATING} | reachable(State.CREATING) == set(State)


class Life:
    """A sandbox of which only the state and whether it has a snapshot is known."""

    def __init__(self) -> None:
        self.state = State.CREATING
        self.has_snapshot = False

    def under_way(self) -> Action | None:
        return next((action for action, move in MOVES.items() if move.via is self.state), None)

    def ask(self, action: Action) -> None:
        if verdict(self.state, action) is Verdict.GO:
            self.state = MOVES[action].via

    def end(self, *, well: bool) -> None:
        if (action := self.under_way()) is None:
            return
        move = MOVES[action]
        self.state = move.success if well else move.failure
        self.has_snapshot = self.has_snapshot or (well and move.needs_snapshot)

    def meet(self, fact: Action, *, disk_survives: bool) -> None:
        match verdict(self.state, fact):
            case Verdict.DIE:
                self.state = State.DEAD
            case Verdict.REPAUSE:
                self.state = State.PAUSED
            case Verdict.REWIND if self.has_snapshot:
                self.state = State.PAUSED
            case Verdict.REWIND:
                self.state = State.CREATING if disk_survives else State.DEAD
            case _:
                pass


STEPS = st.one_of(
    st.tuples(st.just("ask"), st.sampled_from(ASKED)),
    st.tuples(st.just("end"), st.booleans()),
    st.tuples(st.just("meet"), st.tuples(st.sampled_from(FACTS), st.booleans())),
)


@given(st.lists(STEPS, max_size=60))
def test_whoever_sleeps_or_wakes_has_a_snapshot_whatever_happened_before(steps: list[tuple[str, object]]) -> None:
    life = Life()
    for step in steps:
        match step:
            case ("ask", Action() as action):
                life.ask(action)
            case ("end", bool(well)):
                life.end(well=well)
            case ("meet", (Action() as fact, bool(survives))):
                life.meet(fact, disk_survives=survives)
            case other:
                raise AssertionError(other)
        assert life.state not in ASLEEP or life.has_snapshot
