"""What this node holds, on disk and alive: found by looking, so that a restarted server adopts what still runs.

A container's journal says what it is and how far its work got. It is replaced as a whole, never edited. One that cannot be read
says nothing of what the disk beside it is worth: `adoption` keeps such a disk.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from roost.archive.keys import ContainerPaths
from roost.domain.ids import SandboxId, SnapshotId
from roost.domain.sandbox import Size


class Phase(StrEnum):
    MAKING = "making"  # being created or resumed: taken back after a crash
    REVIVING = "reviving"  # booting what survived of a lost one: the root stays, whatever happens
    WARM = "warm"  # in the pool: frozen, nobody's
    RUNNING = "running"
    CAPTURING = "capturing"  # may be frozen; after a crash it is `FROZEN` if the snapshot got its manifest, else thawed
    FROZEN = "frozen"  # its memory is in `snapshot`, which has its manifest; waits for kill or resume, or dozes
    THAWING = "thawing"  # a resume came before the kill: thawed, or about to be
    ASLEEP = "asleep"  # no process; only the slot is kept


HAS_PROCESS = frozenset({Phase.RUNNING, Phase.CAPTURING, Phase.FROZEN, Phase.THAWING})


@dataclass(frozen=True, slots=True)
class Journal:
    phase: Phase
    container: str
    engine: str
    slot: int | None
    source: SnapshotId | None
    sandbox: SandboxId | None = None
    incarnation: int = 0
    snapshot: SnapshotId | None = None  # capturing, frozen: the one being made
    size: Size | None = None  # what it was given; a journal of an older Roost does not say


def write(paths: ContainerPaths, journal: Journal) -> None:
    """Blocks for a moment. Not synced: processes and slots do not outlive the machine either."""
    unfinished = paths.journal.with_suffix(".partial")
    unfinished.write_text(json.dumps(dataclasses.asdict(journal)))
    unfinished.replace(paths.journal)


def read(paths: ContainerPaths) -> Journal | None:
    try:
        raw = json.loads(paths.journal.read_text())
        size = raw.pop("size", None)
        return Journal(**raw | {"phase": Phase(raw["phase"]), "size": Size(**size) if size else None})
    except (OSError, ValueError, KeyError, TypeError):
        return None


def scan(folder: Path) -> Iterator[tuple[ContainerPaths, Journal | None]]:
    """Every container directory below, with its journal."""
    with os.scandir(folder) as entries:
        for name in sorted(entry.name for entry in entries):
            paths = ContainerPaths(folder / name)
            yield paths, read(paths)
