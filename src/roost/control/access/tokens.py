"""Tokens of sandboxes: what opens the agent inside, and the ports of one that is not public. IssuedTokens to whoever may enter.

To whom they were given is kept in the record, written before they are: so a key that is revoked can take back what it was given
(`revocations`), and only that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import anyio

from roost.contracts.clock import Clock
from roost.contracts.store import Query, Store, Transaction
from roost.control.people.notices import GuestNotices
from roost.control.sandboxes.references import check_key, find_sandbox
from roost.domain import ids
from roost.domain.access import Principal, Thing, Verb, require
from roost.domain.errors import SandboxDead, SandboxNotFound
from roost.domain.events import Event, EventKind
from roost.domain.ids import KeyId, SandboxId
from roost.domain.lifecycle import LIVING
from roost.domain.sandbox import Sandbox
from roost.domain.team import ApiKey, may_hold

BATCH = 50
"""Sandboxes whose tokens are changed in one transaction."""
TOLD_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class IssuedTokens:
    """A sandbox with its tokens, for somebody who may have them."""

    sandbox: Sandbox
    access: str = field(repr=False)
    traffic: str | None = field(repr=False)  # of one whose ports are not public


class Tokens:
    def __init__(self, *, store: Store, notices: GuestNotices, clock: Clock, random: ids.Random) -> None:
        self._store = store
        self._notices = notices
        self._clock = clock
        self._random = random

    async def give(self, principal: Principal, ref: str) -> IssuedTokens:
        """Raises SandboxNotFound, SandboxDead, Unauthenticated when the key was revoked just now."""
        async with self._store.reading() as reader:
            record = await find_sandbox(reader, principal, ref, Verb.ENTER)
        return await self.give_of(principal, record)

    async def give_of(self, principal: Principal, record: Sandbox) -> IssuedTokens:
        """As `give`, of a record that was read, or made, just now."""
        require(principal, Verb.ENTER, Thing(record.team, record.id), SandboxNotFound(record.id))
        if record.state not in LIVING:
            raise SandboxDead(record.id, record.reason)
        if not _is_given(record, principal):
            record = await self._note(principal, record)
        return IssuedTokens(record, record.access_token, record.ingress.token)

    async def rotate(self, principal: Principal, ref: str) -> IssuedTokens:
        """It has new tokens, which its caller is given; the old ones open nothing, and what they opened is cut. A guest that runs
        is told at once, one that sleeps when it wakes. Raises as `give`."""
        async with self._store.transaction() as transaction:
            await check_key(transaction, principal)
            record = await find_sandbox(transaction, principal, ref, Verb.ENTER)
            if record.state not in LIVING:
                raise SandboxDead(record.id, record.reason)
            record = await self._change(transaction, record, holders(principal), "somebody asked for it")
        await self._notices.tell(record.id)
        return IssuedTokens(record, record.access_token, record.ingress.token)

    async def take_back(self, key: ApiKey) -> None:
        """Of every sandbox whose tokens the revoked key may have, they are changed. May be called twice."""
        async with self._store.reading() as reader:
            living = await reader.find(Sandbox, Query(equal={"team": key.team}, one_of={"state": sorted(LIVING)}))
        held = [record.id for record in living if may_hold(key, record.token_holders, record.id)]
        for batch in (held[start : start + BATCH] for start in range(0, len(held), BATCH)):
            async with self._store.transaction() as transaction:
                for id in batch:
                    record = await transaction.get(Sandbox, id)
                    if record is not None and record.state in LIVING and may_hold(key, record.token_holders, record.id):
                        await self._change(transaction, record, (), "a key that had them was revoked")
            await self._tell(batch)

    async def _change(self, transaction: Transaction, record: Sandbox, given: tuple[KeyId, ...], why: str) -> Sandbox:
        ingress = record.ingress
        changed = replace(
            record,
            access_token=ids.new_token(self._random),
            ingress=ingress if ingress.token is None else replace(ingress, token=ids.new_token(self._random)),
            token_holders=given,
            token_pending=True,
        )
        event = Event(EventKind.TOKENS_ROTATED, record.team, self._clock.now(), record.id, {"why": why})
        await transaction.append(event)
        return await transaction.put(changed, expect_revision=record.revision)

    async def _tell(self, sandboxes: Sequence[SandboxId]) -> None:
        """Guests that do not answer are left to the keeper: to the edge the old tokens are none already."""
        turn = anyio.CapacityLimiter(TOLD_AT_ONCE)

        async def tell(sandbox: SandboxId) -> None:
            async with turn:
                await self._notices.tell(sandbox)

        async with anyio.create_task_group() as group:
            for sandbox in sandboxes:
                group.start_soon(tell, sandbox)

    async def _note(self, principal: Principal, record: Sandbox) -> Sandbox:
        """Whoever is given the tokens is written down first. In the same transaction the key is looked at again: one that is
        revoked before this gets nothing, one that is revoked after it loses what it got."""
        async with self._store.transaction() as transaction:
            await check_key(transaction, principal)
            current = await transaction.get(Sandbox, record.id)
            if current is None:
                raise SandboxNotFound(record.id)
            if _is_given(current, principal):
                return current
            noted = replace(current, token_holders=(*(current.token_holders or ()), *holders(principal)))
            return await transaction.put(noted, expect_revision=current.revision)


def holders(principal: Principal) -> tuple[KeyId, ...]:
    """Of the tokens of a sandbox that this principal makes: they are in the answer."""
    return () if principal.key is None else (principal.key,)


def _is_given(record: Sandbox, principal: Principal) -> bool:
    """Of a sandbox of an older Roost nobody knows: any key of the team may have them, so nothing need be noted."""
    return record.token_holders is None or principal.key is None or principal.key in record.token_holders
