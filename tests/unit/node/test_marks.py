"""The marks of slots that may ask for some names only, as several threads of a node put and drop them."""

from __future__ import annotations

from pathlib import Path, PosixPath
from typing import Any

from roost.node.network.restricted import RestrictedSlots


def test_a_mark_that_was_put_is_found_and_the_last_one_takes_the_directory_with_it(tmp_path: Path) -> None:
    marks = RestrictedSlots(tmp_path, "abcde")
    assert marks.all() == frozenset()
    marks.put(3)
    marks.put(3)
    marks.put(12)
    assert RestrictedSlots(tmp_path, "abcde").all() == {3, 12}
    marks.drop(3)
    marks.drop(3)
    assert marks.all() == {12}
    marks.drop(12)
    assert list(tmp_path.iterdir()) == []


def test_a_slot_is_marked_while_another_is_removed(tmp_path: Path) -> None:
    """The other one takes the directory away just when it was made for the mark."""
    others = [2]

    class Shared(PosixPath):
        def mkdir(self, *args: Any, **options: Any) -> None:
            super().mkdir(*args, **options)
            if others:
                RestrictedSlots(tmp_path, "abcde").drop(others.pop())

    marks = RestrictedSlots(Shared(tmp_path), "abcde")
    marks.put(1)
    assert not others
    assert marks.all() == {1}
