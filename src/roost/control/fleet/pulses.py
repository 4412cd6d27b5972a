"""How busy each running sandbox is: the last readings of the node's meters, beside the edge's ledger. In memory only.

After a restart nothing is known of what was before: every sandbox counts as watched from then, so none sleeps too early.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from roost.contracts.clock import Clock
from roost.contracts.ledger import Ledger, Traffic
from roost.domain.activity import QUIET_BYTES_PER_S, Signals
from roost.domain.ids import SandboxId
from roost.domain.node import Usage
from roost.domain.sandbox import Sandbox

RECENT = 30
"""Readings that are kept of each, for a curve."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What one window of metering said."""

    at: float
    cpu_share: float  # of one core
    memory_bytes: int


QUIET_REQUEST_BYTES = 1500
QUIET_SHARE = 1.2
MOST_CREDIT_BYTES = 64 * 1024
"""The meter counts packets, the ledger what is in them: a quiet request costs its connection, and headers on top of its bytes.
What was estimated too high is still good in the next window, up to a limit."""


@dataclass(slots=True)
class _Pulse:
    incarnation: int
    watched_since: float
    last: Usage | None = None
    cpu_at: float | None = None
    cpu_share: float = 0.0
    network_at: float | None = None
    network_bytes_per_s: float = 0.0
    quiet_bytes: float = 0.0  # as of the last reading
    credit_bytes: float = 0.0  # of quiet traffic that the meter has not shown yet
    unsaved: list[Usage] = field(default_factory=list)
    recent: deque[Reading] = field(default_factory=lambda: deque(maxlen=RECENT))


class Pulses:
    def __init__(self, *, clock: Clock, ledger: Ledger) -> None:
        self._clock = clock
        self._ledger = ledger
        self._pulses: dict[SandboxId, _Pulse] = {}
        self.dozing: frozenset[SandboxId] = frozenset()
        """Sleepers whose process their node keeps, when it was last looked at. Written by whoever looks."""

    def read(self, record: Sandbox, usage: Usage | None) -> None:
        """A meter was read. Counters begin anew with each incarnation."""
        pulse = self._pulse(record)
        if usage is None or (pulse.last is not None and usage.at <= pulse.last.at):
            return
        before, pulse.last = pulse.last, usage
        quiet_before, pulse.quiet_bytes = pulse.quiet_bytes, _quiet_bytes(self._ledger.traffic(record.id))
        pulse.unsaved.append(usage)
        if before is None:
            return
        window_s = usage.at - before.at
        moved = usage.received_bytes + usage.sent_bytes - before.received_bytes - before.sent_bytes
        pulse.cpu_share = max(0.0, usage.cpu_s - before.cpu_s) / window_s
        credit = pulse.credit_bytes + max(0.0, pulse.quiet_bytes - quiet_before)
        pulse.credit_bytes = min(max(0.0, credit - moved), MOST_CREDIT_BYTES)
        pulse.network_bytes_per_s = max(0.0, moved - credit) / window_s
        pulse.recent.append(Reading(usage.at, pulse.cpu_share, usage.memory_bytes))
        if pulse.cpu_share >= record.policy.idle_cpu_share:
            pulse.cpu_at = usage.at
        if pulse.network_bytes_per_s >= QUIET_BYTES_PER_S:
            pulse.network_at = usage.at

    def signals(self, record: Sandbox) -> Signals:
        pulse = self._pulse(record)
        traffic = self._ledger.traffic(record.id)
        return Signals(
            watched_since=max(pulse.watched_since, self._counted_since()),
            last_byte_at=traffic.last_byte_at,
            open_connections=traffic.open_connections,
            cpu_at=pulse.cpu_at,
            cpu_share=pulse.cpu_share,
            network_at=pulse.network_at,
            network_bytes_per_s=pulse.network_bytes_per_s,
            dozing=record.id in self.dozing,
        )

    def _counted_since(self) -> float:
        """While nobody counts traffic, everybody may be busy."""
        since = self._ledger.known_since
        return self._clock.now() if since is None else since

    def recent(self, sandbox: SandboxId) -> tuple[Reading, ...]:
        """The last readings, oldest first, also of those that sleep by now."""
        pulse = self._pulses.get(sandbox)
        return tuple(pulse.recent) if pulse else ()

    def unsaved(self, sandbox: SandboxId) -> tuple[Usage, ...]:
        """Samples not yet in the store."""
        pulse = self._pulses.get(sandbox)
        return tuple(pulse.unsaved) if pulse else ()

    def take_unsaved(self, at_least: int = 1) -> dict[SandboxId, tuple[Usage, ...]]:
        """Hands over the samples of every sandbox that has that many."""
        taken: dict[SandboxId, tuple[Usage, ...]] = {}
        for sandbox, pulse in self._pulses.items():
            if len(pulse.unsaved) >= at_least:
                taken[sandbox] = tuple(pulse.unsaved)
                pulse.unsaved.clear()
        return taken

    def keep_only(self, living: set[SandboxId]) -> None:
        """Forgets all others, in the ledger too."""
        for sandbox in self._pulses.keys() - living:
            del self._pulses[sandbox]
            self._ledger.forget(sandbox)

    def _pulse(self, record: Sandbox) -> _Pulse:
        pulse = self._pulses.get(record.id)
        if pulse is None or pulse.incarnation != record.incarnation:
            before, pulse = pulse, _Pulse(record.incarnation, watched_since=self._clock.now())
            if before is not None:  # samples and curve go on
                pulse.unsaved, pulse.recent = before.unsaved, before.recent
            self._pulses[record.id] = pulse
        return pulse


def _quiet_bytes(traffic: Traffic) -> float:
    """What a sandbox's meter shows of requests that are not to count."""
    return traffic.quiet_bytes * QUIET_SHARE + traffic.quiet_requests * QUIET_REQUEST_BYTES
