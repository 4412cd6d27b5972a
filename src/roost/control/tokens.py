"""Tokens of sandboxes: what opens the agent inside, and the ports of one that is not public. Given to whoever may enter.

To whom they were given is kept in the record, written before they are: so a key that is revoked can take back what it was given
(`revocations`), and only that.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from roost.contracts.store import Store
from roost.control.references import check_key, find_sandbox
from roost.domain.access import Principal
from roost.domain.errors import SandboxDead, SandboxNotFound
from roost.domain.ids import KeyId
from roost.domain.lifecycle import LIVING
from roost.domain.sandbox import Sandbox


@dataclass(frozen=True, slots=True)
class Given:
    """A sandbox with its tokens, for somebody who may have them."""

    sandbox: Sandbox
    access: str = field(repr=False)
    traffic: str | None = field(repr=False)  # of one whose ports are not public


class Tokens:
    def __init__(self, *, store: Store) -> None:
        self._store = store

    async def give(self, principal: Principal, ref: str) -> Given:
        """Raises SandboxNotFound, SandboxDead, Unauthenticated when the key was revoked just now."""
        async with self._store.reading() as reader:
            record = await find_sandbox(reader, principal.team, ref)
        return await self.give_of(principal, record)

    async def give_of(self, principal: Principal, record: Sandbox) -> Given:
        """As `give`, of a record that was read, or made, just now."""
        if record.state not in LIVING:
            raise SandboxDead(record.id, record.reason)
        if not _is_given(record, principal):
            record = await self._note(principal, record)
        return Given(record, record.access_token, record.ingress.token)

    async def _note(self, principal: Principal, record: Sandbox) -> Sandbox:
        """Whoever is given the tokens is written down first. In the same transaction the key is looked at again: one that is
        revoked before this gets nothing, one that is revoked after it loses what it got."""
        async with self._store.transaction() as transaction:
            await check_key(transaction, principal)
            current = await transaction.get(Sandbox, record.id)
            if current is None or current.team != principal.team:
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
