"""Patterns of paths as Docker reads them: those of COPY, which are Go's `filepath.Match`, and those of .dockerignore."""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_WILD = frozenset("*?[\\")


class BadPathPattern(ValueError):
    """The pattern cannot be read."""


def is_wild(pattern: str) -> bool:
    return not _WILD.isdisjoint(pattern)


@functools.lru_cache(1024)
def compile_name(pattern: str) -> re.Pattern[str]:
    """For one name, without "/": `*` is any text, `?` one character, `[a-z]` or `[^a-z]` one of some, `\\` takes the next one
    as it is.

    Costs one walk along the name, whatever the pattern. Raises BadPathPattern.
    """
    pieces = [""]
    at = 0
    while at < len(pattern):
        character = pattern[at]
        if character == "*":
            pieces.append("")
            at += 1
        else:
            piece, at = _one(pattern, at)
            pieces[-1] += piece
    *middle, last = pieces[1:] or [""]
    text = pieces[0] + "".join(f"(?>[^/]*?{piece})" for piece in middle)
    if len(pieces) > 1:  # the last `*` takes what is left before the end
        text += f"[^/]*{last}"
    return re.compile(text, re.DOTALL)


def _one(pattern: str, at: int) -> tuple[str, int]:
    """What stands for one character, as a regular expression, and where it ends."""
    character = pattern[at]
    if character == "?":
        return "[^/]", at + 1
    if character == "\\":
        if at + 1 == len(pattern):
            raise BadPathPattern(f"`{pattern}` ends with a backslash")
        return re.escape(pattern[at + 1]), at + 2
    if character == "[":
        return _class(pattern, at + 1)
    return re.escape(character), at + 1


def _class(pattern: str, at: int) -> tuple[str, int]:
    is_negated = pattern[at : at + 1] == "^"
    at += is_negated
    ranges: list[str] = []
    while pattern[at : at + 1] != "]" or not ranges:
        low, at = _class_character(pattern, at)
        high = low
        if pattern[at : at + 1] == "-":
            high, at = _class_character(pattern, at + 1)
        if low <= high:
            ranges.append(f"{re.escape(low)}-{re.escape(high)}")
        else:
            ranges.append("")  # nothing is in it
    body = "".join(ranges)
    if not body:
        return ("." if is_negated else "(?!)"), at + 1
    return f"[{'^' * is_negated}{body}]", at + 1


def _class_character(pattern: str, at: int) -> tuple[str, int]:
    character = pattern[at : at + 1]
    if character in ("", "-", "]"):
        raise BadPathPattern(f"a `[…]` of `{pattern}` is not complete")
    if character == "\\":
        at += 1
        character = pattern[at : at + 1]
        if not character:
            raise BadPathPattern(f"`{pattern}` ends with a backslash")
    return character, at + 1


def match_path(pattern: str, path: str) -> bool:
    """Whether a whole path fits: no wildcard crosses a "/"."""
    names, parts = path.split("/"), pattern.split("/")
    return len(names) == len(parts) and all(compile_name(part).fullmatch(name) for part, name in zip(parts, names, strict=True))


def match_deep(pattern: Sequence[str], names: Sequence[str]) -> int | None:
    """How many of the names the pattern stands for: all, or the fewest that make a directory above. None: it does not fit.

    A part `**` is any number of names, none too. Costs no more than parts times names, whatever a stranger writes.
    """
    reached = _behind_stars(pattern, {0})
    for depth, name in enumerate(names):
        if len(pattern) in reached:
            return depth
        forward = {part + 1 for part in reached if pattern[part] != "**" and compile_name(pattern[part]).fullmatch(name)}
        stays = {part for part in reached if pattern[part] == "**"}
        reached = _behind_stars(pattern, forward | stays)
    return len(names) if len(pattern) in reached else None


def _behind_stars(pattern: Sequence[str], places: set[int]) -> set[int]:
    """The places, and those behind each `**` there: it may stand for nothing."""
    found = set(places)
    for place in sorted(places):
        while place < len(pattern) and pattern[place] == "**":
            place += 1
            found.add(place)
    return found


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a filter says of a path, and what it has to remember of it for what is below."""

    excludes: bool
    matched: tuple[bool, ...] = ()


class PathFilter:
    """An ordered list of patterns, `**` for any number of directories, `!` for exceptions: the last one that fits decides.

    For patterns of one's own: those of a stranger could take very long.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        """Raises BadPathPattern."""
        self._rules: list[tuple[re.Pattern[str], bool]] = []
        self._exceptions: list[str] = []
        for written in patterns:
            text = written.strip()
            if not text:
                continue
            text = posixpath.normpath(text)
            is_exception = text.startswith("!")
            if is_exception:
                text = text[1:]
                if not text:
                    raise BadPathPattern("an exception `!` names nothing")
                self._exceptions.append(text)
            self._rules.append((_compile_deep(text), is_exception))

    def judge(self, path: str, above: Verdict | None = None) -> Verdict:
        """`above` is what was said of the directory that the path is in; None at the top."""
        inherited = above.matched if above else ()
        excludes = False
        matched: list[bool] = []
        for number, (rule, is_exception) in enumerate(self._rules):
            fits = bool(inherited) and inherited[number]
            # A rule that would change nothing is not asked; what is below does not inherit it then.
            if not fits and is_exception is excludes:
                fits = rule.fullmatch(path) is not None
            matched.append(fits)
            if fits:
                excludes = not is_exception
        return Verdict(excludes, tuple(matched))

    def excludes(self, path: str) -> bool:
        verdict = None
        parts = path.split("/")
        for end in range(1, len(parts) + 1):
            verdict = self.judge("/".join(parts[:end]), verdict)
        return verdict is not None and verdict.excludes

    def may_except_below(self, directory: str) -> bool:
        """Whether something in a directory that is excluded could be an exception."""
        return any(is_wild(text) or f"{text}/".startswith(f"{directory}/") for text in self._exceptions)


def _compile_deep(pattern: str) -> re.Pattern[str]:
    text = ""
    at = 0
    while at < len(pattern):
        if pattern.startswith("**", at):
            at += 2
            ends_name = at == 2 and not is_wild(pattern[2:])  # `**.go` is what ends so, at any depth
            if pattern.startswith("/", at):
                at += 1
                text += "(?:.*/)?" if at < len(pattern) else ".*"
            elif at == len(pattern) or ends_name:
                text += ".*"
            else:
                text += "(?:.*/)?"
        elif pattern[at] == "*":
            text += "[^/]*"
            at += 1
        else:
            piece, at = _one(pattern, at)
            text += piece
    return re.compile(text, re.DOTALL)


def read_ignore_file(text: str) -> tuple[str, ...]:
    """Patterns of a .dockerignore. `#` begins a comment only at the beginning of a line; a "/" at either end means nothing."""
    patterns: list[str] = []
    for line in text.removeprefix("\ufeff").split("\n"):
        if line.startswith("#") or not line.strip():
            continue
        pattern = line.strip()
        is_exception = pattern.startswith("!")
        if is_exception:
            pattern = pattern[1:].strip()
        if pattern:
            pattern = posixpath.normpath(pattern)
            pattern = pattern.lstrip("/") or pattern
        patterns.append("!" + pattern if is_exception else pattern)
    return tuple(patterns)
