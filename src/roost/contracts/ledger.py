"""Who moved bytes when: kept by the edge, read by those who decide about sleep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from roost.domain.ids import LinkId, SandboxId


@dataclass(frozen=True, slots=True)
class Traffic:
    """The traffic of one sandbox as the edge saw it."""

    last_byte_at: float | None = None
    open_connections: int = 0
    requests: int = 0
    received_bytes: int = 0  # by the sandbox
    sent_bytes: int = 0
    quiet_requests: int = 0  # of those above: such as must keep no sandbox awake
    quiet_bytes: int = 0  # moved by them, both ways


class Ledger(Protocol):
    @property
    def known_since(self) -> float | None:
        """Since when nothing that passed was missed; None: nobody counts just now. Until then anybody may have been busy."""
        ...

    def traffic(self, sandbox: SandboxId) -> Traffic:
        """What is known; a sandbox never seen has the empty record. Never blocks."""
        ...

    def watched_at(self, sandbox: SandboxId, link: LinkId) -> float | None:
        """When a screen opened by this link was last known to have somebody before it; None: not in this server's life, or not
        for a good while. Never blocks."""
        ...

    def forget(self, sandbox: SandboxId) -> None:
        """Drops what is kept of a dead sandbox. May be called twice."""
        ...
