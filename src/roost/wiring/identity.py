"""What a home knows about itself, made once and kept."""

from __future__ import annotations

import os
import random
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from roost.domain import ids
from roost.domain.ids import NodeId
from roost.settings import Settings
from roost.setup.artefacts import write_atomically

VERSION = version("roost")
FIRST_NODE = NodeId("local")
"""What records of a home of 0.1.0 call their machine."""


def node_id(settings: Settings) -> NodeId:
    """What records call this machine: made once, before the first record. To be called before the database is made."""
    file = settings.home / "node"
    with suppress(FileNotFoundError):
        return NodeId(file.read_text().strip())
    id = FIRST_NODE if settings.db.exists() else ids.new_node_id(random.SystemRandom())
    write_atomically(file, f"{id}\n", 0o644)
    return id


def own_secret(file: Path, size_bytes: int) -> bytes:
    """Made once; only root reads it. One that is too short to be whole (a crash while it was written) is made anew."""
    with suppress(FileNotFoundError):
        secret = file.read_bytes()
        if len(secret) == size_bytes:
            return secret
    secret = os.urandom(size_bytes)
    unfinished = file.with_suffix(".partial")
    unfinished.unlink(missing_ok=True)
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as content:
        content.write(secret)
        content.flush()
        os.fsync(content.fileno())
    unfinished.replace(file)
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # on disk, before anything is on disk that was sealed with it
    finally:
        os.close(folder)
    return secret
