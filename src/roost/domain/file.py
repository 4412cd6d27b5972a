"""A file as a snapshot holds it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FileType(StrEnum):
    FILE = "file"
    DIRECTORY = "directory"
    SYMLINK = "symlink"
    OTHER = "other"  # a socket, a pipe, a device


@dataclass(frozen=True, slots=True)
class FileEntry:
    name: str
    type: FileType
    size_bytes: int
    modified_at: float


@dataclass(frozen=True, slots=True)
class Listing:
    """What a directory holds, by name; `truncated` if there is more."""

    entries: tuple[FileEntry, ...]
    truncated: bool = False
