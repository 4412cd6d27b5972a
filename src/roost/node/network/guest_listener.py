"""Who asks at the API for guests: an HTTP service of the node that every guest reaches at port 80 of its gateway.

Whose request it is follows from the slot that it comes from, as with DNS: the host's firewall lets no slot use another's
address. What is served there is not the node's business: whoever puts the house together brings it.
"""

from __future__ import annotations

from roost.domain.ids import SandboxId
from roost.node.holdings import Holdings
from roost.node.network.slots import Slots


class GuestListener:
    def __init__(self, *, slots: Slots, holdings: Holdings) -> None:
        self._slots = slots
        self._holdings = holdings

    @property
    def listens_at(self) -> tuple[str, int]:
        """Known once the node is open."""
        return str(self._slots.services.address), self._slots.services.guest_api_port

    def who(self, source: str) -> SandboxId | None:
        """The living sandbox whose guest has this address; None for anybody else, and for a guest that is still being made."""
        index = self._slots.at(source)
        if index is None:
            return None
        for sandbox, held in self._holdings.items():
            if held.alive and held.container.slot is not None and held.container.slot.index == index:
                return sandbox
        return None
