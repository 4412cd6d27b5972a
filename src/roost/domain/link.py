"""Links to a sandbox's screen: whoever holds one may watch, or watch and drive, until it ends.

A link is a bearer secret for people who have no API key. Its token is shown once and kept nowhere; what is kept is its digest.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum

from roost.domain.ids import LinkId, SandboxId, TeamId

SOMEBODY = "somebody"
"""Who drives by a link that has no label."""


class LinkMode(StrEnum):
    VIEW = "view"
    CONTROL = "control"  # may take over


@dataclass(frozen=True, slots=True)
class ScreenLink:
    id: LinkId
    sandbox: SandboxId
    team: TeamId
    mode: LinkMode
    label: str  # whom it is for
    digest: str  # of the token
    created_at: float
    expires_at: float
    revision: int = 0

    @property
    def who(self) -> str:
        """As whom its holder drives."""
        return self.label or SOMEBODY

    def is_over(self, now: float) -> bool:
        return now >= self.expires_at


def link_digest(token: str) -> str:
    """Tokens carry 256 bits of chance, so a plain hash cannot be searched."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
