"""Who moved bytes when. Written at every piece that passes, so writing is a few additions and nothing else."""

from __future__ import annotations

from roost.contracts.clock import Clock
from roost.contracts.ledger import Traffic
from roost.domain.ids import SandboxId


class Account:
    """The traffic of one sandbox, counted where it passes."""

    __slots__ = ("_clock", "last_byte_at", "open_connections", "received_bytes", "requests", "sent_bytes")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.last_byte_at: float | None = None
        self.open_connections = 0
        self.requests = 0
        self.received_bytes = 0
        self.sent_bytes = 0

    def received(self, size_bytes: int) -> None:
        """The sandbox was sent so many bytes."""
        self.received_bytes += size_bytes
        self.last_byte_at = self._clock.now()

    def sent(self, size_bytes: int) -> None:
        """So many bytes of the sandbox were passed to a client."""
        self.sent_bytes += size_bytes
        self.last_byte_at = self._clock.now()


class TrafficLedger:
    """The `Ledger` of this process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._accounts: dict[SandboxId, Account] = {}

    def account(self, sandbox: SandboxId) -> Account:
        account = self._accounts.get(sandbox)
        if account is None:
            account = self._accounts[sandbox] = Account(self._clock)
        return account

    def traffic(self, sandbox: SandboxId) -> Traffic:
        account = self._accounts.get(sandbox)
        if account is None:
            return Traffic()
        return Traffic(
            last_byte_at=account.last_byte_at,
            open_connections=account.open_connections,
            requests=account.requests,
            received_bytes=account.received_bytes,
            sent_bytes=account.sent_bytes,
        )

    def forget(self, sandbox: SandboxId) -> None:
        self._accounts.pop(sandbox, None)
