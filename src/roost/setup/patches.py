"""Applies a unified diff. Exactly: where a line is not what the diff says, nothing is guessed.

In Python, because a bare Debian has neither `patch` nor `git`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from roost.domain.errors import Fault

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")


@dataclass(slots=True)
class Hunk:
    start: int  # the first old line, counted from 0
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)


class PatchRefused(Fault):
    def __init__(self, file: str, reason: str) -> None:
        super().__init__("patch_refused", f"The patch does not fit {file}: {reason}.", file=file)


def apply_patch(patch: str, root: Path) -> None:
    """Every file that the patch names, below `root`, is changed. Raises PatchRefused before anything is written."""
    changed = {
        path: _patched((root / path).read_text().splitlines(keepends=True), hunks, path) for path, hunks in read_patch(patch)
    }
    if not changed:
        raise PatchRefused("any file", "it names none")
    for path, text in changed.items():
        (root / path).write_text(text)


def read_patch(patch: str) -> Iterator[tuple[str, list[Hunk]]]:
    """Files and their hunks. What stands before the first file is for people."""
    lines = iter(patch.splitlines(keepends=True))
    file, hunks = "", list[Hunk]()
    for line in lines:
        if line.startswith("+++ "):
            if file:
                yield file, hunks
            file, hunks = line[4:].split("\t")[0].strip().removeprefix("b/"), []
        elif file and (found := _HUNK.match(line)):
            hunk = Hunk(int(found[1]) - 1)
            missing_old, missing_new = int(found[2] or 1), int(found[3] or 1)
            while missing_old > len(hunk.old) or missing_new > len(hunk.new):
                part = next(lines, "")
                if part[:1] not in (" ", "-", "+"):
                    raise PatchRefused(file, "a hunk is shorter than it says")
                if part[0] != "+":
                    hunk.old.append(part[1:])
                if part[0] != "-":
                    hunk.new.append(part[1:])
            hunks.append(hunk)
    if file:
        yield file, hunks


def _patched(lines: Sequence[str], hunks: Sequence[Hunk], path: str) -> str:
    made: list[str] = []
    at = 0
    for hunk in hunks:
        if hunk.start < at or list(lines[hunk.start : hunk.start + len(hunk.old)]) != hunk.old:
            raise PatchRefused(path, f"line {hunk.start + 1} and those after it are not what it expects")
        made += lines[at : hunk.start]
        made += hunk.new
        at = hunk.start + len(hunk.old)
    return "".join([*made, *lines[at:]])
