"""Metering samples: what each sandbox used, over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from roost.domain.ids import SandboxId
from roost.domain.node import Usage


class UsageLog(Protocol):
    async def add_usage(self, sandbox: SandboxId, samples: Sequence[Usage]) -> None:
        """Keeps the samples. Repeating one (same `at`) changes nothing. A crash of the machine may lose the newest."""
        ...

    async def usage(self, sandbox: SandboxId, start: float, end: float, limit: int) -> list[Usage]:
        """Samples with start <= at <= end, oldest first."""
        ...

    async def forget_usage(self, before: float) -> None:
        """Drops samples older than that."""
        ...
