"""A node in another process: `Node`, `NodeSnapshots` and `NodeBuilds` of `contracts`, each method a call."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence

from roost.contracts.snapshots import WarmTarget
from roost.domain.file import Listing
from roost.domain.ids import SandboxId, SnapshotId
from roost.domain.image import ImportedImage
from roost.domain.node import (
    Captured,
    CaptureOrder,
    CreateOrder,
    Departure,
    EgressOrder,
    InformOrder,
    KillOrder,
    NodeReport,
    Placed,
    Ran,
    ResumeOrder,
    RunOrder,
)
from roost.domain.node_builds import CommandOrder, Exited, FileOrder, Output, Selection, UploadFacts
from roost.drivers.cluster import wire
from roost.rpc.client import Client


class RemoteNode:
    """Orders wait for a node whose process is being started again, and are given to it again. Raises, beside what the contract
    says, PeerLost: for a command that ran meanwhile, and when the process does not come back or ends again and again."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def create(self, order: CreateOrder) -> Placed:
        return await self._client.call(wire.CREATE, order)

    async def pause(self, order: CaptureOrder) -> Captured:
        return await self._client.call(wire.PAUSE, order)

    async def resume(self, order: ResumeOrder) -> Placed:
        return await self._client.call(wire.RESUME, order)

    async def snapshot(self, order: CaptureOrder) -> Captured:
        return await self._client.call(wire.SNAPSHOT, order)

    async def kill(self, order: KillOrder) -> Captured | None:
        return await self._client.call(wire.KILL, order)

    async def set_egress(self, order: EgressOrder) -> None:
        await self._client.call(wire.SET_EGRESS, order)

    async def inform(self, order: InformOrder) -> bool:
        return await self._client.call(wire.INFORM, order)

    async def run(self, order: RunOrder) -> Ran:
        return await self._client.call(wire.RUN, order)

    async def report(self) -> NodeReport:
        return await self._client.call(wire.REPORT, None)

    def watch(self) -> AsyncIterator[Departure]:
        return self._client.stream(wire.WATCH, None)


class RemoteSnapshots:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def import_disk(self, snapshot: SnapshotId, root: str, template: str) -> Captured:
        return await self._client.call(wire.IMPORT_DISK, wire.ImportDisk(snapshot, root, template))

    async def resolve_image(self, reference: str) -> str:
        return await self._client.call(wire.RESOLVE_IMAGE, reference)

    async def import_image(self, snapshot: SnapshotId, reference: str, template: str) -> ImportedImage:
        return await self._client.call(wire.IMPORT_IMAGE, wire.ImportImage(snapshot, reference, template))

    async def delete_snapshot(self, snapshot: SnapshotId) -> None:
        await self._client.call(wire.DELETE_SNAPSHOT, snapshot)

    async def keep_warm(self, wanted: Sequence[WarmTarget]) -> None:
        await self._client.call(wire.KEEP_WARM, tuple(wanted))

    async def list_files(self, snapshot: SnapshotId, path: str) -> Listing:
        return await self._client.call(wire.LIST_FILES, wire.ListFiles(snapshot, path))

    async def read_file(self, snapshot: SnapshotId, path: str, limit_bytes: int) -> bytes:
        question = wire.ReadFile(snapshot, path, limit_bytes)
        return b"".join([chunk async for chunk in self._client.stream(wire.READ_FILE, question)])


class RemoteBuilds:
    """None of these is given again when the node's process ends: whoever builds begins the step anew."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def prepare(self, sandbox: SandboxId, incarnation: int) -> None:
        await self._client.call(wire.BUILD_PREPARE, wire.Builder(sandbox, incarnation))

    def run(self, order: CommandOrder) -> AsyncIterator[Output | Exited]:
        return self._client.stream(wire.BUILD_RUN, order)

    async def settle(self, sandbox: SandboxId, incarnation: int) -> None:
        await self._client.call(wire.BUILD_SETTLE, wire.Builder(sandbox, incarnation))

    async def write(self, order: FileOrder, name: str, content: str | None) -> None:
        await self._client.call(wire.BUILD_WRITE, wire.BuildWrite(order, name, content))

    async def copy(self, order: FileOrder, upload: str, selection: Selection) -> int:
        return await self._client.call(wire.BUILD_COPY, wire.BuildCopy(order, upload, selection))

    async def transfer(self, order: FileOrder, source: SandboxId, selection: Selection) -> int:
        return await self._client.call(wire.BUILD_TRANSFER, wire.BuildTransfer(order, source, selection))

    async def digest_files(self, upload: str, selection: Selection) -> str:
        return await self._client.call(wire.DIGEST_FILES, wire.UploadedFiles(upload, selection))

    async def append_upload(self, session: str, offset: int, content: bytes) -> None:
        await self._client.call(wire.APPEND_UPLOAD, wire.pack_piece(session, offset, content))

    async def finish_upload(self, session: str, digest: str | None) -> UploadFacts | None:
        return await self._client.call(wire.FINISH_UPLOAD, wire.UploadEnd(session, digest))

    async def delete_upload(self, digest: str) -> None:
        await self._client.call(wire.DELETE_UPLOAD, digest)


class RemoteGuestListener:
    """Which guest is asking, which the node knows by its slots."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def who(self, source: str) -> SandboxId | None:
        """Asked only of a process that is there now. Were it waited for, a slot could have another tenant by then, who would be
        taken for the one that asked: a node lets a slot rest between two tenants, but the next process knows of no rest. Raises
        PeerLost."""
        return await self._client.call(wire.WHO, source, waits=False)

    def addresses(self) -> AsyncGenerator[tuple[str, int], None]:
        """Where guests ask, once. Raises PeerLost when the node's process ends: ask again."""
        return self._client.stream(wire.GUESTS_ADDRESS, None)
