"""What a terminal would show at its end, roughly: output without its escape sequences, as lines. Pure.

This is no terminal: it follows line feeds, carriage returns, backspaces and erased screens, which is what logs, progress
bars and prompts are made of. A program that draws all over the screen comes out as the pieces it drew last.
"""

from __future__ import annotations

import re

# Of one line; a file without line feeds is not sent whole.
LINE_CHARACTERS = 240

# A string to the terminal (title, hyperlink, image: ended by BEL or ST), a control sequence, or a short escape.
_STRING = re.compile(r"\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|$)")
_OTHER_SCREEN = re.compile(r"\x1b\[\?(?:1049|1047|47)h.*?(?:\x1b\[\?(?:1049|1047|47)l|\Z)", re.DOTALL)
_LEFT_SCREEN = re.compile(r"\A.*?\x1b\[\?(?:1049|1047|47)l", re.DOTALL)
# The whole screen erased, the terminal reset, or the cursor sent home to draw over it.
_CLEARED = re.compile(r"\x1b(?:c|\[[23]J|\[(?:1;1|1|;|0;0)?[Hf])")
_PLACED = re.compile(r"\x1b\[[0-9;]*[HfEFd]")
_RIGHT = re.compile(r"\x1b\[([0-9]*)C")
_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*(?:[@-~]|\Z)|[ -/]*(?:[0-~]|\Z))")
_ERASED = re.compile(r"[^\x08]\x08")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def last_lines(output: bytes, count: int, *, whole: bool = True) -> list[str]:
    """The last `count` lines of `output`; unless it is `whole`, its first line may be cut and is left out."""
    text = output.decode("utf-8", "replace")
    if not whole:
        text = text.partition("\n")[2] or text
    lines = _plain(text).split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    return [line.rstrip()[:LINE_CHARACTERS] for line in lines[-count:]] if count else []


def _plain(text: str) -> str:
    text = text.replace("\r\n", "\n")
    if "\x1b" in text:
        text = _STRING.sub("", text)
        text = _without_other_screen(text)
        cleared = [match.end() for match in _CLEARED.finditer(text)]
        if cleared:
            text = _after_clearing(text, cleared)
        text = _PLACED.sub("\n", text)
        text = _RIGHT.sub(lambda match: " " * min(int(match[1] or 1), LINE_CHARACTERS), text)
        text = _SEQUENCE.sub("", text)
    while "\x08" in text:
        text, found = _ERASED.subn("", text)
        if not found:
            break
    return _CONTROL.sub("", "\n".join(_overwritten(line) for line in text.split("\n"))).replace("\t", "    ")


def _without_other_screen(text: str) -> str:
    """An editor or a pager that was left has given the screen back; one that is open owns it."""
    opened = max(text.rfind(f"\x1b[?{mode}h") for mode in ("1049", "1047", "47"))
    left = max(text.rfind(f"\x1b[?{mode}l") for mode in ("1049", "1047", "47"))
    if opened > left:
        return text[opened:]
    if left < 0:
        return text
    text = _OTHER_SCREEN.sub("", text)
    return _LEFT_SCREEN.sub("", text)


def _after_clearing(text: str, cleared: list[int]) -> str:
    """What came after the last clearing that anything was written after."""
    for end in reversed(cleared):
        rest = text[end:]
        if _SEQUENCE.sub("", rest).strip():
            return rest
    return text[cleared[-1] :]


def _overwritten(line: str) -> str:
    """A line that was begun anew shows what was written last, and what stuck out of what was there before."""
    if "\r" not in line:
        return line
    shown = ""
    for part in line.split("\r"):
        shown = part + shown[len(part) :]
    return shown
