"""How a text is typed on a keyboard that lacks some of its characters. Pure.

A character that a key has is that key, with Shift if need be. For any other one a spare keycode, one that no key of the
layout uses, is given that character for as long as it takes. There are only so many of them, so a long text of many such
characters is typed in batches: before a batch begins, its characters are put on spare keycodes, and nothing of it is typed
until all of them are.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from roost_agent.desktop.companion.refusals import Refusal

_UNICODE = 0x01000000
_RETURN = 0xFF0D
_TAB = 0xFF09
_LATIN1 = (range(0x20, 0x7F), range(0xA0, 0x100))


class Stroke(NamedTuple):
    keycode: int
    shift: bool = False


class Batch(NamedTuple):
    # What is to be put on spare keycodes first.
    mappings: dict[int, int]
    strokes: list[Stroke]


def keysym_of(character: str) -> int:
    """X's number of a character: Latin-1 as it is, everything else by its Unicode number. Raises Refusal for control
    characters and halves of characters."""
    if character in "\n\r":
        return _RETURN
    if character == "\t":
        return _TAB
    code = ord(character)
    if code < 0x20 or 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000:
        raise Refusal(
            400, "invalid", f"The character U+{code:04X} cannot be typed. For keys such as Escape use `key`.", character=code
        )
    return code if any(code in latin for latin in _LATIN1) else _UNICODE | code


def character_of(keysym: int) -> str:
    """The opposite of `keysym_of`; empty for keys that are no characters."""
    if any(keysym in latin for latin in _LATIN1):
        return chr(keysym)
    code = keysym - _UNICODE
    return chr(code) if 0x100 <= code <= sys.maxunicode and not 0xD800 <= code < 0xE000 else ""


def keysyms_of(text: str) -> list[int]:
    """Raises Refusal."""
    return [keysym_of(character) for character in text.replace("\r\n", "\n")]


def keys_of_layout(layout: Sequence[Sequence[int]], first_keycode: int, group: int) -> dict[int, Stroke]:
    """Which key gives a keysym, plain or with Shift, in the layout's group (0 or 1: what the core protocol shows)."""
    plain, shifted = group * 2, group * 2 + 1
    found: dict[int, Stroke] = {}
    for level, shift in ((plain, False), (shifted, True)):
        for offset, keysyms in enumerate(layout):
            if level < len(keysyms) and keysyms[level]:
                found.setdefault(keysyms[level], Stroke(first_keycode + offset, shift))
    for offset, keysyms in enumerate(layout):
        # A letter's key may name only one of its two forms; the other is implied.
        if plain < len(keysyms) and keysyms[plain] and not any(keysyms[plain + 1 : plain + 2]):
            upper = _upper(keysyms[plain])
            if upper is not None:
                found.setdefault(upper, Stroke(first_keycode + offset, shift=True))
    return found


def spare_keycodes(layout: Sequence[Sequence[int]], first_keycode: int, taken: Sequence[int]) -> list[int]:
    """Keycodes without a meaning, the highest first: layouts are filled from below."""
    free = [first_keycode + offset for offset, keysyms in enumerate(layout) if not any(keysyms)]
    return [code for code in reversed(free) if code not in taken]


def plan(keysyms: Sequence[int], keys: Mapping[int, Stroke], spare: Sequence[int], borrowed: Mapping[int, int]) -> list[Batch]:
    """The batches in which `keysyms` are typed. `borrowed`: on which spare keycode a keysym is already.

    Raises Refusal when a character has no key and there is no spare keycode at all."""
    current = dict(borrowed)
    batches = [Batch({}, [])]
    used: set[int] = set()
    for keysym in keysyms:
        stroke = keys.get(keysym)
        if stroke is None:
            if not spare:
                raise _no_spare(keysym)
            keycode = current.get(keysym)
            if keycode is None:
                keycode = _free(spare, used, current)
                if keycode is None:
                    batches.append(Batch({}, []))
                    used = set()
                    keycode = spare[0]
                current = {known: code for known, code in current.items() if code != keycode}
                current[keysym] = keycode
                batches[-1].mappings[keycode] = keysym
            used.add(keycode)
            stroke = Stroke(keycode)
        batches[-1].strokes.append(stroke)
    return batches


def runs(mappings: Mapping[int, int]) -> list[tuple[int, list[int]]]:
    """Keysyms of neighbouring keycodes together, each run with its first keycode."""
    found: list[tuple[int, list[int]]] = []
    for code in sorted(mappings):
        if found and code == found[-1][0] + len(found[-1][1]):
            found[-1][1].append(mappings[code])
        else:
            found.append((code, [mappings[code]]))
    return found


def _free(spare: Sequence[int], used: set[int], current: Mapping[int, int]) -> int | None:
    """A keycode that nothing typed in this batch needs; one without a keysym before one that has one."""
    busy = set(current.values())
    free = [code for code in spare if code not in used]
    return next((code for code in free if code not in busy), free[0] if free else None)


def _upper(keysym: int) -> int | None:
    other = character_of(keysym).upper()
    return keysym_of(other) if len(other) == 1 and keysym_of(other) != keysym else None


def _no_spare(keysym: int) -> Refusal:
    return Refusal(
        409,
        "keyboard_full",
        f"No key has the character {character_of(keysym)!r} and every keycode of this keyboard is in use. Put the text on the"
        " clipboard and press ctrl+v.",
    )
