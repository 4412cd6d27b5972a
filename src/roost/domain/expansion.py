"""Variables in the words of a definition, as Docker expands them: `$X`, `${X:-default}`, `${X%.tar}`, quotes and escapes.

Docker's rules resemble a shell's and are not: there is no word splitting (but for EXPOSE) and no command substitution, a variable
that is not set is empty, and patterns know `*` and `?` alone.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

from roost.domain.shell_pattern import BadPattern, ShellPattern

LONGEST = 128 * 1024
"""Characters of one expanded word: Linux starts no program with a longer argument or variable."""

DEEPEST = 32
"""Substitutions inside of each other."""

_SPECIAL = frozenset("@*#?-$!0")


class BadWord(ValueError):
    """The word cannot be read, whatever the variables are."""


class RequiredVariable(ValueError):
    """`${X:?message}`, and X is not set."""


def expand(word: str, variables: Mapping[str, str], *, escape: str = "\\") -> str:
    """The word with its variables replaced and its quotes taken off."""
    return _Reader(word, variables, escape).text()


def expand_document(text: str, variables: Mapping[str, str], *, longest: int) -> str:
    """The content of a heredoc: quotes are plain characters, and a backslash escapes whatever the file says."""
    return _Reader(text, variables, "\\", quotes=False, longest=longest).text()


def expand_words(word: str, variables: Mapping[str, str], *, escape: str = "\\") -> tuple[str, ...]:
    """As `expand`, then split at the spaces that were not quoted: those of variables too."""
    words: list[str] = []
    current = ""
    for text, is_quoted in _Reader(word, variables, escape).read():
        if is_quoted:
            current += text
            continue
        for character in text:
            if not character.isspace():
                current += character
            elif current:
                words.append(current)
                current = ""
    return (*words, current) if current else tuple(words)


def literal(text: str) -> str:
    """A word that expands to this text, whatever is in it and whichever character escapes."""
    return "'" + text.replace("'", "'\"'\"'") + "'"


class _Reader:
    """One pass over a word. `raw` keeps escapes as they are written: the pattern of `${X#pattern}` reads them itself."""

    def __init__(
        self, word: str, variables: Mapping[str, str], escape: str, *, quotes: bool = True, longest: int = LONGEST
    ) -> None:
        self._word = word
        self._at = 0
        self._depth = 0
        self._size = 0
        self._variables = variables
        self._escape = escape
        self._quotes = quotes
        self._longest = longest

    def read(self, stop: str = "", raw: bool = False, pattern: bool = False) -> list[tuple[str, bool]]:
        """Pieces of text, and whether each was quoted or escaped, up to `stop` or the end."""
        pieces: list[tuple[str, bool]] = []
        while character := self._peek():
            if stop and character == stop:
                self._at += 1
                return pieces
            if character == "$":
                pieces.append((self._substitution(), False))
            elif self._quotes and character == "'":
                pieces.append((self._single_quoted(pattern), True))
            elif self._quotes and character == '"':
                pieces.append((self._double_quoted(raw), True))
            elif character == self._escape:
                self._at += 1
                pieces.append(((character if raw else "") + self._next(), True))
            else:
                pieces.append((self._next(), False))
        if stop:
            raise BadWord(f"a `{stop}` is missing at the end of `{self._word}`")
        return pieces

    def text(self, stop: str = "", *, raw: bool = False, pattern: bool = False) -> str:
        return "".join(text for text, _ in self.read(stop, raw, pattern))

    def _peek(self) -> str:
        return self._word[self._at : self._at + 1]

    def _next(self) -> str:
        character = self._peek()
        self._at += 1
        return character

    def _single_quoted(self, pattern: bool) -> str:
        end = self._word.find("'", self._at + 1)
        if end < 0:
            raise BadWord(f"a single quote is not closed in `{self._word}`")
        text = self._word[self._at + 1 : end]
        self._at = end + 1
        return text.replace(self._escape, self._escape * 2) if pattern else text

    def _double_quoted(self, raw: bool) -> str:
        self._at += 1
        text = ""
        while character := self._peek():
            if character == '"':
                self._at += 1
                return text
            if character == "$":
                text += self._substitution()
                continue
            self._at += 1
            if character == self._escape:
                if self._peek() in ('"', "$", self._escape):
                    text += (character if raw else "") + self._next()
                else:  # before anything else it is a character like others
                    text += character * 2 if raw else character
            else:
                text += character
        raise BadWord(f"a double quote is not closed in `{self._word}`")

    def _name(self) -> str:
        start = self._at
        first = self._peek()
        if first and _is_digit(first):
            while (character := self._peek()) and _is_digit(character):
                self._at += 1
        elif first in _SPECIAL:
            self._at += 1
        else:
            while (character := self._peek()) and (character.isalpha() or _is_digit(character) or character == "_"):
                self._at += 1
        return self._word[start : self._at]

    def _substitution(self) -> str:
        self._depth += 1
        if self._depth > DEEPEST:
            raise BadWord(f"more than {DEEPEST} substitutions are inside of each other")
        value = self._dollar()
        self._depth -= 1
        self._count(len(value))
        return value

    def _count(self, size: int) -> None:
        self._size += size
        if self._size > self._longest:
            raise BadWord(f"it grows beyond {self._longest} characters with its variables replaced")

    def _pattern(self, text: str, *, is_longest: bool, backwards: bool = False) -> ShellPattern:
        try:
            return ShellPattern(text, is_longest=is_longest, backwards=backwards)
        except BadPattern as error:
            raise BadWord(f"{error}, in `{self._word}`") from error

    def _dollar(self) -> str:
        self._at += 1
        if self._peek() != "{":
            name = self._name()
            return self._variables.get(name, "") if name else "$"
        self._at += 1
        if self._peek() in ("", "{", "}", ":"):
            raise BadWord(f"`${{` is not followed by a name in `{self._word}`")
        name = self._name()
        operator = self._next()
        if operator == "}":
            return self._variables.get(name, "")
        if operator == "/":
            return self._replaced(name)
        if operator in ("#", "%"):
            return self._trimmed(name, operator)
        counts_empty = operator == ":"
        if counts_empty:
            operator = self._next()
        if not operator:
            raise BadWord(f"a `}}` is missing at the end of `{self._word}`")
        if operator not in ("-", "+", "?"):
            raise BadWord(f"`{':' * counts_empty}{operator}` is not known inside `${{…}}`, in `{self._word}`")
        word = self.text("}")
        value = self._variables.get(name)
        is_set = bool(value) if counts_empty else value is not None
        if operator == "-":
            return value or "" if is_set else word
        if operator == "+":
            return word if is_set else ""
        if not is_set:
            state = "empty" if value is not None else "not set"
            raise RequiredVariable(f"{name}: {word or 'it must not be ' + state}")
        return value or ""

    def _trimmed(self, name: str, operator: str) -> str:
        pattern = self.text("}", raw=True, pattern=True)
        is_longest = pattern.startswith(operator)
        matcher = self._pattern(pattern[1:] if is_longest else pattern, is_longest=is_longest, backwards=operator == "%")
        value = self._variables.get(name, "")
        if operator == "#":
            return value[matcher.end(value) :]
        # Backwards, since a search from the left cannot find the shortest end.
        backwards = value[::-1]
        return backwards[matcher.end(backwards) :][::-1]

    def _replaced(self, name: str) -> str:
        replaces_all = self._peek() == "/"
        if replaces_all:
            self._at += 1
        pattern = self._pattern(self.text("/", raw=True, pattern=True), is_longest=True)
        replacement = self.text("}", raw=True)
        value = self._variables.get(name, "")
        pieces: list[str] = []
        at = last = 0
        while (found := pattern.find(value, at)) is not None:
            start, end = found
            at = end if end > start else end + 1
            if start == end == last and pieces:
                continue  # nothing, right behind a match, is no match
            pieces += value[last:start], replacement
            self._count(len(replacement))
            last = end
            if not replaces_all:
                break
        return "".join((*pieces, value[last:]))


def _is_digit(character: str) -> bool:
    return unicodedata.category(character) == "Nd"
