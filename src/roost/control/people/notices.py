"""Tells guests what changes while they run: who drives, for programs inside that ask before they put in input, and which token
opens them.

A guest learns both when it starts or wakes (`orders.identity_of`), and from here when they change while it runs. Every committed
record is heard here, so that no writer of either can forget it. What cannot be told stays pending, and the keeper tries
again. That a token is yet to be told is in the record too: it outlives the server.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from weakref import WeakValueDictionary

import anyio

from roost.contracts.clock import Clock
from roost.contracts.store import Change, Store
from roost.control.fleet.nodes import Nodes
from roost.control.fleet.routes import ENDED, REACHABLE
from roost.control.lifecycle.deadline import run_until
from roost.domain.errors import RoostError
from roost.domain.ids import SandboxId
from roost.domain.lifecycle import State
from roost.domain.sandbox import Driver, Sandbox
from roost.telemetry.log import get_logger

TELLS_WITHIN_S = 2.0
"""How long one who takes over waits for the guest: it may be held still for a snapshot."""

log = get_logger(__name__)


class GuestNotices:
    def __init__(self, *, store: Store, nodes: Nodes, clock: Clock) -> None:
        self._store = store
        self._nodes = nodes
        self._clock = clock
        self._drivers: dict[SandboxId, Driver] = {}  # as last heard; who is not here is driven by the agent
        self._owed: dict[SandboxId, Sandbox] = {}  # the newest record of each guest that has yet to be told
        self._locks: WeakValueDictionary[SandboxId, anyio.Lock] = WeakValueDictionary()

    def hear(self, changes: Sequence[Change]) -> None:
        """For the feed of changes. Never blocks."""
        for change in changes:
            if isinstance(change.record, Sandbox):
                self._hear(change.record)

    @property
    def owes_any(self) -> bool:
        return bool(self._owed)

    def is_owed(self, record: Sandbox) -> bool:
        """Whether its guest runs and has yet to be told."""
        return record.id in self._owed and record.state in REACHABLE

    def _hear(self, record: Sandbox) -> None:
        changed = self._drivers.pop(record.id, None) != record.driver or record.token_pending
        if record.state in ENDED:
            self._owed.pop(record.id, None)
            return
        if record.state is State.PAUSED:
            self._owed.pop(record.id, None)  # whatever the record says when it wakes, it is told then
        elif changed or record.id in self._owed:
            self.mark_pending(record)
        self._remember(record)

    def mark_pending(self, record: Sandbox) -> None:
        """Its guest may believe something else: a server that ended had no time to tell it."""
        self._owed[record.id] = record
        self._remember(record)

    def _remember(self, record: Sandbox) -> None:
        if record.driver is not None:
            self._drivers[record.id] = record.driver

    async def tell(self, sandbox: SandboxId) -> None:
        """The guest knows, if it runs and answers in time; otherwise it is told later."""
        async with self._locks.setdefault(sandbox, anyio.Lock()):
            while (record := self._owed.get(sandbox)) is not None and record.state in REACHABLE:
                if not await self._is_told(record):
                    return
                newest = self._owed.get(sandbox)
                if newest is not None and _tells_the_same(newest, record):
                    del self._owed[sandbox]
                if record.token_pending:
                    await self._settle(record)

    async def tell_owed(self) -> None:
        """Whoever runs and has yet to be told is told now, or tried. Those who are being told at this moment are left alone."""
        async with anyio.create_task_group() as group:
            for record in list(self._owed.values()):
                lock = self._locks.get(record.id)
                if record.state in REACHABLE and (lock is None or not lock.locked()):
                    group.start_soon(self.tell, record.id)

    async def _is_told(self, record: Sandbox) -> bool:
        scope = anyio.CancelScope()
        try:
            answer = await run_until(
                self._clock,
                self._clock.now() + TELLS_WITHIN_S,
                lambda: self._nodes.inform(record),
                scope=scope,
                stop=scope.cancel,
            )
        except RoostError as error:
            log.warning("a guest could not be told what changed", sandbox=record.id, error=error.message)
            return False
        if answer is None:
            log.info("a guest has not heard yet what changed", sandbox=record.id)
        return answer is not None and answer[0]

    async def _settle(self, told: Sandbox) -> None:
        """The guest has the token: written down, unless it was changed again."""
        async with self._store.transaction() as transaction:
            record = await transaction.get(Sandbox, told.id)
            if record is not None and record.token_pending and _tells_the_same(record, told):
                await transaction.put(replace(record, token_pending=False), expect_revision=record.revision)


def _tells_the_same(record: Sandbox, other: Sandbox) -> bool:
    facts = (record.incarnation, record.driver, record.access_token)
    return facts == (other.incarnation, other.driver, other.access_token)
