"""Teams and their API keys."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass

from roost.domain.access import FULL, Role, Scope
from roost.domain.ids import KeyId, SandboxId, TeamId

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
    revoked_at: float | None = None  # it opens nothing; kept until what it was given is taken back
    revision: int = 0


def may_hold(key: ApiKey, holders: Collection[KeyId] | None, sandbox: SandboxId | None) -> bool:
    """Whether a key may hold something of a sandbox: by who is known to have got it, or else by how far the key reaches."""
    if holders is not None:
        return key.id in holders
    return key.scope.role in (Role.OPERATOR, Role.FULL) or (sandbox is not None and key.scope.sandbox == sandbox)


def key_digest(secret: str) -> str:
    """Keys carry 160 random bits, so a plain hash cannot be searched; slow hashing would only slow every request."""
    return hashlib.sha256(secret.encode()).hexdigest()
