"""Dozing: a sleeper whose frozen process is still in memory, as a cache of its snapshot. Which of them go, and when.

It is no state: to its record it is paused, and whoever keeps it may drop it at any moment without asking.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from roost.domain.ids import SandboxId


@dataclass(frozen=True, slots=True)
class Dozer:
    sandbox: SandboxId
    held_bytes: int


def who_goes(dozers: Sequence[Dozer], *, limit_bytes: int, short_bytes: int = 0) -> tuple[SandboxId, ...]:
    """Those that must go, given the one that dozes longest first: until all together hold no more than the limit, and
    `short_bytes` have become free that somebody needs now."""
    return tuple(_longest_first(dozers, limit_bytes, short_bytes))


def _longest_first(dozers: Sequence[Dozer], limit_bytes: int, short_bytes: int) -> Iterator[SandboxId]:
    held_bytes = sum(each.held_bytes for each in dozers)
    for each in dozers:
        if held_bytes <= limit_bytes and short_bytes <= 0:
            return
        yield each.sandbox
        held_bytes -= each.held_bytes
        short_bytes -= each.held_bytes
