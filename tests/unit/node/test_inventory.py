from __future__ import annotations

from pathlib import Path

from roost.archive.keys import ContainerPaths
from roost.domain.ids import SandboxId, SnapshotId
from roost.domain.sandbox import Size
from roost.node import inventory
from roost.node.inventory import Journal, Phase


def test_a_journal_comes_back_as_it_was_written(tmp_path: Path) -> None:
    journal = Journal(
        Phase.CAPTURING, "c-1", "gvisor 1", 3, SnapshotId("s1"), SandboxId("i1"), 2, SnapshotId("s2"), Size(memory_mb=2048)
    )
    paths = ContainerPaths(tmp_path)
    inventory.write(paths, journal)
    assert inventory.read(paths) == journal


def test_a_journal_of_an_older_roost_says_nothing_of_its_size(tmp_path: Path) -> None:
    paths = ContainerPaths(tmp_path)
    paths.journal.write_text('{"phase": "running", "container": "c-1", "engine": "e", "slot": 1, "source": "s1"}')
    journal = inventory.read(paths)
    assert journal is not None and journal.phase is Phase.RUNNING and journal.size is None


def test_half_a_journal_is_none(tmp_path: Path) -> None:
    paths = ContainerPaths(tmp_path)
    paths.journal.write_text('{"phase": "runn')
    assert inventory.read(paths) is None
