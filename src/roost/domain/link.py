"""Links: whoever holds one may watch a sandbox's screen, or watch and drive, or open one of its ports, until it ends.

A link is a bearer secret for people who have no API key. Its token is shown once and kept nowhere; what is kept is its digest.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum

from roost.domain.ids import KeyId, LinkId, SandboxId, TeamId

SOMEBODY = "somebody"
"""Who drives by a link that has no label."""


class LinkMode(StrEnum):
    """What a link to a screen is good for."""

    VIEW = "view"
    CONTROL = "control"  # may take over


@dataclass(frozen=True, slots=True)
class Link:
    """To the sandbox's screen, with a mode; or to the port that it names, without one."""

    id: LinkId
    sandbox: SandboxId
    team: TeamId
    mode: LinkMode | None
    label: str  # whom it is for
    digest: str  # of the token
    created_at: float
    expires_at: float
    port: int | None = None
    key: KeyId | None = None  # that made it, and whose end is its end; None: nobody knows, as of an older Roost
    revision: int = 0

    @property
    def who(self) -> str:
        """As whom its holder drives."""
        return self.label or SOMEBODY

    def is_over(self, now: float) -> bool:
        return now >= self.expires_at


def can_open_ports(scheme: str, domain: str) -> bool:
    """Whether browsers say which page makes them ask, at the names that sandboxes have: over https, and on this machine. Where
    they do not, every page of the domain could read a port that somebody opened by a link."""
    return scheme == "https" or domain == "localhost" or domain.endswith(".localhost")


def link_digest(token: str) -> str:
    """Tokens carry 256 random bits, so a plain hash cannot be searched."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
