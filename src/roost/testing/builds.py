"""Builders of a node in memory: commands answer what they were told to, and what was done to a disk is written on it."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import AsyncGenerator

import anyio.lowlevel

from roost.domain.build_failures import NothingToCopy, StepFailed, UploadBroken, UploadDiffers, UploadNotFound
from roost.domain.errors import Conflict, SandboxLost
from roost.domain.ids import SandboxId
from roost.domain.node_builds import CommandOrder, Exited, FileOrder, Output, Selection, UploadFacts
from roost.testing.node import FakeGuest, FakeNode


class FakeBuilds:
    """A command is known by its last word: `answers` say what it prints and how it ends, once each; else it succeeds. All that is
    done is a line on the guest's disk, so that layers differ as real ones do. Gates of the node stand before every command
    (`build_run`) and every copy (`build_copy`)."""

    def __init__(self, node: FakeNode) -> None:
        self._node = node
        self._partial: dict[str, bytes] = {}
        self.uploads: dict[str, bytes] = {}
        self.answers: dict[str, list[tuple[int, str]]] = {}
        self.ran: list[CommandOrder] = []

    async def prepare(self, sandbox: SandboxId, incarnation: int) -> None:
        await anyio.lowlevel.checkpoint()
        self._guest(sandbox, incarnation)

    async def settle(self, sandbox: SandboxId, incarnation: int) -> None:
        await anyio.lowlevel.checkpoint()
        self._guest(sandbox, incarnation)

    async def run(self, order: CommandOrder) -> AsyncGenerator[Output | Exited, None]:
        await anyio.lowlevel.checkpoint()
        guest = self._guest(order.sandbox, order.incarnation)
        await self._node.come_to("build_run", order.sandbox)
        self.ran.append(order)
        scripted = self.answers.get(order.words[-1])
        code, text = scripted.pop(0) if scripted else (0, "")
        if text:
            yield Output(text, "stdout")
        guest.disk += f"\nran {' '.join(order.words)}"
        yield Exited(code)

    async def write(self, order: FileOrder, name: str, content: str | None) -> None:
        await anyio.lowlevel.checkpoint()
        self._guest(order.sandbox, order.incarnation).disk += f"\nwrote {order.target}"

    async def copy(self, order: FileOrder, upload: str, selection: Selection) -> int:
        await anyio.lowlevel.checkpoint()
        await self._node.come_to("build_copy", order.sandbox)
        guest, found = self._guest(order.sandbox, order.incarnation), self._select(upload, selection)
        guest.disk += f"\ncopied {', '.join(found)} to {order.target}"
        return len(found)

    async def transfer(self, order: FileOrder, source: SandboxId, selection: Selection) -> int:
        await anyio.lowlevel.checkpoint()
        taken_from = self._guest(source, 1)
        if "missing" in selection.sources:
            raise StepFailed("there is no 'missing'")
        self._guest(order.sandbox, order.incarnation).disk += f"\ntook {selection.sources} of {taken_from.disk!r}"
        return 1

    async def digest_files(self, upload: str, selection: Selection) -> str:
        await anyio.lowlevel.checkpoint()
        return hashlib.sha256(repr(sorted(self._select(upload, selection).items())).encode()).hexdigest()

    async def append_upload(self, session: str, offset: int, content: bytes) -> None:
        await anyio.lowlevel.checkpoint()
        held = self._partial.get(session, b"") if offset else b""
        if len(held) != offset:
            raise Conflict("upload_disordered", "Pieces are missing.")
        self._partial[session] = held + content

    async def finish_upload(self, session: str, digest: str | None) -> UploadFacts | None:
        await anyio.lowlevel.checkpoint()
        content = self._partial.pop(session, b"")
        if digest is None:
            return None
        found = hashlib.sha256(content).hexdigest()
        if found != digest:
            raise UploadDiffers(digest, found)
        try:
            _files(content)
        except tarfile.TarError as error:
            raise UploadBroken(str(error)) from error
        self.uploads[digest] = content
        return UploadFacts(digest, len(content), 0.0)

    async def delete_upload(self, digest: str) -> None:
        await anyio.lowlevel.checkpoint()
        self.uploads.pop(digest, None)

    def _select(self, upload: str, selection: Selection) -> dict[str, bytes]:
        if upload not in self.uploads:
            raise UploadNotFound(upload)
        files, found = _files(self.uploads[upload]), dict[str, bytes]()
        for source in selection.sources:
            below = {name: content for name, content in files.items() if not source or f"{name}/".startswith(f"{source}/")}
            if not below:
                raise NothingToCopy(source)
            found |= below
        return found

    def _guest(self, sandbox: SandboxId, incarnation: int) -> FakeGuest:
        guest = self._node.guests.get(sandbox)
        if guest is None or not guest.alive or guest.incarnation != incarnation:
            raise SandboxLost(sandbox, "this node does not run it")
        return guest


def _files(content: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        found = {member.name: archive.extractfile(member) for member in archive if member.isreg()}
    return {name: file.read() for name, file in found.items() if file is not None}
