"""Why a sandbox is awake, and when it will sleep. Two policies can put it to sleep: a timeout (a fixed deadline) and idleness.

Idle means: for `idle_s` no connection moved bytes, the guest used less than the set share of a core, and nobody holds it awake.
An open connection on which nothing moves does not count: it survives the sleep.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from roost.domain.lifecycle import ASLEEP, LIVING, MOVING
from roost.domain.sandbox import OnTimeout, Sandbox

QUIET_BYTES_PER_S = 256.0
"""Below this a guest's network counts as silent: keep-alives and neighbour discovery are no work."""


class ReasonKind(StrEnum):
    TRAFFIC = "traffic"
    HOLD = "hold"
    CPU = "cpu"
    NETWORK = "network"
    FRESH = "fresh"  # started, or first watched, less than idle_s ago
    ALWAYS = "always"  # no idle policy: runs until told otherwise
    DEADLINE = "deadline"  # the timeout has not come yet
    MOVING = "moving"


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that keeps it awake: since when, and until when if nothing new happens."""

    kind: ReasonKind
    detail: str
    since: float | None = None
    until: float | None = None


@dataclass(frozen=True, slots=True)
class Signals:
    """What was seen of a running sandbox. Times are the last at which the guest counted as busy; None means never."""

    watched_since: float
    last_byte_at: float | None = None  # through the edge
    open_connections: int = 0
    cpu_at: float | None = None  # its CPU share was last at or above the policy's
    cpu_share: float = 0.0  # of one core, over the last window
    network_at: float | None = None  # its own network was last not silent
    network_bytes_per_s: float = 0.0
    dozing: bool = False  # its node keeps its frozen process


@dataclass(frozen=True, slots=True)
class Activity:
    """The answer to: why is it awake, and when will it sleep? `then` says what happens at `sleeps_at`."""

    awake: bool
    awake_because: tuple[Reason, ...]
    sleeps_at: float | None  # if nothing new happens
    then: OnTimeout | None
    dozing: bool = False  # asleep, and awake again in milliseconds


class Decision(StrEnum):
    LET_BE = "let be"
    SLEEP = "sleep"


def explain(record: Sandbox, signals: Signals, now: float) -> Activity:
    """Everything that keeps the sandbox awake now, and the earliest time at which it would sleep or end by itself."""
    if record.state not in LIVING or record.state in ASLEEP:
        dozing = signals.dozing and record.state in ASLEEP
        return Activity(awake=False, awake_because=(), sleeps_at=None, then=None, dozing=dozing)
    reasons = tuple(_reasons(record, signals, now))
    idle_at = _idle_at(record, signals)
    ends = [(idle_at, OnTimeout.PAUSE)] if idle_at is not None else []
    if record.expires_at is not None:
        ends.append((record.expires_at, record.policy.on_timeout))
    sleeps_at, then = min(ends, default=(None, None), key=lambda end: end[0])
    return Activity(awake=True, awake_because=reasons, sleeps_at=sleeps_at, then=then)


def decide(record: Sandbox, signals: Signals, now: float) -> Decision:
    """Whether an awake sandbox has been idle for as long as its policy asks. The timeout is not decided here."""
    idle_at = _idle_at(record, signals)
    return Decision.SLEEP if idle_at is not None and now >= idle_at else Decision.LET_BE


def _idle_at(record: Sandbox, signals: Signals) -> float | None:
    """When it will have been idle for long enough, if nothing new happens."""
    if record.policy.idle_s is None:
        return None
    seen = (signals.last_byte_at, signals.cpu_at, signals.network_at)
    busy_at = max(record.started_at, signals.watched_since, *(at for at in seen if at is not None))
    held_until = record.hold.until if record.hold else 0.0
    return max(busy_at + record.policy.idle_s, held_until)


def _reasons(record: Sandbox, signals: Signals, now: float) -> Iterator[Reason]:
    policy = record.policy
    if record.state in MOVING:
        began_at = record.operation.started_at if record.operation else record.changed_at
        yield Reason(ReasonKind.MOVING, f"it is {record.state}", since=began_at)
    if record.hold and record.hold.until > now:
        yield Reason(ReasonKind.HOLD, record.hold.reason, until=record.hold.until)
    if record.expires_at is not None and record.expires_at > now:
        ends = "sleeps" if policy.on_timeout is OnTimeout.PAUSE else "is killed"
        yield Reason(ReasonKind.DEADLINE, f"its timeout has not come yet; then it {ends}", until=record.expires_at)
    if policy.idle_s is None:
        yield Reason(ReasonKind.ALWAYS, "it has no idle policy: it runs until told otherwise", since=record.started_at)
        return
    yield from _busy(record, signals, now, policy.idle_s)


def _busy(record: Sandbox, signals: Signals, now: float, idle_s: float) -> Iterator[Reason]:
    began_at = max(record.started_at, signals.watched_since)
    open_ones = f", {signals.open_connections} open" if signals.open_connections else ""
    seen = (
        (ReasonKind.TRAFFIC, signals.last_byte_at, f"a connection moved bytes{open_ones}"),
        (ReasonKind.CPU, signals.cpu_at, f"it used {signals.cpu_share:.0%} of a core"),
        (ReasonKind.NETWORK, signals.network_at, f"it moved {signals.network_bytes_per_s:.0f} bytes/s itself"),
        (ReasonKind.FRESH, began_at, "it has not been watched for long enough to count as idle"),
    )
    for kind, at, detail in seen:
        if at is not None and at + idle_s > now:
            yield Reason(kind, detail, since=at, until=at + idle_s)
