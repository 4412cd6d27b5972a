"""What a node is told while a template is built. Every order is for a sandbox that has no token and no record: a builder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from roost.domain.ids import SandboxId

LONGEST_STEP_S = 3600.0


@dataclass(frozen=True, slots=True)
class TemporaryFile:
    """A file that is there while a command runs, and not afterwards."""

    path: str
    content: str = field(repr=False)
    owner: str = "0:0"
    mode: int = 0o400


@dataclass(frozen=True, slots=True)
class CacheDirectory:
    """A directory that is there while a command runs; what is in it is kept for the next command that names it."""

    path: str
    name: str  # of the cache on the node
    owner: str = "0:0"
    mode: int = 0o755


@dataclass(frozen=True, slots=True)
class CommandOrder:
    sandbox: SandboxId
    incarnation: int
    words: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    user: str = ""  # "" is root
    workdir: str = "/"
    timeout_s: float = LONGEST_STEP_S  # 0: none, it is to run on
    files: tuple[TemporaryFile, ...] = ()
    caches: tuple[CacheDirectory, ...] = ()


@dataclass(frozen=True, slots=True)
class Output:
    """Something that a command said."""

    text: str
    stream: str  # "stdout" or "stderr"


@dataclass(frozen=True, slots=True)
class Exited:
    """How a command ended. A code that is not 0 is a result, not an error."""

    exit_code: int
    reason: str = ""  # where it did not end by itself, or could not begin


@dataclass(frozen=True, slots=True)
class FileOrder:
    """Where files go, and whose they are then. A target that ends in "/", or is a directory, holds them; else it is what the one
    file is called."""

    sandbox: SandboxId
    incarnation: int
    target: str
    owner: str = ""  # "" is root
    mode: int | str | None = None  # None: as the file has it; text: as chmod takes it


@dataclass(frozen=True, slots=True)
class Selection:
    """Which files of an origin: patterns, relative to its root."""

    sources: tuple[str, ...]
    exclude: tuple[str, ...] = ()
    keeps_parents: bool = False
    unpacks: bool = False


@dataclass(frozen=True, slots=True)
class UploadFacts:
    digest: str
    size_bytes: int
    created_at: float
