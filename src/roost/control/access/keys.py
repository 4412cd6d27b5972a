"""API keys: made, shown once, kept as digests; and whom a credential stands for."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import anyio
import anyio.to_thread

from roost.contracts.clock import Clock
from roost.contracts.store import Change, Query, Reader, Store, Transaction
from roost.control.access.revocations import Revocations
from roost.control.sandboxes.references import check_key, find_sandbox
from roost.domain import ids
from roost.domain.access import FULL, OPERATOR, Access, Principal, Role, Scope, Thing, Verb, Via, allow, forbidden, require
from roost.domain.errors import Conflict, Invalid, NotFound, Unauthenticated
from roost.domain.ids import KeyId, TeamId
from roost.domain.team import DEFAULT_TEAM, ApiKey, key_digest

K = TypeVar("K")
V = TypeVar("V")

MOST_CACHED = 1024
LONGEST_CREDENTIAL = 512


class Keys:
    """Known digests are remembered until their key is revoked; unknown ones are looked up each time, so that a key works as soon
    as it is made."""

    def __init__(self, *, store: Store, clock: Clock, random: ids.Random, revocations: Revocations) -> None:
        self._store = store
        self._revocations = revocations
        self._clock = clock
        self._random = random
        self._known: OrderedDict[str, Principal] = OrderedDict()
        self._by_id: OrderedDict[KeyId, ApiKey] = OrderedDict()
        self._revoked = 0  # how often keys were revoked: what was read before the last time is not remembered
        self._revoking = anyio.Event()  # the next revocation, whosever it is

    async def ensure_operator(self, own: str | None, keep: Callable[[str], None]) -> None:
        """There is a key for whoever runs the machine. `own` is the secret that was kept for them: its key becomes the operator's
        if there is none yet. Without such a key one is made; its secret goes to `keep` alone, and before the key counts: one that
        nobody knows would lock everybody out."""
        async with self._store.transaction() as transaction:
            keys = await _find(transaction, Query())
            if any(key.scope.role is Role.OPERATOR for key in keys):
                return
            digest = key_digest(own) if own is not None else None
            for key in keys:
                if key.digest == digest:
                    await transaction.put(replace(key, scope=OPERATOR), expect_revision=key.revision)
                    return
            key, secret = self._new(DEFAULT_TEAM, "first", OPERATOR)
            await anyio.to_thread.run_sync(keep, secret)
            await transaction.put(key, expect_revision=None)

    async def create(self, principal: Principal, name: str, scope: Scope = FULL) -> tuple[ApiKey, str]:
        """A new key and its secret, shown this once. Raises Invalid, Forbidden, SandboxNotFound."""
        if not 0 < len(name) <= 100:
            raise Invalid("key_name_invalid", "A key's name has 1 to 100 characters.", name=name[:100])
        _check(principal, scope)
        key, secret = self._new(principal.team, name, scope)
        async with self._store.transaction() as transaction:
            await check_key(transaction, principal)
            if scope.sandbox is not None:
                await find_sandbox(transaction, principal, scope.sandbox, Verb.GRANT)
            return await transaction.put(key, expect_revision=None), secret

    async def list(self, principal: Principal) -> tuple[ApiKey, ...]:
        """Raises Forbidden."""
        _check(principal)
        async with self._store.reading() as reader:
            return tuple(await _find(reader, Query(equal={"team": principal.team})))

    async def get(self, id: KeyId) -> ApiKey:
        """Raises Unauthenticated for one that is revoked, or never was."""
        if known := self._by_id.get(id):
            return known
        before = self._revoked
        async with self._store.reading() as reader:
            key = await reader.get(ApiKey, id)
        if key is None or key.revoked_at is not None:
            raise Unauthenticated("key_revoked", "The API key behind this session is revoked. Sign in with another.")
        if before == self._revoked:
            _remember(self._by_id, id, key)
        return key

    async def stand_for(self, id: KeyId) -> Principal:
        """The principal of a key that was shown before. Raises Unauthenticated when it is revoked."""
        return _principal(await self.get(id), Via.SESSION)

    async def revoke(self, principal: Principal, id: str) -> None:
        """From now on it opens nothing. Links that were made with it have ended, and tokens that it was given were changed; if
        the server dies before, the next one goes on. Raises NotFound, Forbidden, Conflict for the last key of an operator."""
        _check(principal)
        async with self._store.transaction() as transaction:
            key = await transaction.get(ApiKey, id)
            if key is None or key.revoked_at is not None:
                raise _unknown(id)
            require(principal, Verb.GRANT, Thing(key.team, scope=key.scope), _unknown(id))
            if key.scope.role is Role.OPERATOR:
                await _check_not_last(transaction, key)
            key = await transaction.put(replace(key, revoked_at=self._clock.now()), expect_revision=key.revision)
        await self._revocations.finish(key)

    def hear(self, changes: Sequence[Change]) -> None:
        """For the feed of changes: a key that is gone, whoever revoked it, opens nothing from now on."""
        for change in changes:
            is_gone = change.record is None or (isinstance(change.record, ApiKey) and change.record.revoked_at is not None)
            if change.kind is ApiKey and is_gone:
                self._forget(KeyId(change.id))

    async def wait_until_revoked(self, principal: Principal) -> None:
        """For what goes on for as long as somebody listens: it has to end with the key that began it."""
        while principal.key is not None:
            next_one = self._revoking  # before looking, so that none is missed
            try:
                await self.get(principal.key)
            except Unauthenticated:
                return
            await next_one.wait()
        await anyio.sleep_forever()

    async def identify(self, credential: str) -> Principal:
        """Looks keys up by digest: how long that takes says nothing about a secret."""
        digest = key_digest(credential[:LONGEST_CREDENTIAL])
        if principal := self._known.get(digest):
            return principal
        before = self._revoked
        async with self._store.reading() as reader:  # strangers ask too: they must not keep writers waiting
            found = await _find(reader, Query(equal={"digest": digest}, limit=1))
        if not found:
            raise Unauthenticated(
                "key_unknown",
                "The API key is not one of this server's. The first one is in the file `key` of its home directory;"
                " `roost env` prints it.",
            )
        principal = _principal(found[0], Via.KEY)
        if before == self._revoked:
            _remember(self._known, digest, principal)
        return principal

    def _forget(self, id: KeyId) -> None:
        """Whoever read it before this does not remember it any more."""
        self._revoked += 1
        self._by_id.pop(id, None)
        for digest in [digest for digest, principal in self._known.items() if principal.key == id]:
            del self._known[digest]
        self._revoking.set()
        self._revoking = anyio.Event()

    def _new(self, team: TeamId, name: str, scope: Scope) -> tuple[ApiKey, str]:
        secret = ids.new_api_key(self._random)
        key = ApiKey(
            id=ids.new_key_id(self._random),
            team=team,
            name=name,
            digest=key_digest(secret),
            hint=secret[-4:],
            created_at=self._clock.now(),
            scope=scope,
        )
        return key, secret


async def _find(reader: Reader, query: Query) -> list[ApiKey]:
    """Those that are not revoked."""
    return [key for key in await reader.find(ApiKey, query) if key.revoked_at is None]


def _principal(key: ApiKey, via: Via) -> Principal:
    return Principal(key.team, key.scope, key.id, key.name, via)


def _unknown(id: str) -> NotFound:
    return NotFound("key_not_found", f"There is no API key {id!r}. `roost keys` lists the ones there are.", key=id)


def _check(principal: Principal, scope: Scope | None = None) -> None:
    """Whether keys, or one of this scope, are theirs to give. Raises Forbidden."""
    if allow(principal, Verb.GRANT, Thing(principal.team, scope=scope)) is not Access.ALLOWED:
        raise forbidden(principal, Verb.OPERATE if scope == OPERATOR else Verb.GRANT)


async def _check_not_last(transaction: Transaction, key: ApiKey) -> None:
    others = [each for each in await _find(transaction, Query()) if each.id != key.id]
    if not any(each.scope.role is Role.OPERATOR for each in others):
        raise Conflict(
            "last_operator_key",
            f"{key.name!r} is the last key of an operator: without it nobody could run this machine's Roost."
            " Make another first: `roost keys create NAME --scope operator`.",
            key=key.id,
        )


def _remember(known: OrderedDict[K, V], key: K, value: V) -> None:
    known[key] = value
    while len(known) > MOST_CACHED:
        known.popitem(last=False)
