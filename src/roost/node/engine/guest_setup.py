"""A guest that begins to stand for a sandbox is told who it is, and whom to trust."""

from __future__ import annotations

import structlog

from roost.contracts.guest import Guest
from roost.domain.egress import Egress
from roost.domain.errors import GuestUnreachable
from roost.domain.node import CreateOrder, ResumeOrder
from roost.node.network.slots import Slot, Slots

_BOOT_LIMIT_S = 60.0

log = structlog.get_logger(__name__)


class GuestSetup:
    def __init__(self, *, guest: Guest, slots: Slots) -> None:
        self._guest = guest
        self._slots = slots

    async def introduce(self, slot: Slot, order: CreateOrder | ResumeOrder) -> None:
        """The guest is who the order says. Raises GuestUnreachable."""
        if order.cold:
            await self._guest.ready(slot.address, _BOOT_LIMIT_S)
            await self._guest.init(slot.address, order.identity)
        else:
            await self._guest.after_restore(slot.address, order.identity)
        await self.explain(slot, order.egress)

    async def explain(self, slot: Slot, egress: Egress) -> None:
        """A guest whose requests are given headers trusts the authority in whose name its gate speaks TLS; no other guest is
        ever told of it. One that does not listen harms itself alone: its policy holds all the same."""
        if not egress.adds_headers:
            return
        try:
            await self._guest.trust(slot.address, await self._slots.authority())
        except GuestUnreachable as error:
            log.warning("a guest does not trust its gate: its https requests to hosts with rules fail", reason=error.message)
