"""Patterns of `*` and `?` inside `${X#pattern}` and `${X/pattern/text}`."""

from __future__ import annotations

import re

LONGEST = 1024
_ANYTHING, _ONE = object(), object()  # `*` and `?`


class BadPattern(ValueError):
    pass


class ShellPattern:
    """Definitions come from strangers, so no pattern may cost more than one walk along each line of a value."""

    def __init__(self, text: str, *, is_longest: bool, backwards: bool = False) -> None:
        tokens = _tokens(text)
        if backwards:
            tokens.reverse()
        pieces: list[str] = [""]
        for token in tokens:
            if token is _ANYTHING:
                pieces.append("")
            else:
                pieces[-1] += "." if token is _ONE else re.escape(str(token))
        self._first = re.compile(pieces[0])
        # What a `*` has found is not tried again (an atomic group): the first place that fits leaves most room for the rest.
        last = len(pieces) - 1
        rest = (f"(?>.*{'' if is_longest and n == last else '?'}{piece})" for n, piece in enumerate(pieces) if n)
        self._whole = re.compile(pieces[0] + "".join(rest))

    def end(self, value: str) -> int:
        """How far the pattern reaches from the beginning of the value; 0 if it does not fit."""
        found = self._whole.match(value)
        return found.end() if found else 0

    def find(self, value: str, at: int) -> tuple[int, int] | None:
        while at <= len(value) and (start := self._first.search(value, at)):
            if found := self._whole.match(value, start.start()):
                return found.span()
            # What is missing on this line is missing further right on it too.
            newline = value.find("\n", start.start())
            if newline < 0:
                return None
            at = newline + 1
        return None


def _tokens(text: str) -> list[object]:
    if len(text) > LONGEST:
        raise BadPattern(f"a pattern is longer than {LONGEST} characters")
    tokens: list[object] = []
    characters = iter(text)
    for character in characters:
        if character == "*":
            tokens.append(_ANYTHING)
        elif character == "?":
            tokens.append(_ONE)
        elif character == "\\":
            escaped = next(characters, "")
            if not escaped or escaped not in "*?\\}/":
                raise BadPattern(f"`\\{escaped}` is not an escape that a pattern knows")
            tokens.append(escaped)
        else:
            tokens.append(character)
    return tokens
