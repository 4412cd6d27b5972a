"""Teams and their API keys."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from roost.domain.access import FULL, Scope
from roost.domain.ids import KeyId, TeamId

DEFAULT_TEAM = TeamId("default")


@dataclass(frozen=True, slots=True)
class ApiKey:
    id: KeyId
    team: TeamId
    name: str
    digest: str  # sha256 of the secret; the secret itself is shown once and kept nowhere
    hint: str  # its last four characters, for people
    created_at: float
    scope: Scope = FULL  # what keys were before there were scopes
    revision: int = 0


def key_digest(secret: str) -> str:
    """Keys carry 160 bits of chance, so a plain hash cannot be searched; slow hashing would only slow every request."""
    return hashlib.sha256(secret.encode()).hexdigest()
