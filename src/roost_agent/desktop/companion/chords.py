"""Keys by name: `ctrl+shift+t`, `Page_Down`, `alt+F4`, `+`. Pure; X's own table of names is passed in.

A single character stands for itself. Everything else is X's name of a key (`Return`, `KP_Enter`, `XF86AudioMute`) or one of
the names that people use. Case does not matter where it cannot be mistaken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from roost_agent.desktop.companion.refusals import Refusal
from roost_agent.desktop.companion.strokes import keysym_of

_MOST_CHORDS = 100

MODIFIERS = {
    "ctrl": "Control_L",
    "control": "Control_L",
    "shift": "Shift_L",
    "alt": "Alt_L",
    "option": "Alt_L",
    "opt": "Alt_L",
    "altgr": "ISO_Level3_Shift",
    "super": "Super_L",
    "cmd": "Super_L",
    "command": "Super_L",
    "win": "Super_L",
    "windows": "Super_L",
    "meta": "Super_L",
    "hyper": "Hyper_L",
}

ALIASES = {
    **MODIFIERS,
    "enter": "Return",
    "return": "Return",
    "esc": "Escape",
    "escape": "Escape",
    "tab": "Tab",
    "space": "space",
    "spacebar": "space",
    "backspace": "BackSpace",
    "bksp": "BackSpace",
    "del": "Delete",
    "delete": "Delete",
    "ins": "Insert",
    "insert": "Insert",
    "home": "Home",
    "end": "End",
    "pgup": "Page_Up",
    "pageup": "Page_Up",
    "page_up": "Page_Up",
    "pgdn": "Page_Down",
    "pgdown": "Page_Down",
    "pagedown": "Page_Down",
    "page_down": "Page_Down",
    "up": "Up",
    "down": "Down",
    "left": "Left",
    "right": "Right",
    "arrowup": "Up",
    "arrowdown": "Down",
    "arrowleft": "Left",
    "arrowright": "Right",
    "capslock": "Caps_Lock",
    "caps_lock": "Caps_Lock",
    "numlock": "Num_Lock",
    "num_lock": "Num_Lock",
    "scrolllock": "Scroll_Lock",
    "printscreen": "Print",
    "prtsc": "Print",
    "print": "Print",
    "pause": "Pause",
    "menu": "Menu",
    "contextmenu": "Menu",
    "plus": "plus",
    "minus": "minus",
    "comma": "comma",
    "period": "period",
    "dot": "period",
    "slash": "slash",
    "backslash": "backslash",
    **{f"f{number}": f"F{number}" for number in range(1, 25)},
}

_MODIFIER_NAMES = frozenset({*MODIFIERS.values(), "Control_R", "Shift_R", "Alt_R", "Super_R", "Meta_L", "Meta_R", "Hyper_R"})


class Chord(NamedTuple):
    """Keysyms in the order in which they go down; they go up in the opposite one."""

    keysyms: tuple[int, ...]


Lookup = Callable[[str], int]


def read_chords(text: str, keysym_named: Lookup) -> list[Chord]:
    """`ctrl+a Delete` is two chords. Raises Refusal, with a suggestion, for a name that is no key's."""
    words = text.split() or ([" "] if text else [])
    if not words:
        raise Refusal(400, "invalid", "No keys are named. Say for example `ctrl+c`, `Return` or `alt+F4`.", field="keys")
    if len(words) > _MOST_CHORDS:
        raise Refusal(400, "invalid", f"{len(words)} chords are too many at once: the most is {_MOST_CHORDS}.", field="keys")
    return [_read_chord(word, keysym_named) for word in words]


def read_key(text: str, keysym_named: Lookup) -> int:
    """One key, modifiers included. Raises Refusal."""
    return _keysym(text, keysym_named, among_modifiers=False)


def _read_chord(word: str, keysym_named: Lookup) -> Chord:
    names = _split(word)
    is_command = any(_x_name(name) in _MODIFIER_NAMES - {"Shift_L", "Shift_R"} for name in names[:-1])
    keysyms = [_keysym(name, keysym_named, among_modifiers=is_command) for name in names]
    return Chord(tuple(keysyms))


def _split(word: str) -> list[str]:
    """By `+`, which may itself be the key: `ctrl++`, `+`."""
    if word == "+":
        return ["+"]
    if word.endswith("++"):
        return [*(name for name in word[:-2].split("+")), "+"]
    return word.split("+")


def _x_name(name: str) -> str:
    return ALIASES.get(name.lower(), name) if len(name) > 1 else name


def _keysym(name: str, keysym_named: Lookup, *, among_modifiers: bool) -> int:
    if len(name) == 1:
        # ctrl+C is what many write for ctrl+c; whoever means shift says so.
        return keysym_of(name.lower() if among_modifiers and name.isascii() else name)
    found = keysym_named(_x_name(name)) if name else 0
    if not found and name:
        found = keysym_named(name[:1].upper() + name[1:].lower()) or keysym_named(name.lower())
    if not found:
        raise _unknown(name)
    return found


def _unknown(name: str) -> Refusal:
    import difflib

    known = [*ALIASES, *(value.lower() for value in ALIASES.values())]
    near = list(dict.fromkeys(ALIASES.get(item, item) for item in difflib.get_close_matches(name.lower(), known, 6, 0.6)))
    hint = f" Did you mean {' or '.join(near[:3])}?" if near else " Names are X's (Return, Page_Down, F5) or single characters."
    return Refusal(400, "unknown_key", f"There is no key named {name!r}.{hint}", key=name, suggestions=near[:3])
