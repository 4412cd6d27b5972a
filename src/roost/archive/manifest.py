"""The manifest: the proof of a snapshot, written last.

It is written beside its place, synced, and renamed into place; then the directory is synced. Before that moment there is no
snapshot, after it there is a whole one.
"""

from __future__ import annotations

import ctypes
import dataclasses
import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from blake3 import blake3

from roost.archive.keys import MANIFEST, SnapshotPaths
from roost.domain.errors import SnapshotDamaged, SnapshotForeign, SnapshotHasNoMemory, SnapshotNotFound
from roost.domain.ids import SandboxId, SnapshotId
from roost.domain.sandbox import Size
from roost.domain.snapshot import SnapshotKind

FORMAT = 2
BLAKE3, SHA256 = "blake3", "sha256"
# A third of the time: what hashes beside the engine's restore takes the processors from it. Format 1 knew SHA-256 alone.
_HASHES: Final[Mapping[str, Callable[[], Any]]] = {BLAKE3: blake3, SHA256: hashlib.sha256}
_CHUNK_BYTES = 1 << 20  # a larger one takes longer to be cleared than it saves
_SYNC_FILE_RANGE_WRITE = 2

_libc = ctypes.CDLL(None)
_libc.sync_file_range.argtypes = [ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint]


@dataclass(frozen=True, slots=True)
class FileProof:
    size_bytes: int
    digest: str
    algorithm: str = BLAKE3


@dataclass(frozen=True, slots=True)
class DiskProof:
    """Which subvolume, at which moment of its history."""

    uuid: str
    generation: int


@dataclass(frozen=True, slots=True)
class Manifest:
    snapshot: SnapshotId
    kind: SnapshotKind
    template: str
    created_at: float
    engine: str
    engine_flags: tuple[str, ...]
    agent: str  # version of the agent inside
    cpu_features: tuple[str, ...]  # what the guest may have seen and come to rely on
    size: Size
    disk: DiskProof
    sandbox: SandboxId | None = None
    parent: SnapshotId | None = None
    files: Mapping[str, FileProof] = field(default_factory=dict)  # relative path -> proof
    processes: tuple[str, ...] = ()
    format: int = FORMAT

    @property
    def memory_bytes(self) -> int:
        return sum(proof.size_bytes for name, proof in self.files.items() if name.startswith("memory/"))


def encode(manifest: Manifest) -> bytes:
    return json.dumps(dataclasses.asdict(manifest), indent=1, sort_keys=True).encode() + b"\n"


def decode(snapshot: SnapshotId, data: bytes) -> Manifest:
    """Raises SnapshotDamaged for what is no manifest, SnapshotForeign for one of a newer Roost."""
    try:
        raw = json.loads(data)
        if raw["format"] > FORMAT:
            raise SnapshotForeign(snapshot, "manifest format", str(raw["format"]), str(FORMAT))
        return Manifest(
            snapshot=SnapshotId(raw["snapshot"]),
            kind=SnapshotKind(raw["kind"]),
            template=raw["template"],
            created_at=raw["created_at"],
            engine=raw["engine"],
            engine_flags=tuple(raw["engine_flags"]),
            agent=raw["agent"],
            cpu_features=tuple(raw["cpu_features"]),
            size=Size(**raw["size"]),
            disk=DiskProof(**raw["disk"]),
            sandbox=SandboxId(raw["sandbox"]) if raw["sandbox"] else None,
            parent=SnapshotId(raw["parent"]) if raw["parent"] else None,
            files={name: _file_proof(proof) for name, proof in raw["files"].items()},
            processes=tuple(raw["processes"]),
            format=raw["format"],
        )
    except (ValueError, KeyError, TypeError) as error:
        raise SnapshotDamaged(snapshot, MANIFEST, f"cannot be read ({error})") from error


def _file_proof(raw: Mapping[str, Any]) -> FileProof:
    proof = FileProof(raw["size_bytes"], raw[SHA256], SHA256) if SHA256 in raw else FileProof(**raw)
    if proof.algorithm not in _HASHES:
        raise ValueError(f"no hash is called {proof.algorithm}")
    return proof


def publish(paths: SnapshotPaths, manifest: Manifest) -> None:
    """The snapshot exists afterwards, whatever crashes. Blocks on the disk.

    Its directory needs no sync of its own: taking the subvolume's snapshot into it committed it, and btrfs keeps the name of a
    new file with the file when that is synced."""
    partial = paths.manifest.with_suffix(".partial")
    write(partial, manifest)
    partial.rename(paths.manifest)
    sync_directory(paths.home)


def write(path: Path, manifest: Manifest) -> None:
    """The manifest is in that file, on the disk. Blocks on the disk."""
    with path.open("wb") as file:
        file.write(encode(manifest))
        file.flush()
        os.fsync(file.fileno())


def load(paths: SnapshotPaths, snapshot: SnapshotId) -> Manifest:
    """Raises SnapshotNotFound, SnapshotDamaged, SnapshotForeign. Blocks on the disk."""
    try:
        data = paths.manifest.read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise SnapshotNotFound(snapshot) from error
    return decode(snapshot, data)


def sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def prove(path: Path, algorithm: str = BLAKE3) -> FileProof:
    """Hashes a file. Blocks; the interpreter lock is free meanwhile."""
    digest = _HASHES[algorithm]()
    size = 0
    with path.open("rb", buffering=0) as file:
        buffer = memoryview(bytearray(min(_CHUNK_BYTES, max(1, os.fstat(file.fileno()).st_size))))
        while count := file.readinto(buffer):
            digest.update(buffer[:count])
            size += count
    return FileProof(size, digest.hexdigest(), algorithm)


def start_writing(path: Path) -> None:
    """The file's bytes are on their way to the disk, which promises nothing: `sync_file` does. Not waited for."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        _libc.sync_file_range(descriptor, 0, 0, _SYNC_FILE_RANGE_WRITE)
    finally:
        os.close(descriptor)


def sync_file(path: Path) -> None:
    """The file's bytes are on the disk afterwards. Blocks."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def verify_file(paths: SnapshotPaths, manifest: Manifest, name: str) -> None:
    """Raises SnapshotDamaged when the file is not the one that was written. Blocks; the interpreter lock is free meanwhile."""
    expected = manifest.files[name]
    path = paths.home / name
    try:
        if path.stat().st_size != expected.size_bytes:
            raise SnapshotDamaged(
                manifest.snapshot, name, f"is {path.stat().st_size} bytes long, {expected.size_bytes} were written"
            )
        if prove(path, expected.algorithm) != expected:
            raise SnapshotDamaged(manifest.snapshot, name, "does not have the hash that was recorded when it was written")
    except OSError as error:
        raise SnapshotDamaged(manifest.snapshot, name, f"cannot be read ({error.strerror})") from error


def check_usable(manifest: Manifest, engine: str, flags: tuple[str, ...], cpu_features: frozenset[str]) -> None:
    """Whether this memory can run here. Raises SnapshotHasNoMemory, SnapshotForeign. Pure."""
    if manifest.kind is SnapshotKind.DISK:
        raise SnapshotHasNoMemory(manifest.snapshot)
    if manifest.engine != engine:
        raise SnapshotForeign(manifest.snapshot, "engine", manifest.engine, engine)
    if manifest.engine_flags != flags:
        raise SnapshotForeign(manifest.snapshot, "engine flags", " ".join(manifest.engine_flags), " ".join(flags))
    missing = sorted(set(manifest.cpu_features) - cpu_features)
    if missing:
        raise SnapshotForeign(manifest.snapshot, "CPU features", ", ".join(missing), "none of them")
