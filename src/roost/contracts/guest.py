"""The agent inside, as the node talks to it: by the slot's address."""

from __future__ import annotations

from typing import Protocol

from roost.domain.node import Identity
from roost.domain.sandbox import Driver


class Guest(Protocol):
    async def ready(self, address: str, timeout_s: float) -> None:
        """The agent at the address answers. Raises GuestUnreachable after the timeout."""
        ...

    async def init(self, address: str, identity: Identity) -> None:
        """The agent took its identity. May be called twice. Raises GuestUnreachable."""
        ...

    async def before_checkpoint(self, address: str) -> None:
        """Nothing of the node's is half-served. Raises GuestUnreachable."""
        ...

    async def flush(self, address: str) -> None:
        """Every file that was written inside is on the sandbox's disk. Blocks until it is. Raises GuestUnreachable."""
        ...

    async def after_restore(self, address: str, identity: Identity) -> None:
        """Clock, entropy, host name, token, who drives and, for a fresh identity, machine-id are right.
        Raises GuestUnreachable."""
        ...

    async def set_driver(self, address: str, driver: Driver | None) -> None:
        """Programs inside find that this person drives, or that the agent does. An agent too old to know of it is left alone.
        May be called twice. Raises GuestUnreachable."""
        ...

    async def set_token(self, address: str, token: str) -> None:
        """The agent takes this token from its callers, and no other. May be called twice. Raises GuestUnreachable."""
        ...

    async def trust(self, address: str, certificates: str) -> None:
        """Programs inside trust these authorities (PEM) too. May be called twice. Raises GuestUnreachable."""
        ...

    async def run(self, address: str, command: str, *, user: str, timeout_s: float) -> tuple[int, str]:
        """Runs a shell command to its end: exit code and output (bounded, the tail is kept). Used to build templates.
        Raises GuestUnreachable."""
        ...
