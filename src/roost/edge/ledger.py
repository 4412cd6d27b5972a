"""Who moved bytes when. Written at every piece that passes, so writing is a few additions and nothing else."""

from __future__ import annotations

from collections.abc import Iterable

from roost.contracts.clock import Clock
from roost.contracts.ledger import Traffic
from roost.contracts.route_feed import SandboxTraffic
from roost.domain.ids import LinkId, SandboxId

_REMEMBERED_S = 60.0
"""How long it is known when a screen was watched, once nobody does: those who ask want to know of the last seconds."""


class Account:
    """The traffic of one sandbox, counted where it passes."""

    __slots__ = (
        "_changed",
        "_clock",
        "_sandbox",
        "_watched",
        "last_byte_at",
        "open_connections",
        "quiet_bytes",
        "quiet_requests",
        "received_bytes",
        "requests",
        "sent_bytes",
    )

    def __init__(self, sandbox: SandboxId, clock: Clock, changed: set[SandboxId]) -> None:
        """`changed` are those whose traffic is not reported yet."""
        self._sandbox = sandbox
        self._clock = clock
        self._changed = changed
        self._watched: dict[LinkId, float] = {}
        self.last_byte_at: float | None = None
        self.open_connections = 0
        self.requests = 0
        self.received_bytes = 0
        self.sent_bytes = 0
        self.quiet_requests = 0
        self.quiet_bytes = 0

    def began(self, *, quiet: bool) -> None:
        """A request for the sandbox arrived."""
        self.open_connections += 1
        self.requests += 1
        self.quiet_requests += quiet
        self._changed.add(self._sandbox)

    def ended(self) -> None:
        """A request that began is over."""
        self.open_connections -= 1
        self._changed.add(self._sandbox)

    def received(self, size_bytes: int, *, quiet: bool = False) -> None:
        """The sandbox was sent so many bytes. Quiet ones keep nobody awake."""
        self.received_bytes += size_bytes
        self._moved(size_bytes, quiet)

    def sent(self, size_bytes: int, *, quiet: bool = False) -> None:
        """So many bytes of the sandbox were passed to a client."""
        self.sent_bytes += size_bytes
        self._moved(size_bytes, quiet)

    def watched(self, link: LinkId) -> None:
        """Somebody is before a screen that was opened by this link."""
        now = self._clock.now()
        if link not in self._watched:
            self._watched = {one: at for one, at in self._watched.items() if at > now - _REMEMBERED_S}
        self._watched[link] = now
        self._changed.add(self._sandbox)

    def watched_at(self, link: LinkId) -> float | None:
        return self._watched.get(link)

    def traffic(self) -> Traffic:
        return Traffic(
            last_byte_at=self.last_byte_at,
            open_connections=self.open_connections,
            requests=self.requests,
            received_bytes=self.received_bytes,
            sent_bytes=self.sent_bytes,
            quiet_requests=self.quiet_requests,
            quiet_bytes=self.quiet_bytes,
        )

    def report(self) -> SandboxTraffic:
        return SandboxTraffic(self._sandbox, self.traffic(), dict(self._watched))

    def _moved(self, size_bytes: int, quiet: bool) -> None:
        self._changed.add(self._sandbox)
        if quiet:
            self.quiet_bytes += size_bytes
        else:
            self.last_byte_at = self._clock.now()


class TrafficLedger:
    """The `Ledger` of this process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._accounts: dict[SandboxId, Account] = {}
        self._changed: set[SandboxId] = set()
        self.known_since: float | None = clock.now()

    def account(self, sandbox: SandboxId) -> Account:
        account = self._accounts.get(sandbox)
        if account is None:
            account = self._accounts[sandbox] = Account(sandbox, self._clock, self._changed)
        return account

    def traffic(self, sandbox: SandboxId) -> Traffic:
        account = self._accounts.get(sandbox)
        return Traffic() if account is None else account.traffic()

    def watched_at(self, sandbox: SandboxId, link: LinkId) -> float | None:
        account = self._accounts.get(sandbox)
        return account.watched_at(link) if account is not None else None

    def forget(self, sandbox: SandboxId) -> None:
        self._accounts.pop(sandbox, None)

    def take_changed(self) -> tuple[SandboxTraffic, ...]:
        """Of those that moved bytes, began, ended or were watched since this was last asked."""
        changed = tuple(self._accounts[sandbox].report() for sandbox in self._changed if sandbox in self._accounts)
        self._changed.clear()
        return changed

    def report_again(self, sandboxes: Iterable[SandboxId] | None = None) -> None:
        """What was taken of these, or of all, was lost on its way."""
        self._changed.update(self._accounts if sandboxes is None else sandboxes)
