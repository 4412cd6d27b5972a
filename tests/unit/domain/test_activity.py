from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.domain.activity import Decision, ReasonKind, Signals, decide, explain
from roost.domain.ids import NodeId, SandboxId, SnapshotId, TeamId
from roost.domain.lifecycle import ASLEEP, Action, State
from roost.domain.sandbox import Hold, OnTimeout, Operation, Sandbox, Size, SleepPolicy

NOW = 10_000.0
IDLE = SleepPolicy(idle_s=60)
RECORD = Sandbox(
    id=SandboxId("i1"),
    team=TeamId("t"),
    name=None,
    template="base",
    origin=SnapshotId("s0"),
    node=NodeId("n1"),
    state=State.RUNNING,
    incarnation=1,
    size=Size(),
    access_token="x",
    created_at=0,
    started_at=0,
    changed_at=0,
    policy=IDLE,
)
LONG_QUIET = Signals(watched_since=0)


def kinds(record: Sandbox, signals: Signals) -> set[ReasonKind]:
    return {reason.kind for reason in explain(record, signals, NOW).awake_because}


def test_long_quiet_means_sleep() -> None:
    assert decide(RECORD, LONG_QUIET, NOW) is Decision.SLEEP
    assert explain(RECORD, LONG_QUIET, NOW).awake_because == ()


def test_without_an_idle_policy_it_never_sleeps_from_idleness() -> None:
    record = replace(RECORD, policy=SleepPolicy())
    assert decide(record, LONG_QUIET, NOW) is Decision.LET_BE
    assert kinds(record, LONG_QUIET) == {ReasonKind.ALWAYS}
    assert explain(record, LONG_QUIET, NOW).sleeps_at is None


@pytest.mark.parametrize(
    ("signals", "kind"),
    [
        (Signals(0, last_byte_at=NOW - 59, open_connections=2), ReasonKind.TRAFFIC),
        (Signals(0, cpu_at=NOW - 59, cpu_share=0.5), ReasonKind.CPU),
        (Signals(0, network_at=NOW - 59, network_bytes_per_s=900), ReasonKind.NETWORK),
        (Signals(watched_since=NOW - 59), ReasonKind.FRESH),
    ],
)
def test_each_sign_of_life_keeps_it_awake_for_idle_s(signals: Signals, kind: ReasonKind) -> None:
    assert decide(RECORD, signals, NOW) is Decision.LET_BE
    assert kinds(RECORD, signals) == {kind}
    activity = explain(RECORD, signals, NOW)
    assert (activity.sleeps_at, activity.then) == (NOW + 1, OnTimeout.PAUSE)
    assert decide(RECORD, signals, NOW + 1) is Decision.SLEEP


def test_a_fresh_start_counts_as_life() -> None:
    record = replace(RECORD, started_at=NOW - 10)
    assert kinds(record, LONG_QUIET) == {ReasonKind.FRESH}
    assert explain(record, LONG_QUIET, NOW).sleeps_at == NOW + 50


def test_a_hold_keeps_it_awake_until_it_ends() -> None:
    record = replace(RECORD, hold=Hold(until=NOW + 5, reason="demo"))
    [reason] = explain(record, LONG_QUIET, NOW).awake_because
    assert (reason.kind, reason.detail, reason.until) == (ReasonKind.HOLD, "demo", NOW + 5)
    assert decide(record, LONG_QUIET, NOW + 4.9) is Decision.LET_BE
    assert decide(record, LONG_QUIET, NOW + 5) is Decision.SLEEP


def test_the_earlier_of_timeout_and_idleness_is_told() -> None:
    signals = Signals(0, last_byte_at=NOW)
    soon = replace(RECORD, expires_at=NOW + 30, policy=replace(IDLE, on_timeout=OnTimeout.KILL))
    assert explain(soon, signals, NOW).sleeps_at == NOW + 30
    assert explain(soon, signals, NOW).then is OnTimeout.KILL
    later = replace(soon, expires_at=NOW + 90)
    assert (explain(later, signals, NOW).sleeps_at, explain(later, signals, NOW).then) == (NOW + 60, OnTimeout.PAUSE)
    assert kinds(later, signals) == {ReasonKind.TRAFFIC, ReasonKind.DEADLINE}


def test_a_move_under_way_is_a_reason() -> None:
    record = replace(RECORD, state=State.SNAPSHOTTING, operation=Operation(Action.SNAPSHOT, NOW - 1, NOW + 300))
    assert ReasonKind.MOVING in kinds(record, LONG_QUIET)


@pytest.mark.parametrize("state", sorted({*ASLEEP, State.DEAD}))
def test_who_sleeps_or_is_dead_is_not_awake(state: State) -> None:
    assert not explain(replace(RECORD, state=state), LONG_QUIET, NOW).awake


maybe = st.none() | st.floats(0, 2 * NOW)


@given(last_byte_at=maybe, cpu_at=maybe, network_at=maybe, watched_since=st.floats(0, 2 * NOW), held_until=maybe)
def test_it_sleeps_exactly_when_it_was_said_it_would(
    last_byte_at: float | None,
    cpu_at: float | None,
    network_at: float | None,
    watched_since: float,
    held_until: float | None,
) -> None:
    signals = Signals(watched_since, last_byte_at=last_byte_at, cpu_at=cpu_at, network_at=network_at)
    record = replace(RECORD, hold=Hold(held_until, "held") if held_until is not None else None)
    activity = explain(record, signals, NOW)
    assert activity.sleeps_at is not None
    sleeps_now = decide(record, signals, NOW) is Decision.SLEEP
    assert sleeps_now == (activity.sleeps_at <= NOW) == (not activity.awake_because)
