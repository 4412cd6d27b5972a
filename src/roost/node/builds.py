"""Builders on this node: `contracts.node_builds.NodeBuilds`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, contextmanager
from typing import TypeVar

import anyio
from anyio import to_thread

from roost.contracts.guest_builds import BuildGuest
from roost.domain.errors import GuestUnreachable, SandboxLost
from roost.domain.ids import SandboxId
from roost.domain.node_builds import CacheDirectory, CommandOrder, Exited, FileOrder, Output, Selection, UploadFacts
from roost.node.holdings import Holdings
from roost.node.storage import uploads as archives
from roost.node.storage.caches import Caches
from roost.node.storage.uploads import Uploads

T = TypeVar("T")

_SCRATCH = "/.roost-caches"  # inside a builder, while a command runs


class BuildService:
    def __init__(self, *, holdings: Holdings, guest: BuildGuest, uploads: Uploads, caches: Caches) -> None:
        self._holdings = holdings
        self._guest = guest
        self._uploads = uploads
        self._caches = caches

    async def prepare(self, sandbox: SandboxId, incarnation: int) -> None:
        with _told_of(sandbox):
            await self._guest.prepare(self._address(sandbox, incarnation))

    async def settle(self, sandbox: SandboxId, incarnation: int) -> None:
        with _told_of(sandbox):
            await self._guest.settle(self._address(sandbox, incarnation))

    async def run(self, order: CommandOrder) -> AsyncGenerator[Output | Exited, None]:
        address = self._address(order.sandbox, order.incarnation)
        with _told_of(order.sandbox):
            try:
                for file in order.files:
                    place = FileOrder(order.sandbox, order.incarnation, file.path, file.owner, file.mode)
                    await self._unpack_single(address, place, file.path.rpartition("/")[2], file.content.encode())
                for cache in order.caches:
                    await self._put_cache(address, order, cache)
                async with aclosing(_as_generator(self._guest.run(address, order))) as events:
                    async for event in events:
                        if isinstance(event, Exited):  # nobody is told of the end before the caches are kept
                            await self._keep_caches(address, order)
                        yield event
            finally:
                with anyio.CancelScope(shield=True):
                    for file in order.files:
                        await self._guest.remove(address, file.path)

    async def _put_cache(self, address: str, order: CommandOrder, cache: CacheDirectory) -> None:
        """What it held last lies over its path."""
        scratch = _scratch(cache)
        if (kept := await to_thread.run_sync(self._caches.read, cache.name)) is not None:
            place = FileOrder(order.sandbox, order.incarnation, f"{scratch}/")
            await self._guest.unpack(address, place, _in_thread(kept), keeps_owner=True, unpacks=False)
        await self._guest.cover(address, cache, scratch)

    async def _keep_caches(self, address: str, order: CommandOrder) -> None:
        if order.caches:
            await self._guest.settle(address)  # nothing writes to it any more
        for cache in reversed(order.caches):
            await self._guest.uncover(address, cache.path)
            async with aclosing(_as_generator(self._guest.pack(address, Selection((_scratch(cache),))))) as pieces:
                await self._caches.write(cache.name, pieces)
            await self._guest.remove(address, _SCRATCH)

    async def write(self, order: FileOrder, name: str, content: str | None) -> None:
        with _told_of(order.sandbox):
            address = self._address(order.sandbox, order.incarnation)
            await self._unpack_single(address, order, "." if content is None else name, _encoded(content))

    async def copy(self, order: FileOrder, upload: str, selection: Selection) -> int:
        archive, selected, members = await to_thread.run_sync(self._uploads.select, upload, selection)
        pieces = archives.packed(archive, selected, members)
        with _told_of(order.sandbox):
            address = self._address(order.sandbox, order.incarnation)
            return await self._guest.unpack(address, order, _in_thread(pieces), keeps_owner=False, unpacks=selection.unpacks)

    async def transfer(self, order: FileOrder, source: SandboxId, selection: Selection) -> int:
        taken_from = self._address(source, 1)
        with _told_of(order.sandbox):
            address = self._address(order.sandbox, order.incarnation)
            async with aclosing(_as_generator(self._guest.pack(taken_from, selection))) as pieces:
                return await self._guest.unpack(address, order, pieces, keeps_owner=True, unpacks=selection.unpacks)

    async def digest_files(self, upload: str, selection: Selection) -> str:
        return await to_thread.run_sync(self._uploads.digest_files, upload, selection)

    async def append_upload(self, session: str, offset: int, content: bytes) -> None:
        await to_thread.run_sync(self._uploads.append, session, offset, content)

    async def finish_upload(self, session: str, digest: str | None) -> UploadFacts | None:
        if digest is None:
            await to_thread.run_sync(self._uploads.give_up, session)
            return None
        return await to_thread.run_sync(self._uploads.finish, session, digest)

    async def delete_upload(self, digest: str) -> None:
        await to_thread.run_sync(self._uploads.delete, digest)

    async def _unpack_single(self, address: str, order: FileOrder, name: str, content: bytes | None) -> None:
        async def pieces() -> AsyncIterator[bytes]:
            yield archives.single(name, content)

        await self._guest.unpack(address, order, pieces(), keeps_owner=False, unpacks=False)

    def _address(self, sandbox: SandboxId, incarnation: int) -> str:
        held = self._holdings.get(sandbox)
        if held is None or not held.alive or held.container.journal.incarnation != incarnation or held.container.slot is None:
            raise SandboxLost(sandbox, "this node does not run it")
        return held.container.slot.address


def _scratch(cache: CacheDirectory) -> str:
    return f"{_SCRATCH}/{cache.name}"


def _encoded(content: str | None) -> bytes | None:
    return None if content is None else content.encode("utf-8", "surrogateescape")


async def _as_generator(items: AsyncIterator[T]) -> AsyncGenerator[T, None]:
    try:
        async for item in items:
            yield item
    finally:
        if isinstance(items, AsyncGenerator):
            await items.aclose()


async def _in_thread(pieces: Iterator[bytes]) -> AsyncGenerator[bytes, None]:
    while (piece := await to_thread.run_sync(next, pieces, None)) is not None:
        yield piece


@contextmanager
def _told_of(sandbox: SandboxId) -> Iterator[None]:
    """The agent's driver knows addresses; whoever gave the order knows the sandbox."""
    try:
        yield
    except GuestUnreachable as error:
        raise GuestUnreachable(sandbox, str(error.facts["detail"])) from error
