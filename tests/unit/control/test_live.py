from __future__ import annotations

import anyio
import pytest

from roost.contracts.ledger import Traffic
from roost.contracts.store import Change
from roost.control.fleet.pulses import RECENT, Pulses, Reading
from roost.control.people.live import Beat, Live, is_noticeable
from roost.domain.access import FULL, Principal
from roost.domain.ids import SandboxId, TeamId
from roost.domain.lifecycle import State
from roost.domain.node import Usage
from roost.domain.sandbox import Sandbox
from roost.testing.clock import ManualClock
from roost.testing.conformance.records import TEAM, sandbox

pytestmark = pytest.mark.anyio

MB = 1 << 20

US = Principal(TEAM, FULL, None)


class NoTraffic:
    known_since: float | None = 0.0

    def traffic(self, sandbox: SandboxId) -> Traffic:
        return Traffic()

    def forget(self, sandbox: SandboxId) -> None: ...

    def watched_at(self, sandbox: SandboxId, link: object) -> float | None:
        return None


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1000.0)


@pytest.fixture
def pulses(clock: ManualClock) -> Pulses:
    return Pulses(clock=clock, ledger=NoTraffic())


@pytest.fixture
def live(clock: ManualClock, pulses: Pulses) -> Live:
    return Live(clock=clock, pulses=pulses)


def tell(live: Live, record: Sandbox) -> None:
    live.hear([Change(1, Sandbox, record.id, record)])


def read(pulses: Pulses, clock: ManualClock, number: int, cpu_s: float, memory_bytes: int = 100 * MB) -> None:
    usage = Usage(clock.now(), cpu_s, memory_bytes, disk_bytes=0, received_bytes=0, sent_bytes=0)
    pulses.read(sandbox(number), usage)


async def test_a_slow_reader_gets_the_newest_of_each(live: Live) -> None:
    watch = live.watch(US)
    tell(live, sandbox(1, state=State.RUNNING))
    tell(live, sandbox(2, state=State.RUNNING))
    tell(live, sandbox(1, state=State.PAUSED))
    told = [await anext(watch), await anext(watch)]
    assert [(record.id, record.state) for record in told if not isinstance(record, Beat)] == [
        (sandbox(2).id, State.RUNNING),
        (sandbox(1).id, State.PAUSED),
    ]
    with anyio.move_on_after(0) as scope:
        await anext(watch)
    assert scope.cancelled_caught, "and then it waits"


async def test_a_watch_that_nobody_holds_is_forgotten(live: Live) -> None:
    watch = live.watch(US)
    assert len(live._watches) == 1
    del watch
    assert len(live._watches) == 0


async def test_figures_come_every_ten_seconds_and_only_news(live: Live, pulses: Pulses, clock: ManualClock) -> None:
    watch, fleet = live.watch(US), [sandbox(1), sandbox(2, state=State.PAUSED)]
    for cpu_s in (0.0, 2.5):
        read(pulses, clock, 1, cpu_s)
        clock.advance(5)
    live.beat(fleet)
    first = await anext(watch)
    assert isinstance(first, Beat)
    assert {id: reading.cpu_share for id, reading in first.readings.items()} == {sandbox(1).id: 0.5}
    read(pulses, clock, 1, 7.5)  # a whole core now
    live.beat(fleet)  # too soon
    with anyio.move_on_after(0) as scope:
        await anext(watch)
    assert scope.cancelled_caught
    clock.advance(10)
    live.beat(fleet)
    second = await anext(watch)
    assert isinstance(second, Beat) and second.readings[sandbox(1).id].cpu_share == 1.0
    clock.advance(10)
    live.beat(fleet)  # nothing new
    with anyio.move_on_after(0) as scope:
        await anext(watch)
    assert scope.cancelled_caught


async def test_others_figures_are_not_told(live: Live, pulses: Pulses, clock: ManualClock) -> None:
    watch = live.watch(Principal(TeamId("strangers"), FULL, None))
    for cpu_s in (0.0, 5.0):
        read(pulses, clock, 1, cpu_s)
        clock.advance(5)
    live.beat([sandbox(1)])
    tell(live, sandbox(1))
    with anyio.move_on_after(0) as scope:
        await anext(watch)
    assert scope.cancelled_caught


def test_a_curve_keeps_the_last_readings_over_a_sleep(pulses: Pulses, clock: ManualClock) -> None:
    for number in range(RECENT + 5):
        read(pulses, clock, 1, number * 0.5)
        clock.advance(5)
    assert len(pulses.recent(sandbox(1).id)) == RECENT
    pulses.read(sandbox(1, incarnation=2), None)
    assert len(pulses.recent(sandbox(1).id)) == RECENT
    assert pulses.recent(sandbox(2).id) == ()


@pytest.mark.parametrize(
    ("share", "memory_bytes", "expected"),
    [(0.1, 100 * MB, False), (0.119, 100 * MB, False), (0.121, 100 * MB, True), (0.1, 104 * MB, False), (0.1, 106 * MB, True)],
)
def test_what_a_person_would_see(share: float, memory_bytes: int, expected: bool) -> None:
    told = Reading(0.0, 0.1, 100 * MB)
    assert is_noticeable(told, Reading(5.0, share, memory_bytes)) is expected
    assert is_noticeable(None, told)
