"""Files that come for builds. Each is a team's own: knowing the digest of somebody else's does not give it to you."""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator, Iterable
from dataclasses import replace

import anyio

from roost.contracts.clock import Clock
from roost.contracts.cluster import Cluster
from roost.contracts.store import Query, Store, Transaction
from roost.control.fleet.nodes import Nodes
from roost.domain import ids
from roost.domain.access import Principal, Thing, Verb, forbidden, require
from roost.domain.build_failures import UploadNotFound, UploadTooLarge
from roost.domain.builds import UNFINISHED, Build, BuildPlan, Upload, upload_id, uploads_of
from roost.domain.errors import Invalid
from roost.domain.ids import TeamId

UPLOAD_LIMIT_BYTES = 1 << 30
KEPT_S = 3600.0  # after it came, or was last asked for by a build
PIECE_BYTES = 1 << 20
_DIGEST = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"(?:named:)?[0-9a-f]{64}")


class BuildUploads:
    def __init__(
        self,
        *,
        store: Store,
        cluster: Cluster,
        clock: Clock,
        random: ids.Random,
        nodes: Nodes,
        limit_bytes: int = UPLOAD_LIMIT_BYTES,
    ) -> None:
        self._store = store
        self._cluster = cluster
        self._clock = clock
        self._random = random
        self._nodes = nodes
        self._limit_bytes = limit_bytes

    async def find(self, principal: Principal, digest: str) -> Upload:
        """It is there, and stays for a while. Raises UploadNotFound, Forbidden."""
        require(principal, Verb.MAKE, Thing(principal.team), forbidden(principal, Verb.MAKE))
        async with self._store.transaction() as transaction:
            return await self._use(transaction, principal.team, digest)

    async def find_named(self, principal: Principal, name: str) -> Upload:
        """As `find`, for what was put under a name of the caller's own."""
        return await self.find(principal, _named(name))

    async def put(self, principal: Principal, digest: str, content: AsyncIterator[bytes], length: int | None = None) -> Upload:
        """Raises Invalid, UploadTooLarge, UploadDiffers, UploadBroken, Forbidden, NodeFull; then nothing of it is left."""
        if not _DIGEST.fullmatch(digest):
            raise Invalid("digest_invalid", f"{digest[:80]!r} is no digest: 64 hexadecimal digits, the SHA-256 of what is sent.")
        return await self._put(principal, digest, content, length, digest)

    async def put_named(
        self, principal: Principal, name: str, content: AsyncIterator[bytes], length: int | None = None
    ) -> Upload:
        """Whoever sends it has another name for it than its digest, which is found out here. What was there under that name
        before is forgotten. Raises as `put`."""
        return await self._put(principal, None, content, length, _named(name))

    async def _put(
        self, principal: Principal, digest: str | None, content: AsyncIterator[bytes], length: int | None, name: str
    ) -> Upload:
        """With None the digest is whatever it turns out to be."""
        require(principal, Verb.MAKE, Thing(principal.team), forbidden(principal, Verb.MAKE))
        if length is not None and length > self._limit_bytes:
            raise UploadTooLarge(self._limit_bytes)
        node = (await self._nodes.last_seen())[0].node
        builds, session = self._cluster.builds(node), ids.new_token(self._random)[:32]
        is_done, found = False, hashlib.sha256()
        try:
            offset = 0
            async for piece in _regular(content):
                found.update(piece)
                await builds.append_upload(session, offset, piece)
                offset += len(piece)
                if offset > self._limit_bytes:
                    raise UploadTooLarge(self._limit_bytes)
            if not offset:
                await builds.append_upload(session, 0, b"")
            facts = await builds.finish_upload(session, digest or found.hexdigest())
            assert facts is not None
            is_done = True
        finally:
            if not is_done:
                with anyio.CancelScope(shield=True):
                    await builds.finish_upload(session, None)
        now = self._clock.now()
        async with self._store.transaction() as transaction:
            first = None
            for id in dict.fromkeys((upload_id(principal.team, found.hexdigest()), upload_id(principal.team, name))):
                known = await transaction.get(Upload, id)
                upload = Upload(id, principal.team, node, found.hexdigest(), facts.size_bytes, now, now)
                first = await transaction.put(upload, expect_revision=known.revision if known else None)
            assert first is not None
            return first

    async def claim(self, transaction: Transaction, team: TeamId, digests: Iterable[str]) -> None:
        """A build needs them. Raises UploadNotFound."""
        for digest in digests:
            await self._use(transaction, team, digest)

    async def collect(self) -> None:
        """Those that no build needs are gone, but for fresh ones."""
        before = self._clock.now() - KEPT_S
        states = sorted(state.value for state in UNFINISHED)
        async with self._store.reading() as reader:
            uploads = await reader.find(Upload, Query())
            running = await reader.find(Build, Query(one_of={"state": states}))
            plans = [await reader.get(BuildPlan, build.id) for build in running]
        needed = {upload_id(plan.team, digest) for plan in plans if plan for digest in uploads_of(plan.definition)}
        for upload in uploads:
            if upload.used_at < before and upload.id not in needed:
                await self._drop(upload)

    async def _drop(self, upload: Upload) -> None:
        """Its content goes with the last record of it."""
        async with self._store.transaction() as transaction:
            await transaction.delete(Upload, upload.id)
            is_last = not await transaction.find(Upload, Query(equal={"digest": upload.digest}, limit=1))
        if is_last:
            await self._cluster.builds(upload.node).delete_upload(upload.digest)

    async def _use(self, transaction: Transaction, team: TeamId, digest: str) -> Upload:
        known = await transaction.get(Upload, upload_id(team, digest)) if _NAME.fullmatch(digest) else None
        if known is None:
            raise UploadNotFound(digest)
        return await transaction.put(replace(known, used_at=self._clock.now()), expect_revision=known.revision)


def _named(name: str) -> str:
    """Apart from digests: what is called so need not be it. Raises Invalid."""
    if not _DIGEST.fullmatch(name):
        raise Invalid("digest_invalid", f"{name[:80]!r} is no hash of files: 64 hexadecimal digits.")
    return f"named:{name}"


async def _regular(content: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """In pieces of one size, whatever they come in."""
    held = bytearray()
    async for piece in content:
        held += piece
        while len(held) >= PIECE_BYTES:
            yield bytes(held[:PIECE_BYTES])
            del held[:PIECE_BYTES]
    if held:
        yield bytes(held)
