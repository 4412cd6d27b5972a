"""Patterns of paths as Docker reads them: those of COPY, which are Go's `filepath.Match`, and those of .dockerignore."""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_WILD = frozenset("*?[\\")
_MOST_UNBOUNDED = (
    3  # stars of a pattern that only a regular expression can match: each could multiply the cost by a path's length
)


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


def match_deep(pattern: Sequence[str], names: Sequence[str], *, is_whole: bool = False) -> int | None:
    """How many of the names the pattern stands for: all, or the fewest that make a directory above. None: it does not fit, or not
    to all of them where it is asked for the whole path.

    A part `**` is any number of names, none too. Costs no more than parts times names, whatever a stranger writes.
    """
    reached = _behind_stars(pattern, {0})
    for depth, name in enumerate(names):
        if len(pattern) in reached and not is_whole:
            return depth
        inside = {part for part in reached if part < len(pattern)}
        stays = {part for part in inside if pattern[part] == "**"}
        forward = {part + 1 for part in inside - stays if compile_name(pattern[part]).fullmatch(name)}
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
    """An ordered list of patterns, `**` for any number of directories, `!` for exceptions: the last one that fits decides."""

    def __init__(self, patterns: Iterable[str]) -> None:
        """Raises BadPathPattern."""
        self._rules: list[tuple[_Rule, bool]] = []
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
            self._rules.append((_Rule(text), is_exception))

    def judge(self, path: str, above: Verdict | None = None) -> Verdict:
        """`above` is what was said of the directory that the path is in; None at the top."""
        inherited = above.matched if above else ()
        excludes = False
        matched: list[bool] = []
        for number, (rule, is_exception) in enumerate(self._rules):
            fits = bool(inherited) and inherited[number]
            # A rule that would change nothing is not asked; what is below does not inherit it then.
            if not fits and is_exception is excludes:
                fits = rule.fits(path)
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


class _Rule:
    """One pattern of a filter. Costs parts times names at most, whatever a stranger writes."""

    def __init__(self, pattern: str) -> None:
        self._parts = pattern.split("/")
        self._exact = "" if is_wild(pattern) else pattern
        self._odd: re.Pattern[str] | None = None
        if any("**" in part and part != "**" for part in self._parts):
            self._odd = _compile_odd(pattern)
        elif self._parts[-1] == "**" and len(self._parts) > 1:
            self._parts.append("*")  # what is in a directory, and not the directory itself
        for part in self._parts:
            compile_name(part)  # refused now if it cannot be read

    def fits(self, path: str) -> bool:
        if self._exact:
            return path == self._exact
        if self._odd:
            return self._odd.fullmatch(path) is not None
        names = path.split("/")
        if "**" not in self._parts:
            return len(names) == len(self._parts) and match_deep(self._parts, names) is not None
        return self._parts == ["**"] or match_deep(self._parts, names, is_whole=True) is not None


def _compile_odd(pattern: str) -> re.Pattern[str]:
    """`**` beside other characters, as in `**.go`: it is any text up to a "/", or none."""
    text = ""
    at = unbounded = 0
    while at < len(pattern):
        if pattern.startswith("**", at):
            at += 2
            unbounded += 1
            ends_name = at == 2 and not is_wild(pattern[2:])  # `**.go` is what ends so, at any depth
            is_last = pattern[at:] in ("", "/")
            at += pattern.startswith("/", at)
            text += ".*" if is_last or ends_name else "(?:.*/)?"
        elif pattern[at] == "*":
            text += "[^/]*"
            unbounded += 1
            at += 1
        else:
            piece, at = _one(pattern, at)
            text += piece
    if unbounded > _MOST_UNBOUNDED:
        raise BadPathPattern(f"`{pattern}` has too many stars: write `**` between slashes")
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
