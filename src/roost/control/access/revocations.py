"""What a revoked key leaves behind is taken back: links that were made with it end, and tokens that it was given are changed.

That a key is revoked is committed first; it opens nothing from then on. Its record stays until all of it is taken back, so that a
server that dies in between is followed by one that goes on.
"""

from __future__ import annotations

from roost.contracts.store import Query, Store
from roost.control.access.tokens import Tokens
from roost.control.people.links import Links
from roost.domain.team import ApiKey


class Revocations:
    def __init__(self, *, store: Store, links: Links, tokens: Tokens) -> None:
        self._store = store
        self._links = links
        self._tokens = tokens

    async def finish(self, key: ApiKey) -> None:
        """May be repeated, also by two at once."""
        await self._links.end_of(key)
        await self._tokens.take_back(key)
        async with self._store.transaction() as transaction:
            await transaction.delete(ApiKey, key.id)

    async def finish_all(self) -> None:
        """Those that somebody began and could not end."""
        async with self._store.reading() as reader:
            keys = await reader.find(ApiKey, Query())
        for key in keys:
            if key.revoked_at is not None:
                await self.finish(key)
