"""Modes as chmod takes them: a number, or clauses such as "u=rwX,go=rX"."""

from __future__ import annotations

_WHO = {"u": 6, "g": 3, "o": 0}
_BITS = {"r": 4, "w": 2, "x": 1}
_SET_ID = {"u": 0o4000, "g": 0o2000, "o": 0}


def changed(mode: int, asked: int | str | None, *, is_directory: bool) -> int:
    """The mode of a file that has `mode`, after `asked`. Raises ValueError."""
    if asked is None:
        return mode
    if isinstance(asked, int):
        return asked
    for clause in asked.split(","):
        mode = _apply(mode, clause, is_directory=is_directory)
    return mode


def _apply(mode: int, clause: str, *, is_directory: bool) -> int:
    who = clause[: len(clause) - len(clause.lstrip("ugoa"))]
    rest = clause[len(who) :]
    people = "ugo" if not who or "a" in who else who
    while rest:
        operator, rest = rest[0], rest[1:]
        if operator not in "+-=":
            raise ValueError(clause)
        end = next((place for place, letter in enumerate(rest) if letter in "+-="), len(rest))
        letters, rest = rest[:end], rest[end:]
        for person in people:
            mode = _apply_one(mode, person, operator, letters, is_directory=is_directory)
        if "t" in letters:
            mode = mode & ~0o1000 if operator == "-" else mode | 0o1000
    return mode


def _apply_one(mode: int, person: str, operator: str, letters: str, *, is_directory: bool) -> int:
    shift, bits, special = _WHO[person], 0, 0
    for letter in letters:
        if letter in _BITS:
            bits |= _BITS[letter]
        elif letter == "X":
            bits |= 1 if is_directory or mode & 0o111 else 0
        elif letter == "s":
            special |= _SET_ID[person]
        elif letter in _WHO:
            bits |= (mode >> _WHO[letter]) & 7
        elif letter != "t":
            raise ValueError(letters)
    if operator == "-":
        return mode & ~(bits << shift) & ~special
    if operator == "=":
        mode &= ~(7 << shift) & ~_SET_ID[person]
    return mode | (bits << shift) | special
