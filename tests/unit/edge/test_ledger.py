from __future__ import annotations

from roost.contracts.ledger import Ledger, Traffic
from roost.domain.ids import SandboxId
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
