"""Gathers what the COPY steps of a definition take: an archive for each, named by its content.

An archive holds names, modes, contents and links, and neither times nor owners: the same files make the same archive on every
machine, and a step whose files did not change keeps its key.
"""

from __future__ import annotations

import stat
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from roost.dockerfile.archives import Archive, ArchiveWriter, Packing
from roost.dockerfile.folding import Known, follow_steps
from roost.dockerfile.tree import Entry, Tree
from roost.domain.build import Copy, Definition, FromContext, Stage
from roost.domain.build_actions import CopyFiles
from roost.domain.build_errors import ContextTooLarge, SourceNotFound, StepInvalid
from roost.domain.build_stages import needed_stages
from roost.domain.patterns import BadPathPattern, PathFilter, is_wild

LARGEST_BYTES = 2 * 1024**3
MOST_FILES = 200_000


@dataclass(frozen=True, slots=True)
class Packed:
    """The definition with every COPY naming its archive, and the archives."""

    definition: Definition
    archives: tuple[Archive, ...]


def pack(
    definition: Definition,
    tree: Tree,
    into: Path,
    *,
    largest_bytes: int = LARGEST_BYTES,
    tell: Callable[[Packing], None] = lambda _: None,
) -> Packed:
    """Writes the archives into a directory. Only what stages take that are built, and nothing before it is known how large it is.

    Raises SourceNotFound, ContextTooLarge, StepInvalid.
    """
    needed = needed_stages(definition)
    selected: list[tuple[Known, Copy, tuple[str, ...], list[Entry]]] = []
    for known in follow_steps(definition):
        step = definition.stages[known.stage].steps[known.step]
        if known.stage in needed and isinstance(step, Copy) and isinstance(step.origin, FromContext):
            sources, entries = _select(tree, step, known)
            selected.append((known, step, sources, entries))
    total = _weigh((entries for *_, entries in selected), largest_bytes)
    archives: dict[str, Archive] = {}
    changed: dict[tuple[int, int], Copy | None] = {}
    writer = ArchiveWriter(tree, into, total, tell)
    for known, step, sources, entries in selected:
        if not entries:
            changed[known.stage, known.step] = None
            continue
        archive = writer.write(step, entries)
        archives.setdefault(archive.digest, archive)
        changed[known.stage, known.step] = replace(step, origin=FromContext(archive.digest), sources=sources)
    stages = tuple(_with(stage, number, changed) for number, stage in enumerate(definition.stages))
    empty = (definition.stages[n].steps[m].place.line for (n, m), step in changed.items() if step is None)
    notes = tuple(f"Line {line}: no file fits any of its patterns, nothing is copied." for line in empty)
    return Packed(replace(definition, stages=stages, notes=(*definition.notes, *notes)), tuple(archives.values()))


def _with(stage: Stage, number: int, changed: dict[tuple[int, int], Copy | None]) -> Stage:
    steps = (changed.get((number, at), step) for at, step in enumerate(stage.steps))
    return replace(stage, steps=tuple(step for step in steps if step is not None))


def _select(tree: Tree, step: Copy, known: Known) -> tuple[tuple[str, ...], list[Entry]]:
    """Which of the step's sources there are, as they are written, and their files.

    Docker lets a pattern fit nothing, but not a name.
    """
    try:
        exclude = PathFilter(step.exclude)
        if known.missing or not isinstance(known.action, CopyFiles):
            # Only the base image knows what the sources are called: all that could be meant goes along.
            return step.sources, _ordered(_walk(tree, tree.find(""), exclude))
        sources: list[str] = []
        entries: dict[str, Entry] = {}
        for written, source in zip(step.sources, known.action.sources, strict=True):
            found = _found(tree, source, exclude, keeps_parents=step.keeps_parents)
            if not found and not is_wild(source):
                raise SourceNotFound(step.place, source or ".", is_ignored=tree.is_ignored(source.replace("/./", "/")))
            if found:
                sources.append(written)
                entries |= {entry.path: entry for entry in found}
    except BadPathPattern as error:
        raise StepInvalid(step.place, f"{error}.") from error
    return tuple(sources), _ordered(entries.values())


def _ordered(entries: Iterable[Entry]) -> list[Entry]:
    """Directories before what is in them, and the same on every machine."""
    return sorted(entries, key=lambda entry: entry.path.split("/"))


def _found(tree: Tree, source: str, exclude: PathFilter, *, keeps_parents: bool) -> list[Entry]:
    if not keeps_parents:
        tops = [top for top in tree.find(source) if not _is_excluded_file(top, exclude)]
        return _walk(tree, tops, exclude)
    above, _, below = source.rpartition("/./") if "/./" in source else ("", "", source)
    tops = tree.find(above)
    if "**" not in below:
        return _walk(tree, tree.find(f"{above}/{below}".strip("/")), exclude)
    wanted = PathFilter([below])  # the one pattern of COPY that reaches any depth
    prefix = len(above) + 1 if above else 0
    return [entry for entry in _walk(tree, tops, exclude) if entry.path and wanted.excludes(entry.path[prefix:])]


def _is_excluded_file(top: Entry, exclude: PathFilter) -> bool:
    return not stat.S_ISDIR(top.status.st_mode) and exclude.excludes(top.path.rpartition("/")[2])


def _walk(tree: Tree, tops: Iterable[Entry], exclude: PathFilter) -> list[Entry]:
    return [entry for top in tops for entry in tree.walk(top, exclude) if not stat.S_ISSOCK(entry.status.st_mode)]


def _weigh(all_entries: Iterable[list[Entry]], largest_bytes: int) -> int:
    total = files = 0
    folders: Counter[str] = Counter()
    for entries in all_entries:
        files += len(entries)
        for entry in entries:
            if stat.S_ISREG(entry.status.st_mode):
                total += entry.status.st_size
                folders[entry.path.partition("/")[0]] += entry.status.st_size
    if total > largest_bytes or files > MOST_FILES:
        raise ContextTooLarge(total, files, largest_bytes, MOST_FILES, [name for name, _ in folders.most_common(3)])
    return total
