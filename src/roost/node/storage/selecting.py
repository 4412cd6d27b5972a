"""Which members of an archive a copy takes, and what they are called then. Pure."""

from __future__ import annotations

import fnmatch
import hashlib
import json
import posixpath
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from roost.domain.build_failures import NothingToCopy
from roost.domain.node_builds import Selection


@dataclass(frozen=True, slots=True)
class Member:
    """One member of an archive."""

    name: str  # relative, without "." and ".."; "" is the root
    kind: str  # as tar has it: "0" file, "1" hard link, "2" symbolic link, "5" directory, …
    mode: int
    size: int
    offset: int  # of its content, in the archive
    link: str = ""
    digest: str = ""  # of its content
    mtime: float = 0.0
    attributes: tuple[tuple[str, str], ...] = ()  # of its pax header

    @property
    def is_directory(self) -> bool:
        return self.kind == "5"


@dataclass(frozen=True, slots=True)
class Selected:
    member: Member
    name: str  # relative to the target; "." is the target itself, and "./…" what a directory holds that was asked for


def select(members: Mapping[str, Member], selection: Selection) -> list[Selected]:
    """In the order of the archive. What is in a directory that was asked for has its name from there on. Raises NothingToCopy."""
    chosen: dict[str, Selected] = {}
    for source in selection.sources:
        found = list(_below(members.values(), source, selection))
        if not found:
            raise NothingToCopy(source)
        for each in found:
            if not _is_excluded(each, selection.exclude):
                chosen[each.member.name] = each
    return sorted(chosen.values(), key=lambda each: each.member.offset)


def digest(members: Mapping[str, Member], selection: Selection) -> str:
    """What tells two selections apart. Times do not count: a fresh checkout has others."""
    told = hashlib.sha256()
    for each in sorted(select(members, selection), key=lambda each: each.name):
        member = each.member
        facts = (each.name, member.kind, member.mode, member.link, member.digest, member.attributes)
        told.update(json.dumps(facts).encode() + b"\n")
    return told.hexdigest()


def _below(members: Iterable[Member], source: str, selection: Selection) -> Iterator[Selected]:
    before, dot, after = source.partition("/./") if selection.keeps_parents else ("", "", source)
    pattern = [part for part in f"{before}/{after}".split("/") if part not in ("", ".")]
    skipped = len([part for part in before.split("/") if part]) if dot else 0
    for member in members:
        parts = member.name.split("/") if member.name else []
        depth = _matched_depth(parts, pattern)
        if depth is None:
            continue
        if selection.keeps_parents:
            name = "/".join([".", *parts[skipped:]])
        elif depth < len(parts) or member.is_directory:
            name = "/".join([".", *parts[depth:]])
        else:
            name = parts[-1]
        yield Selected(member, name or ".")


def _matched_depth(parts: list[str], pattern: list[str]) -> int | None:
    """How many parts of a name the pattern stands for: all of them, or those of a directory above; None: it does not match."""
    if not pattern:
        return 0
    if "**" not in pattern:
        fits = len(parts) >= len(pattern) and all(map(_fits, parts, pattern))
        return len(pattern) if fits else None
    for depth in range(len(parts) + 1):
        if _matches_whole(parts[:depth], pattern):
            return depth
    return None


def _matches_whole(parts: list[str], pattern: list[str]) -> bool:
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_matches_whole(parts[start:], pattern[1:]) for start in range(len(parts) + 1))
    return bool(parts) and _fits(parts[0], pattern[0]) and _matches_whole(parts[1:], pattern[1:])


def _fits(part: str, pattern: str) -> bool:
    return part == pattern or fnmatch.fnmatchcase(part, pattern.replace("[^", "[!"))


def _is_excluded(each: Selected, patterns: tuple[str, ...]) -> bool:
    """By its name in the origin, or by that which it gets; with a directory goes what is in it."""
    for name in (each.member.name, posixpath.normpath(each.name)):
        parts = name.split("/")
        for pattern in patterns:
            wanted = [part for part in pattern.split("/") if part not in ("", ".")]
            if wanted and _matched_depth(parts, wanted) is not None:
                return True
    return False
