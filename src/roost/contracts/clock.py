"""Time, handed in."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since 1970, UTC. May jump with the machine's clock; records and deadlines use it."""
        ...

    async def sleep_until(self, at: float) -> None:
        """Returns once `now() >= at`; at once if that is so already. Cancellable."""
        ...
