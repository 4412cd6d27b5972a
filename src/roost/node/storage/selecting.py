"""Which members of an archive a copy takes, and what they are called then. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from roost.domain.build_failures import NothingToCopy, StepFailed
from roost.domain.node_builds import Selection
from roost.domain.patterns import BadPathPattern, match_deep


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
    exclude = [parts for pattern in selection.exclude if (parts := _parts(pattern))]
    for source in selection.sources:
        found = list(_below(members.values(), source, selection))
        if not found:
            raise NothingToCopy(source)
        for each in found:
            if not _is_excluded(each.name.removeprefix("./"), exclude):
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
    pattern = _parts(f"{before}/{after}")
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


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


def _matched_depth(parts: Sequence[str], pattern: Sequence[str]) -> int | None:
    try:
        return match_deep(pattern, parts)
    except BadPathPattern as error:
        raise StepFailed(f"{error}.") from error


def _is_excluded(name: str, patterns: Sequence[Sequence[str]]) -> bool:
    """With a directory goes what is in it."""
    parts = name.split("/")
    return any(_matched_depth(parts, pattern) is not None for pattern in patterns)
