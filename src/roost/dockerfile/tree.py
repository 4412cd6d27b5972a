"""The files of a context: what .dockerignore leaves of a directory, and never anything outside of it."""

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from roost.domain.build_errors import IgnoreFileInvalid
from roost.domain.patterns import BadPathPattern, PathFilter, Verdict, compile_name, is_wild, read_ignore_file

_MOST_LINKS = 255


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that is copied: under `path`, which is relative to the context. Its content is that of `real`."""

    path: str
    real: str  # the same, but for links that were followed
    status: os.stat_result


class Tree:
    """A context. Paths are relative to it, with "/" between names; "" is the context itself."""

    def __init__(self, root: Path, patterns: tuple[str, ...] = ()) -> None:
        """Raises BadPathPattern."""
        self._root = os.fspath(root)
        self._filter = PathFilter(patterns)
        self._verdicts: dict[str, Verdict] = {}

    def absolute(self, path: str) -> str:
        return os.path.join(self._root, path)

    def is_ignored(self, path: str) -> bool:
        return bool(path) and self._judge(path).excludes

    def _judge(self, path: str) -> Verdict:
        if path not in self._verdicts:
            above = posixpath.dirname(path)
            self._verdicts[path] = self._filter.judge(path, self._judge(above) if above else None)
        return self._verdicts[path]

    def find(self, pattern: str) -> list[Entry]:
        """What a source of COPY names. Links on the way are followed, as if the context were the root of everything."""
        found = [""]
        for part in pattern.split("/") if pattern else []:
            found = [path for above in found for path in self._step(above, part)]
        entries = (self._entry(path) for path in found)
        return [entry for entry in entries if entry]

    def _step(self, above: str, part: str) -> Iterator[str]:
        if not is_wild(part):
            yield posixpath.join(above, part)
            return
        directory = self._resolve(above)
        if directory is None:
            return
        fits = compile_name(part)
        try:
            names = os.listdir(self.absolute(directory))
        except OSError:
            return
        yield from (posixpath.join(above, name) for name in names if fits.fullmatch(name))

    def _entry(self, path: str) -> Entry | None:
        real = self._resolve(path)
        if real is None or (path != real and self.is_ignored(path)):
            return None
        status = os.lstat(self.absolute(real))
        if self.is_ignored(real) and not (stat.S_ISDIR(status.st_mode) and self._filter.may_except_below(real)):
            return None
        return Entry(path, real, status)

    def _resolve(self, path: str) -> str | None:
        """The path without links, below the context whatever they say. None: there is nothing."""
        waiting = [part for part in path.split("/") if part][::-1]
        real = ""
        links = 0
        while waiting:
            part = waiting.pop()
            if part == ".":
                continue
            if part == "..":
                real = posixpath.dirname(real)
                continue
            here = posixpath.join(real, part)
            try:
                status = os.lstat(self.absolute(here))
            except OSError:
                return None
            if not stat.S_ISLNK(status.st_mode):
                real = here
                continue
            links += 1
            if links > _MOST_LINKS:
                return None
            target = os.readlink(self.absolute(here))
            if target.startswith("/"):
                real = ""
            waiting += [each for each in target.split("/") if each][::-1]
        return real

    def walk(self, top: Entry, exclude: PathFilter) -> Iterator[Entry]:
        """The entry and all that is below it, in no order. `exclude` is asked with paths below the entry.

        A directory that is ignored itself comes along if something in it does not.
        """
        if not stat.S_ISDIR(top.status.st_mode):
            yield top
            return
        if not self.is_ignored(top.real):
            yield top
        yield from self._below(top, "", exclude, None)

    def _below(self, directory: Entry, inside: str, exclude: PathFilter, above: Verdict | None) -> Iterator[Entry]:
        for name in os.listdir(self.absolute(directory.real)):
            real = posixpath.join(directory.real, name)
            entry = Entry(posixpath.join(directory.path, name), real, os.lstat(self.absolute(real)))
            relative = posixpath.join(inside, name)
            verdict = exclude.judge(relative, above)
            is_directory = stat.S_ISDIR(entry.status.st_mode)
            is_out = self.is_ignored(real) or verdict.excludes
            if not is_out:
                yield entry
            if not is_directory:
                continue
            can_skip_ignored = self.is_ignored(real) and not self._filter.may_except_below(real)
            can_skip_excluded = verdict.excludes and not exclude.may_except_below(relative)
            if can_skip_ignored or can_skip_excluded:
                continue
            inner = self._below(entry, relative, exclude, verdict)
            if is_out and (first := next(inner, None)):
                yield entry
                yield first
            yield from inner


def read_ignore(context: Path, dockerfile: Path | None = None) -> tuple[str, ...]:
    """The patterns of `F.dockerignore` beside the Dockerfile F, else of the context's .dockerignore. Raises IgnoreFileInvalid."""
    places = [dockerfile.with_name(f"{dockerfile.name}.dockerignore")] if dockerfile else []
    for place in (*places, context / ".dockerignore"):
        try:
            text = place.read_text("utf-8", "surrogateescape")
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            continue
        patterns = read_ignore_file(text)
        try:
            PathFilter(patterns)
        except BadPathPattern as error:
            raise IgnoreFileInvalid(str(place), str(error)) from error
        return patterns
    return ()
