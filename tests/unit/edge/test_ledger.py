from __future__ import annotations

from roost.contracts.ledger import Ledger, Traffic
from roost.domain.ids import LinkId, SandboxId
from roost.edge.ledger import TrafficLedger
from roost.testing.clock import ManualClock

ID = SandboxId("i0123456789abcdefghij")


def test_what_passes_is_counted_with_its_time() -> None:
    clock = ManualClock(100.0)
    kept = TrafficLedger(clock)
    ledger: Ledger = kept
    assert ledger.traffic(ID) == Traffic()
    account = kept.account(ID)
    assert kept.account(ID) is account
    account.received(10)
    clock.advance(5)
    account.sent(7)
    clock.advance(5)
    assert ledger.traffic(ID) == Traffic(last_byte_at=105.0, received_bytes=10, sent_bytes=7)
    ledger.forget(ID)
    ledger.forget(ID)
    assert ledger.traffic(ID) == Traffic()


def test_quiet_requests_are_counted_apart_and_are_no_activity() -> None:
    kept = TrafficLedger(ManualClock(100.0))
    account = kept.account(ID)
    account.began(quiet=True)
    account.received(10, quiet=True)
    account.sent(7, quiet=True)
    told = kept.traffic(ID)
    assert (told.last_byte_at, told.quiet_requests, told.quiet_bytes) == (None, 1, 17)
    assert (told.requests, told.open_connections, told.received_bytes, told.sent_bytes) == (1, 1, 10, 7)


def test_when_a_screen_was_watched_is_known_for_a_while() -> None:
    clock = ManualClock(100.0)
    kept = TrafficLedger(clock)
    anna, ben = LinkId("l1"), LinkId("l2")
    assert kept.watched_at(ID, anna) is None
    kept.account(ID).watched(anna)
    clock.advance(30)
    kept.account(ID).watched(ben)
    assert (kept.watched_at(ID, anna), kept.watched_at(ID, ben)) == (100.0, 130.0)
    clock.advance(60)
    kept.account(ID).watched(LinkId("l3"))
    assert kept.watched_at(ID, anna) is None
    kept.forget(ID)
    assert kept.watched_at(ID, ben) is None
