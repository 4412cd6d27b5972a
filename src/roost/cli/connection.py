"""The server, for verbs that need one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from roost.client.blocking.roost import Roost


def connect() -> Roost:
    """The server that the environment names, or the one that runs on this machine. Raises Unavailable, saying what to
    do."""
    from roost.client.blocking.roost import Roost

    return Roost()
