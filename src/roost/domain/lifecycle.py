"""All there is to know about the life of a sandbox: two enums, one table.

Nobody tests a state with `if`. Ask `verdict(state, action)` and match the answer to `assert_never`.
All writes of `state` are in `control/lifecycle/moves.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    CREATING = "creating"
    RUNNING = "running"
    PAUSING = "pausing"
    PAUSED = "paused"
    RESUMING = "resuming"
    SNAPSHOTTING = "snapshotting"
    KILLING = "killing"
    DEAD = "dead"


class Action(StrEnum):
    """What a caller may ask for (create to kill), and what may happen to a sandbox (exit, lose)."""

    CREATE = "create"
    PAUSE = "pause"
    RESUME = "resume"
    SNAPSHOT = "snapshot"
    KILL = "kill"
    EXIT = "exit"
    LOSE = "lose"


class Verdict(StrEnum):
    GO = "go"  # begin the move
    JOIN = "join"  # the same move is under way: share its result
    WAIT = "wait"  # let the current move end, then ask again
    ALREADY = "already"  # success, nothing to do
    REFUSE = "refuse"  # never from here
    IGNORE = "ignore"  # a stale fact: nothing follows from it
    DIE = "dead"  # the fact ends the sandbox
    REWIND = "rewind"  # fall back to the last snapshot, said loudly; else to the surviving disk; else dead
    REPAUSE = "paused"  # the move never happened: still asleep at its snapshot


@dataclass(frozen=True, slots=True)
class Move:
    """One way through the table: where it leads while under way, and how it ends."""

    via: State
    success: State
    failure: State
    needs_snapshot: bool = False  # success must have written one
    new_incarnation: bool = False  # a new process stands behind the sandbox afterwards


MOVES: dict[Action, Move] = {
    Action.CREATE: Move(State.CREATING, State.RUNNING, State.DEAD, new_incarnation=True),
    Action.PAUSE: Move(State.PAUSING, State.PAUSED, State.RUNNING, needs_snapshot=True),
    Action.RESUME: Move(State.RESUMING, State.RUNNING, State.PAUSED, new_incarnation=True),
    Action.SNAPSHOT: Move(State.SNAPSHOTTING, State.RUNNING, State.RUNNING, needs_snapshot=True),
    Action.KILL: Move(State.KILLING, State.DEAD, State.KILLING),
}

_COLUMNS = (Action.PAUSE, Action.RESUME, Action.SNAPSHOT, Action.KILL, Action.EXIT, Action.LOSE)
_TABLE = """
creating       wait     wait     wait      go       ignore   dead
running        go       already  go        go       dead     rewind
pausing        join     wait     wait      go       ignore   rewind
paused         already  go       already   go       ignore   ignore
resuming       wait     join     wait      go       ignore   paused
snapshotting   wait     already  join      go       ignore   rewind
killing        refuse   refuse   refuse    join     ignore   dead
dead           refuse   refuse   refuse    already  ignore   ignore
"""


def _parse(table: str) -> dict[tuple[State, Action], Verdict]:
    rows = (line.split() for line in table.strip().splitlines())
    return {(State(state), action): Verdict(word) for state, *words in rows for action, word in zip(_COLUMNS, words, strict=True)}


TABLE: dict[tuple[State, Action], Verdict] = _parse(_TABLE)

LIVING: frozenset[State] = frozenset(State) - {State.DEAD}
MOVING: frozenset[State] = frozenset(move.via for move in MOVES.values())
ON_A_NODE: frozenset[State] = LIVING - {State.PAUSED}  # a process, or work on one, stands behind it
ASLEEP: frozenset[State] = frozenset({State.PAUSED, State.RESUMING})  # always has a snapshot


def verdict(state: State, action: Action) -> Verdict:
    """What follows when `action` meets a sandbox in `state`. Total over every state and every action but create."""
    return TABLE[state, action]
