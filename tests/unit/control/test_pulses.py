from __future__ import annotations

from dataclasses import replace

from roost.contracts.ledger import Traffic
from roost.control.fleet.pulses import Pulses
from roost.domain.ids import LinkId, NodeId, SandboxId, SnapshotId, TeamId
from roost.domain.lifecycle import State
from roost.domain.node import Usage
from roost.domain.sandbox import Sandbox, Size
from roost.testing.clock import ManualClock

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
)


class Silent:
    def __init__(self) -> None:
        self.forgotten: list[SandboxId] = []
        self.seen = Traffic()
        self.known_since: float | None = 0.0

    def traffic(self, sandbox: SandboxId) -> Traffic:
        return self.seen

    def watched_at(self, sandbox: SandboxId, link: LinkId) -> float | None:
        return None

    def forget(self, sandbox: SandboxId) -> None:
        self.forgotten.append(sandbox)


def usage(at: float, cpu_s: float = 0.0, moved_bytes: int = 0) -> Usage:
    return Usage(at, cpu_s, 0, 0, moved_bytes, 0)


def pulses(clock: ManualClock) -> Pulses:
    return Pulses(clock=clock, ledger=Silent())


def test_shares_are_taken_between_two_readings() -> None:
    watch = pulses(ManualClock(0))
    watch.read(RECORD, usage(0, cpu_s=100))
    assert watch.signals(RECORD).cpu_at is None, "one reading says nothing about now"
    watch.read(RECORD, usage(5, cpu_s=101, moved_bytes=10_000))
    signals = watch.signals(RECORD)
    assert (signals.cpu_at, signals.cpu_share) == (5, 0.2)
    assert (signals.network_at, signals.network_bytes_per_s) == (5, 2000)
    watch.read(RECORD, usage(10, cpu_s=101.1, moved_bytes=10_100))
    assert (watch.signals(RECORD).cpu_at, watch.signals(RECORD).network_at) == (5, 5), "it has been quiet since"


def test_a_reading_seen_twice_counts_once() -> None:
    watch = pulses(ManualClock(0))
    for _ in range(3):
        watch.read(RECORD, usage(5))
    watch.read(RECORD, None)
    assert watch.unsaved(RECORD.id) == (usage(5),)


def test_a_new_incarnation_is_watched_anew_and_keeps_its_unsaved_samples() -> None:
    clock = ManualClock(0)
    watch = pulses(clock)
    watch.read(RECORD, usage(0))
    watch.read(RECORD, usage(5, cpu_s=5))
    clock.advance(100)
    awake = replace(RECORD, incarnation=2)
    watch.read(awake, usage(100, cpu_s=90))
    signals = watch.signals(awake)
    assert (signals.watched_since, signals.cpu_at, signals.cpu_share) == (100, None, 0.0)
    assert [sample.at for sample in watch.unsaved(RECORD.id)] == [0, 5, 100]


def test_samples_are_handed_over_once_there_are_enough() -> None:
    watch = pulses(ManualClock(0))
    for at in range(3):
        watch.read(RECORD, usage(at))
    assert watch.take_unsaved(at_least=4) == {}
    assert [sample.at for sample in watch.take_unsaved(at_least=3)[RECORD.id]] == [0, 1, 2]
    assert watch.take_unsaved() == {}


def test_who_is_gone_is_forgotten_by_the_ledger_too() -> None:
    ledger = Silent()
    watch = Pulses(clock=ManualClock(0), ledger=ledger)
    watch.read(RECORD, usage(0))
    watch.keep_only({RECORD.id})
    assert ledger.forgotten == []
    watch.keep_only(set())
    assert ledger.forgotten == [RECORD.id] and watch.unsaved(RECORD.id) == ()


def test_quiet_requests_do_not_keep_it_awake() -> None:
    ledger = Silent()
    watch = Pulses(clock=ManualClock(0), ledger=ledger)
    watch.read(RECORD, usage(0))
    ledger.seen = Traffic(quiet_requests=1, quiet_bytes=100_000)
    watch.read(RECORD, usage(5, moved_bytes=80_000))
    watch.read(RECORD, usage(10, moved_bytes=105_000))  # the rest of the same frames, metered late
    assert watch.signals(RECORD).network_at is None
    watch.read(RECORD, usage(15, moved_bytes=205_000))
    assert watch.signals(RECORD).network_at == 15, "what it moves of its own counts as before"


def test_quiet_requests_hide_no_more_than_a_little_of_what_comes_after() -> None:
    ledger = Silent()
    watch = Pulses(clock=ManualClock(0), ledger=ledger)
    watch.read(RECORD, usage(0))
    ledger.seen = Traffic(quiet_requests=1000, quiet_bytes=100_000_000)
    watch.read(RECORD, usage(5, moved_bytes=1000))
    watch.read(RECORD, usage(10, moved_bytes=101_000))
    assert watch.signals(RECORD).network_at == 10
