"""API keys: made, shown once, kept as digests; and whom a credential stands for."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TypeVar

import anyio
import anyio.to_thread

from roost.contracts.clock import Clock
from roost.contracts.store import Change, Query, Store
from roost.domain import ids
from roost.domain.errors import Invalid, NotFound, Unauthenticated
from roost.domain.ids import KeyId, TeamId
from roost.domain.team import DEFAULT_TEAM, ApiKey, Principal, key_digest

K = TypeVar("K")
V = TypeVar("V")

MOST_CACHED = 1024
LONGEST_CREDENTIAL = 512


class Keys:
    """Also the `Authenticator`. Known digests are remembered until their key is revoked; unknown ones are looked up each time, so
    that a key works as soon as it is made."""

    def __init__(self, *, store: Store, clock: Clock, random: ids.Random) -> None:
        self._store = store
        self._clock = clock
        self._random = random
        self._known: OrderedDict[str, Principal] = OrderedDict()
        self._by_id: OrderedDict[KeyId, ApiKey] = OrderedDict()
        self._revoked = 0  # how often keys were revoked: what was read before the last time is not remembered
        self._revoking = anyio.Event()  # the next revocation, whosever it is

    async def ensure_first(self, keep: Callable[[str], None]) -> None:
        """Makes a key if there is none at all. Its secret goes to `keep` alone, and before the key counts: one that nobody knows
        would lock everybody out."""
        async with self._store.transaction() as transaction:
            if await transaction.find(ApiKey, Query(limit=1)):
                return
            key, secret = self._new(DEFAULT_TEAM, "first")
            await anyio.to_thread.run_sync(keep, secret)
            await transaction.put(key, expect_revision=None)

    async def create(self, team: TeamId, name: str) -> tuple[ApiKey, str]:
        """A new key and its secret, shown this once."""
        if not 0 < len(name) <= 100:
            raise Invalid("key_name_invalid", "A key's name has 1 to 100 characters.", name=name[:100])
        key, secret = self._new(team, name)
        async with self._store.transaction() as transaction:
            return await transaction.put(key, expect_revision=None), secret

    async def list(self, team: TeamId) -> tuple[ApiKey, ...]:
        async with self._store.reading() as reader:
            return tuple(await reader.find(ApiKey, Query(equal={"team": team})))

    async def get(self, id: KeyId) -> ApiKey:
        """Raises Unauthenticated for one that is revoked, or never was."""
        if known := self._by_id.get(id):
            return known
        before = self._revoked
        async with self._store.reading() as reader:
            key = await reader.get(ApiKey, id)
        if key is None:
            raise Unauthenticated("key_revoked", "The API key behind this session is revoked. Sign in with another.")
        if before == self._revoked:
            _remember(self._by_id, id, key)
        return key

    async def stand_for(self, id: KeyId) -> Principal:
        """The principal of a key that was shown before. Raises Unauthenticated when it is revoked."""
        key = await self.get(id)
        return Principal(key.team, key.id)

    async def revoke(self, team: TeamId, id: str) -> None:
        """From now on it opens nothing. Raises NotFound."""
        async with self._store.transaction() as transaction:
            key = await transaction.get(ApiKey, id)
            if key is None or key.team != team:
                raise NotFound("key_not_found", f"There is no API key {id!r}. `roost keys` lists the ones there are.", key=id)
            await transaction.delete(ApiKey, id)

    def hear(self, changes: Sequence[Change]) -> None:
        """For the feed of changes: a key that is gone, whoever revoked it, opens nothing from now on."""
        for change in changes:
            if change.kind is ApiKey and change.record is None:
                self._forget(KeyId(change.id))

    async def wait_until_revoked(self, id: KeyId) -> None:
        """For what goes on for as long as somebody listens: it has to end with the key that began it."""
        while True:
            next_one = self._revoking  # before looking, so that none is missed
            try:
                await self.get(id)
            except Unauthenticated:
                return
            await next_one.wait()

    async def identify(self, credential: str) -> Principal:
        """Looks keys up by digest: how long that takes says nothing about a secret."""
        digest = key_digest(credential[:LONGEST_CREDENTIAL])
        if principal := self._known.get(digest):
            return principal
        before = self._revoked
        async with self._store.reading() as reader:  # strangers ask too: they must not keep writers waiting
            found = await reader.find(ApiKey, Query(equal={"digest": digest}, limit=1))
        if not found:
            raise Unauthenticated(
                "key_unknown",
                "The API key is not one of this server's. The first one is in the file `key` of its home directory;"
                " `roost env` prints it.",
            )
        principal = Principal(found[0].team, found[0].id)
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

    def _new(self, team: TeamId, name: str) -> tuple[ApiKey, str]:
        secret = ids.new_api_key(self._random)
        key = ApiKey(
            id=ids.new_key_id(self._random),
            team=team,
            name=name,
            digest=key_digest(secret),
            hint=secret[-4:],
            created_at=self._clock.now(),
        )
        return key, secret


def _remember(known: OrderedDict[K, V], key: K, value: V) -> None:
    known[key] = value
    while len(known) > MOST_CACHED:
        known.popitem(last=False)
