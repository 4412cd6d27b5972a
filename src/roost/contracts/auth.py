"""Who is asking."""

from __future__ import annotations

from typing import Protocol

from roost.domain.access import Principal


class Authenticator(Protocol):
    async def identify(self, credential: str) -> Principal:
        """The principal the credential stands for. Raises Unauthenticated. Must not tell valid from invalid by its timing."""
        ...
