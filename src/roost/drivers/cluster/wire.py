"""What a node is asked by another process (`rpc`): the methods of `Node`, `NodeSnapshots` and `NodeBuilds`, and which
guest is asking.

Orders are idempotent, so they are repeated when the node's process ends in the middle of one. A command that runs inside is not.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

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
from roost.rpc.method import Method


@dataclass(frozen=True, slots=True)
class ImportDisk:
    snapshot: SnapshotId
    root: str
    template: str


@dataclass(frozen=True, slots=True)
class ImportImage:
    snapshot: SnapshotId
    reference: str
    template: str


@dataclass(frozen=True, slots=True)
class ListFiles:
    snapshot: SnapshotId
    path: str


@dataclass(frozen=True, slots=True)
class ReadFile:
    snapshot: SnapshotId
    path: str
    limit_bytes: int


@dataclass(frozen=True, slots=True)
class Builder:
    sandbox: SandboxId
    incarnation: int


@dataclass(frozen=True, slots=True)
class BuildWrite:
    order: FileOrder
    name: str
    content: str | None


@dataclass(frozen=True, slots=True)
class BuildCopy:
    order: FileOrder
    upload: str
    selection: Selection


@dataclass(frozen=True, slots=True)
class BuildTransfer:
    order: FileOrder
    source: SandboxId
    selection: Selection


@dataclass(frozen=True, slots=True)
class UploadedFiles:
    upload: str
    selection: Selection


@dataclass(frozen=True, slots=True)
class UploadEnd:
    session: str
    digest: str | None


CREATE: Method[CreateOrder, Placed] = Method("create", CreateOrder, Placed, repeatable=True)
PAUSE: Method[CaptureOrder, Captured] = Method("pause", CaptureOrder, Captured, repeatable=True)
RESUME: Method[ResumeOrder, Placed] = Method("resume", ResumeOrder, Placed, repeatable=True)
SNAPSHOT: Method[CaptureOrder, Captured] = Method("snapshot", CaptureOrder, Captured, repeatable=True)
KILL: Method[KillOrder, Captured | None] = Method("kill", KillOrder, Captured | None, repeatable=True)
SET_EGRESS: Method[EgressOrder, None] = Method("set_egress", EgressOrder, None, repeatable=True)
INFORM: Method[InformOrder, bool] = Method("inform", InformOrder, bool, repeatable=True)
RUN: Method[RunOrder, Ran] = Method("run", RunOrder, Ran)
REPORT: Method[None, NodeReport] = Method("report", None, NodeReport, repeatable=True)
WATCH: Method[None, Departure] = Method("watch", None, Departure)

IMPORT_DISK: Method[ImportDisk, Captured] = Method("import_disk", ImportDisk, Captured, repeatable=True)
RESOLVE_IMAGE: Method[str, str] = Method("resolve_image", str, str, repeatable=True)
IMPORT_IMAGE: Method[ImportImage, ImportedImage] = Method("import_image", ImportImage, ImportedImage, repeatable=True)
DELETE_SNAPSHOT: Method[SnapshotId, None] = Method("delete_snapshot", str, None, repeatable=True)
KEEP_WARM: Method[tuple[WarmTarget, ...], None] = Method("keep_warm", tuple[WarmTarget, ...], None, repeatable=True)
LIST_FILES: Method[ListFiles, Listing] = Method("list_files", ListFiles, Listing, repeatable=True)
READ_FILE: Method[ReadFile, bytes] = Method("read_file", ReadFile, bytes)
"""A stream: files may be larger than an answer."""

BUILD_PREPARE: Method[Builder, None] = Method("build_prepare", Builder, None)
BUILD_RUN: Method[CommandOrder, Output | Exited] = Method("build_run", CommandOrder, Output | Exited)
"""A stream: what the command says, and last how it ended."""
BUILD_SETTLE: Method[Builder, None] = Method("build_settle", Builder, None)
BUILD_WRITE: Method[BuildWrite, None] = Method("build_write", BuildWrite, None)
BUILD_COPY: Method[BuildCopy, int] = Method("build_copy", BuildCopy, int)
BUILD_TRANSFER: Method[BuildTransfer, int] = Method("build_transfer", BuildTransfer, int)
DIGEST_FILES: Method[UploadedFiles, str] = Method("digest_files", UploadedFiles, str, repeatable=True)
APPEND_UPLOAD: Method[bytes, None] = Method("append_upload", bytes, None)
"""`pack_piece` makes the question."""
FINISH_UPLOAD: Method[UploadEnd, UploadFacts | None] = Method("finish_upload", UploadEnd, UploadFacts | None)
DELETE_UPLOAD: Method[str, None] = Method("delete_upload", str, None, repeatable=True)

_PIECE = struct.Struct(">40sQ")  # session, offset; then the content


def pack_piece(session: str, offset: int, content: bytes) -> bytes:
    return _PIECE.pack(session.encode(), offset) + content


def unpack_piece(packed: bytes) -> tuple[str, int, bytes]:
    session, offset = _PIECE.unpack_from(packed)
    return session.rstrip(b"\0").decode(), offset, packed[_PIECE.size :]


WHO: Method[str, SandboxId | None] = Method("who", str, SandboxId | None)
"""Never repeated: the process that is asked must have been there when the guest asked."""
GUESTS_ADDRESS: Method[None, tuple[str, int]] = Method("guests_address", None, tuple[str, int])
"""A stream of one: where guests ask. It ends with the node's process; the next may be elsewhere."""
