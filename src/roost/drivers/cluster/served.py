"""A node of this process, for others to call: the other end of `remote`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

import anyio

from roost.contracts.cluster import Node
from roost.contracts.node_builds import NodeBuilds
from roost.contracts.snapshots import NodeSnapshots
from roost.domain.file import Listing
from roost.domain.ids import SandboxId
from roost.domain.image import ImportedImage
from roost.domain.node import Captured, Departure, NodeReport
from roost.domain.node_builds import UploadFacts
from roost.drivers.cluster import wire
from roost.rpc.server import Service

CHUNK_BYTES = 256 << 10


class GuestListening(Protocol):
    """Where guests ask, and who is asking."""

    @property
    def listens_at(self) -> tuple[str, int]: ...

    def who(self, source: str) -> SandboxId | None: ...


def answer_for(node: Node, snapshots: NodeSnapshots, builds: NodeBuilds, guests: GuestListening | None, *, build: str) -> Service:
    """What the node's process answers."""
    service = Service(build=build)
    service.on_call(wire.CREATE, node.create)
    service.on_call(wire.PAUSE, node.pause)
    service.on_call(wire.RESUME, node.resume)
    service.on_call(wire.SNAPSHOT, node.snapshot)
    service.on_call(wire.KILL, node.kill)
    service.on_call(wire.SET_EGRESS, node.set_egress)
    service.on_call(wire.INFORM, node.inform)
    service.on_call(wire.RUN, node.run)

    async def report(_: None) -> NodeReport:
        return await node.report()

    async def watch(_: None) -> AsyncIterator[Departure]:
        async for departure in node.watch():
            yield departure

    service.on_call(wire.REPORT, report)
    service.on_stream(wire.WATCH, watch)
    _answer_for_snapshots(service, snapshots)
    _answer_for_builds(service, builds)
    if guests is not None:
        _answer_for_guests(service, guests)
    return service


def _answer_for_snapshots(service: Service, snapshots: NodeSnapshots) -> None:
    async def import_disk(asked: wire.ImportDisk) -> Captured:
        return await snapshots.import_disk(asked.snapshot, asked.root, asked.template)

    async def import_image(asked: wire.ImportImage) -> ImportedImage:
        return await snapshots.import_image(asked.snapshot, asked.reference, asked.template)

    async def list_files(asked: wire.ListFiles) -> Listing:
        return await snapshots.list_files(asked.snapshot, asked.path)

    async def read_file(asked: wire.ReadFile) -> AsyncIterator[bytes]:
        content = await snapshots.read_file(asked.snapshot, asked.path, asked.limit_bytes)
        for start in range(0, len(content), CHUNK_BYTES):
            yield content[start : start + CHUNK_BYTES]

    service.on_call(wire.IMPORT_DISK, import_disk)
    service.on_call(wire.RESOLVE_IMAGE, snapshots.resolve_image)
    service.on_call(wire.IMPORT_IMAGE, import_image)
    service.on_call(wire.DELETE_SNAPSHOT, snapshots.delete_snapshot)
    service.on_call(wire.KEEP_WARM, snapshots.keep_warm)
    service.on_call(wire.LIST_FILES, list_files)
    service.on_stream(wire.READ_FILE, read_file)


def _answer_for_builds(service: Service, builds: NodeBuilds) -> None:
    async def prepare(asked: wire.Builder) -> None:
        await builds.prepare(asked.sandbox, asked.incarnation)

    async def settle(asked: wire.Builder) -> None:
        await builds.settle(asked.sandbox, asked.incarnation)

    async def write(asked: wire.BuildWrite) -> None:
        await builds.write(asked.order, asked.name, asked.content)

    async def copy(asked: wire.BuildCopy) -> int:
        return await builds.copy(asked.order, asked.upload, asked.selection)

    async def transfer(asked: wire.BuildTransfer) -> int:
        return await builds.transfer(asked.order, asked.source, asked.selection)

    async def digest_files(asked: wire.UploadedFiles) -> str:
        return await builds.digest_files(asked.upload, asked.selection)

    async def append(piece: bytes) -> None:
        await builds.append_upload(*wire.unpack_piece(piece))

    async def finish(asked: wire.UploadEnd) -> UploadFacts | None:
        return await builds.finish_upload(asked.session, asked.digest)

    service.on_call(wire.BUILD_PREPARE, prepare)
    service.on_stream(wire.BUILD_RUN, builds.run)
    service.on_call(wire.BUILD_SETTLE, settle)
    service.on_call(wire.BUILD_WRITE, write)
    service.on_call(wire.BUILD_COPY, copy)
    service.on_call(wire.BUILD_TRANSFER, transfer)
    service.on_call(wire.DIGEST_FILES, digest_files)
    service.on_call(wire.APPEND_UPLOAD, append)
    service.on_call(wire.FINISH_UPLOAD, finish)
    service.on_call(wire.DELETE_UPLOAD, builds.delete_upload)


def _answer_for_guests(service: Service, guests: GuestListening) -> None:
    async def who(source: str) -> SandboxId | None:
        return guests.who(source)

    async def addresses(_: None) -> AsyncIterator[tuple[str, int]]:
        yield guests.listens_at
        await anyio.sleep_forever()

    service.on_call(wire.WHO, who)
    service.on_stream(wire.GUESTS_ADDRESS, addresses)
